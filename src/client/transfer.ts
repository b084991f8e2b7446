import { Readable } from "node:stream";
import { envelopeOfPlainError, isEnvelope, toServerError } from "./envelope.ts";
import { ProtocolError } from "./errors/protocol-error.ts";
import type { Transport } from "./transport.ts";

/** What can be uploaded: text, bytes, a Blob, or bytes as they come. */
export type UploadContent = string | Uint8Array | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** One request whose body or answer is bytes. */
export interface TransferRequest {
  readonly method: "GET" | "PUT";
  readonly path: string;
  readonly content?: UploadContent;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends one request, once, and returns its answer unread.
 *
 * @throws ServerError for what the server refused; ConnectionError; ProtocolError; the signal's reason when aborted.
 */
export async function transfer(transport: Transport, request: TransferRequest): Promise<Response> {
  const { method, path, content, headers, signal } = request;
  const response = await transport.send({ method, path, headers, signal, ...toBody(content) });
  if (response.ok) return response;
  const text = await response.text();
  const answer = parse(text);
  if (isEnvelope(answer)) throw toServerError(answer, response.status);
  const envelope = envelopeOfPlainError(answer, response.status);
  if (envelope !== undefined) throw toServerError(envelope, response.status);
  throw new ProtocolError(response.status, method, transport.baseUrl + path, text);
}

function toBody(content: UploadContent | undefined): { body?: string | Uint8Array | ReadableStream<Uint8Array> } {
  if (content === undefined) return {};
  if (typeof content === "string" || content instanceof Uint8Array) return { body: content };
  if (content instanceof Blob) return { body: content.stream() };
  if (content instanceof ReadableStream) return { body: content };
  // Node's own web streams, typed a second time by the DOM's names.
  return { body: Readable.toWeb(Readable.from(content)) as ReadableStream<Uint8Array> };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
