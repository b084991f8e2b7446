import type { IncomingMessage } from "node:http";

/** What pages of allowed origins may do and see. */
export interface CorsOptions {
  /** Whether their requests may carry cookies and the like; never where every origin is allowed. */
  readonly credentials: boolean;
  /** Seconds that a browser may remember a preflight. */
  readonly maxAgeS: number;
}

export const defaultCors: CorsOptions = { credentials: false, maxAgeS: 600 };

const METHODS = "GET, POST, PUT, DELETE";
const REQUEST_HEADERS =
  "authorization, x-api-key, content-type, idempotency-key, last-event-id, range, if-range, if-none-match";
const EXPOSED_HEADERS =
  "retry-after, location, www-authenticate, accept-ranges, content-disposition, content-range, etag";

/** Answers the browsers of pages whose origin the config allows. */
export class Cors {
  readonly #options: CorsOptions;
  /** The config allows every origin by `*`: the answers say so in place of naming one. */
  readonly #everyone: boolean;

  constructor(options: CorsOptions, allowedOrigins: readonly string[]) {
    this.#options = options;
    this.#everyone = allowedOrigins.includes("*");
  }

  /** Answers a browser that asks first, if this is such a request. */
  preflight({ method, headers }: IncomingMessage): Response | undefined {
    if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return undefined;
    return new Response(null, {
      status: 204,
      headers: {
        "access-control-allow-methods": METHODS,
        "access-control-allow-headers": REQUEST_HEADERS,
        "access-control-max-age": String(this.#options.maxAgeS),
      },
    });
  }

  /** Lets pages of this origin, which is allowed, read an answer. */
  allow(origin: string, response: Response): Response {
    const { headers } = response;
    headers.set("access-control-allow-origin", this.#everyone ? "*" : origin);
    if (!this.#everyone) {
      headers.append("vary", "origin");
      if (this.#options.credentials) headers.set("access-control-allow-credentials", "true");
    }
    headers.set("access-control-expose-headers", EXPOSED_HEADERS);
    return response;
  }
}
