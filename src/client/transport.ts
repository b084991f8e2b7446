import ky, { isHTTPError, isTimeoutError, type KyInstance } from "ky";
import { MAX_DELAY_MS } from "../core/young-timers.ts";
import { ToolyardError } from "../core/errors.ts";
import { ConnectionError } from "./errors/connection-error.ts";
import { ProtocolError } from "./errors/protocol-error.ts";
import { closeIdleConnections, type Fetch, nodeFetch } from "./node-fetch.ts";
import { findConnectFailure, mayRepeat } from "./repeat.ts";
import { QUICK_TIMEOUT_MS } from "./timeouts.ts";

export interface TransportOptions {
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** One request, with what the transport must know to decide about sending it again. */
export interface Exchange {
  readonly method: "GET" | "POST" | "DELETE";
  /** From the root of the server, with its query. */
  readonly path: string;
  readonly body?: object;
  /** Milliseconds for one attempt; `false` waits as long as the connection lives. */
  readonly timeoutMs: number | false;
  /** Whether sending it twice does no more than sending it once; `keyed` where that is so at a server that keeps idempotency keys. */
  readonly repeatable: boolean | "keyed";
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** In place of the transport's own. */
  readonly maxRetries?: number;
}

/** What came back, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly url: string;
  readonly body: unknown;
}

/** A request that is answered with a stream. */
export interface StreamRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request whose body or answer is bytes; it is sent once. */
export interface BytesRequest {
  readonly method: "GET" | "PUT";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array | ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
}

/** What came back: the stream, or an answer in its place. */
export type Opened =
  | { readonly kind: "stream"; readonly headers: Headers; readonly body: AsyncIterable<Uint8Array> }
  | { readonly kind: "answer"; readonly answer: Answer };

const LONGEST_RETRY_AFTER_MS = 60_000;
const LONGEST_BACKOFF_MS = 10_000;
/** Statuses that may ask for the same request again; `mayRepeat` decides. */
const REPEAT_STATUSES = [429, 503];

/** Sends requests to one server; every client made by `forWorker` shares it, with what it knows of the server. */
export class Transport {
  readonly baseUrl: string;
  #features: ReadonlySet<string> | undefined;
  readonly #ky: KyInstance;
  readonly #fetch: Fetch;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly #authorization: Readonly<Record<string, string>>;

