import * as http from "node:http";
import * as https from "node:https";
import { pipeline, Readable } from "node:stream";

/** The part of `fetch` that the client uses, which the global one fulfils. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

interface FetchInit {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly signal: AbortSignal;
  /** Leaves the answer's body to be read as it comes, which the global `fetch` does anyway. */
  readonly streamed?: boolean;
  readonly duplex?: "half";
}

/** Idle connections end before the server's 75 s, so that no request meets a closing socket. */
const IDLE_TIMEOUT_MS = 30_000;
const MAX_IDLE_CONNECTIONS = 1_024;
const NULL_BODY_STATUSES = new Set([204, 205, 304]);

const POOL = { keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS, timeout: IDLE_TIMEOUT_MS };
/** One pool for the whole process, by origin; its idle connections keep no process alive. */
const plain = new http.Agent(POOL);
const secure = new https.Agent(POOL);

/**
 * A `fetch` over `node:http`, where Node's global one will not do.
 *
 * The global `fetch` gives up on any answer that takes longer than 300 s and cannot be told otherwise without another
 * dependency; a tool may run for an hour.
 */
export const nodeFetch: Fetch = async (url, init) => {
  try {
    return await (url.startsWith("https:")
      ? send(url, init, https.request, secure)
      : send(url, init, http.request, plain));
  } catch (error) {
    init.signal.throwIfAborted();
    // The message by which fetch-compatible callers recognise a network failure.
    throw new TypeError("fetch failed", { cause: error });
  }
};

/** Closes the connections on which nothing runs; unlike `agent.destroy()`, it leaves the others. */
export function closeIdleConnections(): void {
  for (const agent of [plain, secure]) {
    for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
  }
}

async function send(
  url: string,
  { method, headers, body, signal, streamed = false }: FetchInit,
  start: typeof http.request,
  agent: http.Agent,
): Promise<Response> {
  const incoming = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const whole = body instanceof ReadableStream ? undefined : body;
    const length = whole === undefined ? {} : { "content-length": Buffer.byteLength(whole) };
    const outgoing = start(url, { agent, method, signal, headers: { ...Object.fromEntries(headers), ...length } });
    outgoing.once("response", resolve);
    outgoing.on("error", reject);
    if (body instanceof ReadableStream) pour(body, outgoing, reject);
    else outgoing.end(whole);
  });
  return toResponse(incoming, streamed);
}

/** Sends a body as it comes; one that fails takes the request with it, so that the server does not take it for whole. */
function pour(body: ReadableStream<Uint8Array>, outgoing: http.ClientRequest, reject: (error: unknown) => void): void {
  // As in toResponse: the same streams under other names.
  pipeline(Readable.fromWeb(body as never), outgoing, (error) => {
    if (error) reject(error);
  });
}

/** Reads the body at once, so that a connection that is cut inside it fails the request; a stream of events stays one. */
async function toResponse(incoming: http.IncomingMessage, streamed: boolean): Promise<Response> {
  const status = incoming.statusCode ?? 0;
  const init = { status, statusText: incoming.statusMessage ?? "", headers: toHeaders(incoming) };
  if (NULL_BODY_STATUSES.has(status)) {
    incoming.resume();
    return new Response(null, init);
  }
  if (streamed || incoming.headers["content-type"]?.startsWith("text/event-stream")) {
    // Node's own web streams, typed a second time by the DOM's names.
    return new Response(Readable.toWeb(incoming) as ReadableStream<Uint8Array>, init);
  }
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return new Response(Buffer.concat(chunks), init);
}

function toHeaders(incoming: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}
