import { type IncomingMessage, request as startRequest } from "node:http";
import { isIP } from "node:net";
import { type Duplex, pipeline, type Transform } from "node:stream";
import { connect as connectTls } from "node:tls";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ToolyardError } from "../../../core/errors.ts";
import type { Outbound } from "../../../core/outbound.ts";
import { portOf } from "./url.ts";

const MAX_HEADER_BYTES = 64 * 1024;

/** One request to one place. */
export interface ExchangeRequest {
  readonly url: URL;
  readonly method: string;
  /** Names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Of the answer, on the wire and unpacked. */
  readonly maxBytes: number;
  readonly outbound: Outbound;
  readonly signal: AbortSignal;
}

/** One answer. */
export interface Exchanged {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Unpacked. */
  readonly body: Buffer;
  /** There was more than `maxBytes`. */
  readonly truncated: boolean;
}

/**
 * Asks one place once, on a connection of its own.
 *
 * @throws ToolyardError `address_refused`, `upstream_failed`, `upstream_unreadable`; the signal's reason.
 */
export async function exchange(request: ExchangeRequest): Promise<Exchanged> {
  const { url, signal } = request;
  const socket = await connect(request);
  try {
    const incoming = await send(request, secure(url, socket));
    const headers = readHeaders(incoming);
    const isEmpty = request.method === "HEAD" || incoming.statusCode === 204 || incoming.statusCode === 304;
    const read = isEmpty ? { body: Buffer.alloc(0), truncated: false } : await readBody(incoming, request.maxBytes);
    // An answer that ends with its connection looks whole when we are what ended it.
    signal.throwIfAborted();
    return { status: incoming.statusCode ?? 0, headers, ...read };
  } catch (error) {
    signal.throwIfAborted();
    throw toToolyardError(error, url);
  } finally {
    socket.destroy();
  }
}

function connect({ url, outbound, signal }: ExchangeRequest): Promise<Duplex> {
  return reach(url, () => outbound.connect(url.hostname, portOf(url), signal), signal);
}

/** Judges where a URL leads, and connects to nobody. @throws as {@link exchange} */
export function checkHost(outbound: Outbound, url: URL, signal: AbortSignal): Promise<void> {
  return reach(url, () => outbound.check(url.hostname, portOf(url), signal), signal);
}

async function reach<T>(url: URL, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    // A name that there is not was made up by whoever asks; all else may be the network's.
    if (ToolyardError.is(error) && codeOf(error.cause) === "ENOTFOUND") {
      throw new ToolyardError("upstream_failed", `there is no host ${url.hostname}`, {
        outcome: "tool_error",
        retryable: false,
        suggestion: "Check the URL's host.",
        cause: error,
      });
    }
    throw error;
  }
}

function secure(url: URL, socket: Duplex): Duplex {
  if (url.protocol !== "https:") return socket;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const name = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ socket, host, ...name, ALPNProtocols: ["http/1.1"] });
}

function send({ url, method, headers, body, signal }: ExchangeRequest, stream: Duplex): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = startRequest({
      createConnection: () => stream,
      method,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host, "accept-encoding": "gzip, deflate, br", connection: "close" },
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    });
    outgoing.once("response", resolve);
    outgoing.once("upgrade", (_answer, socket) => {
      socket.destroy();
      reject(new ToolyardError("upstream_unreadable", `${url.host} would become something else`));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<{ body: Buffer; truncated: boolean }> {
  const parts: Buffer[] = [];
  let size = 0;
  let received = 0;
  // What unpacks to nothing is as endless as what unpacks to much.
  incoming.on("data", (chunk: Buffer) => {
    received += chunk.length;
    if (received > maxBytes + MAX_HEADER_BYTES) incoming.destroy(new TooMuch());
  });
  const unpacker = unpackerOf(incoming.headers["content-encoding"]);
  const source = unpacker === undefined ? incoming : pipeline(incoming, unpacker, () => undefined);
  try {
    for await (const chunk of source) {
      // Of a byte stream, as Node gives it.
      const part = chunk as Buffer;
      const room = maxBytes - size;
      parts.push(part.length > room ? part.subarray(0, room) : part);
      size += Math.min(part.length, room);
      if (part.length > room) return { body: Buffer.concat(parts), truncated: true };
    }
  } catch (error) {
    if (error instanceof TooMuch) return { body: Buffer.concat(parts), truncated: true };
    throw error;
  } finally {
    incoming.destroy();
  }
  return { body: Buffer.concat(parts), truncated: false };
}

class TooMuch extends Error {}

/** Browsers take what was cut off, too. */
const LENIENT = { finishFlush: constants.Z_SYNC_FLUSH };

function unpackerOf(encoding: string | undefined): Transform | undefined {
  switch (encoding?.trim().toLowerCase() ?? "") {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip(LENIENT);
    case "deflate":
      return createInflate(LENIENT);
    case "br":
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    default:
      throw new ToolyardError("upstream_unreadable", "the answer is packed in a way that nobody asked for", {
        details: { content_encoding: encoding?.slice(0, 100) },
      });
  }
}

function readHeaders({ headersDistinct }: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, values] of Object.entries(headersDistinct)) {
    const text = name === "location" ? values?.[0] : values?.join(", ");
    if (text !== undefined && name !== "__proto__") headers[name] = Buffer.from(text, "latin1").toString("utf8");
  }
  return headers;
}

function toToolyardError(error: unknown, { host }: URL): ToolyardError {
  if (ToolyardError.is(error)) return error;
  const code = codeOf(error);
  const isUnreadable = code.startsWith("HPE_") || code.startsWith("Z_") || code.startsWith("ERR_BROTLI");
  const what = isUnreadable ? "gave no answer that can be read" : "broke off";
  return new ToolyardError(isUnreadable ? "upstream_unreadable" : "upstream_failed", `${host} ${what}: ${code}`, {
    // A certificate that is wrong stays wrong.
    ...(/CERT|TLS|SSL|SELF_SIGNED/.test(code) && { retryable: false }),
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