  constructor(options: TransportOptions) {
    this.baseUrl = parseBaseUrl(options.baseUrl);
    this.#fetch = options.fetch ?? nodeFetch;
    this.maxRetries = options.maxRetries;
    this.retryDelayMs = options.retryDelayMs;
    this.#authorization = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
    this.#ky = ky.create({
      headers: {
        accept: "application/json",
        ...this.#authorization,
      },
      throwHttpErrors: (status) => REPEAT_STATUSES.includes(status),
    });
  }

  /** Takes note of what the server announced in `/health`. */
  learn(features: readonly string[]): void {
    this.#features = new Set(features);
  }

  /** Whether the server gives a call that is sent again under its key the first one's answer; asks it once, when that matters. */
  async keepsKeys(signal?: AbortSignal): Promise<boolean> {
    if (this.#features === undefined) {
      const asking = { method: "GET", path: "/health", timeoutMs: QUICK_TIMEOUT_MS, repeatable: true, signal } as const;
      // Who does not answer this either has shown nothing.
      const answer = await this.exchange(asking).catch(() => undefined);
      const features: unknown = answer?.status === 200 ? Reflect.get(Object(answer.body), "features") : undefined;
      if (answer?.status === 200) this.learn(Array.isArray(features) ? features.map(String) : []);
    }
    return this.#features?.has("idempotency") === true;
  }

  /**
   * Sends one request and reads its JSON answer, whatever its status.
   *
   * @throws ConnectionError when no answer came; ProtocolError when it is not JSON; the signal's reason when aborted.
   */
  async exchange(exchange: Exchange): Promise<Answer> {
    const url = `${this.baseUrl}${exchange.path}`;
    const body = exchange.body === undefined ? undefined : stringifyBody(exchange.body);
    const { status, text } = await this.#attempts(exchange, url, body);
    return { status, url, body: parseAnswer(exchange, url, status, text) };
  }

  /**
   * Sends one request, once, and returns its stream as it comes.
   *
   * @throws whatever the connection fails with; ProtocolError for an answer that is neither a stream nor JSON.
   */
  async open(request: StreamRequest, signal: AbortSignal): Promise<Opened> {
    const { method, path, body, headers = {} } = request;
    const url = `${this.baseUrl}${path}`;
    const text = body === undefined ? undefined : stringifyBody(body);
    const response = await this.#fetch(url, {
      method,
      signal,
      headers: new Headers({
        accept: "text/event-stream",
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...this.#authorization,
        ...headers,
      }),
      ...(text === undefined ? {} : { body: text }),
    });
    if (response.body !== null && response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      return { kind: "stream", headers: response.headers, body: response.body };
    }
    const answer = {
      status: response.status,
      url,
      body: parseAnswer(request, url, response.status, await response.text()),
    };
    return { kind: "answer", answer };
  }

  /**
   * Sends one request, once, and returns its answer with its body unread, whatever its status.
   *
   * @throws ConnectionError when no answer came; the signal's reason when aborted.
   */
  async send({ method, path, headers, body, signal }: BytesRequest): Promise<Response> {
    const url = `${this.baseUrl}${path}`;
    try {
      return await this.#fetch(url, {
        method,
        signal: signal ?? NEVER,
        headers: new Headers({ ...this.#authorization, ...headers }),
        streamed: true,
        ...(body !== undefined && { body }),
        // Asked for by `fetch` where the body is a stream.
        ...(body instanceof ReadableStream && { duplex: "half" }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw toConnectionError(error, { method, timeoutMs: false }, url);
    }
  }

  /** Closes the process's idle connections, for one that wants to end at once; the transport stays usable. */
  close(): void {
    closeIdleConnections();
  }

  async #attempts(
    exchange: Exchange,
    url: string,
    body: string | undefined,
  ): Promise<{ status: number; text: string }> {
    // Whether an attempt before the last one may have reached the server.
    let sent = false;
    const send = async (input: string | URL | Request): Promise<Response> => {
      try {
        return await this.#send(input, body);
      } catch (error) {
        sent ||= findConnectFailure(error) === undefined;
        throw error;
      }
    };
    try {
      const response = await this.#ky(url, {
        method: exchange.method,
        timeout: exchange.timeoutMs === false ? false : Math.min(exchange.timeoutMs, MAX_DELAY_MS),
        retry: this.#retry(exchange),
        headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...exchange.headers },
        fetch: send,
        ...(exchange.signal === undefined ? {} : { signal: exchange.signal }),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      if (isHTTPError(error)) {
        const { data } = error;
        return { status: error.response.status, text: typeof data === "string" ? data : JSON.stringify(data ?? "") };
      }
      exchange.signal?.throwIfAborted();
      throw toConnectionError(error, exchange, url, sent);
    }
  }

  /** The body goes past ky, which would copy it for each retry as a stream. */
  #send(input: string | URL | Request, body: string | undefined): Promise<Response> {
    const { url, method, headers, signal } = input instanceof Request ? input : new Request(input);
    return this.#fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) });
  }

  #retry(exchange: Exchange) {
    const limit = exchange.maxRetries ?? this.maxRetries;
    return {
      limit,
      methods: ["get", "post", "delete"],
      statusCodes: REPEAT_STATUSES,
      afterStatusCodes: REPEAT_STATUSES,
      maxRetryAfter: LONGEST_RETRY_AFTER_MS,
      backoffLimit: LONGEST_BACKOFF_MS,
      delay: (attempt: number) => this.retryDelayMs * 2 ** (attempt - 1),
      // Workers that failed together must not come back together.
      jitter: (delayMs: number) => delayMs * (0.5 + Math.random() / 2),
      // `undefined` lets ky go on to its own rules, which know Retry-After.
      shouldRetry: async ({ error }: { error: Error }) => {
        const { repeatable, signal } = exchange;
        if (mayRepeat(error, false)) return undefined;
        if (repeatable === false || !mayRepeat(error, true)) return false;
        return repeatable === true || (await this.keepsKeys(signal)) ? undefined : false;
      },
    };
  }
}

const NEVER = new AbortController().signal;

function parseBaseUrl(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) {
    throw new ToolyardError("invalid_url", `the server's url is not an absolute one: ${JSON.stringify(baseUrl)}`);
  }
  const { protocol } = new URL(baseUrl);
  if (protocol !== "http:" && protocol !== "https:") {
    throw new ToolyardError("invalid_url", `the server's url must be http or https: ${JSON.stringify(baseUrl)}`);
  }
  return baseUrl.replace(/\/+$/, "");
}

function stringifyBody(body: object): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ToolyardError("invalid_input", `the request cannot be sent as JSON: ${reason}`, { cause });
  }
}

function parseAnswer(exchange: Pick<Exchange, "method">, url: string, status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError(status, exchange.method, url, text);
  }
}

function toConnectionError(
  error: unknown,
  exchange: { readonly method: string; readonly timeoutMs: number | false },
  url: string,
  sent = false,
): ConnectionError {
  if (isTimeoutError(error)) {
    return new ConnectionError("timeout", exchange.method, url, `no answer within ${exchange.timeoutMs} ms`, error);
  }
  const unreached = findConnectFailure(error);
  if (unreached !== undefined && sent) {
    const reason = `the connection ended before the answer, and no other could be made (${unreached})`;
    return new ConnectionError("interrupted", exchange.method, url, reason, error);
  }
  if (unreached !== undefined) {
    return new ConnectionError("unreachable", exchange.method, url, `no connection (${unreached})`, error);
  }
  return new ConnectionError("interrupted", exchange.method, url, "the connection ended before the answer", error);
}
