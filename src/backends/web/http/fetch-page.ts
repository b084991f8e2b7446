import { type Clock } from "../../../core/clock.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { Outbound } from "../../../core/outbound.ts";
import type { HttpConfig } from "../config.ts";
import { checkHost, type ExchangeRequest, exchange, type Exchanged } from "./exchange.ts";
import { deadline } from "./pause.ts";
import { type Attempt, mayPass, readRetryAfter, withRetries } from "./retry.ts";
import { checkUrl } from "./url.ts";

const MIB = 1024 * 1024;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** What one site is told is none of the next one's business. */
const PERSONAL = ["authorization", "cookie"];

/** What is asked for. */
export interface PageRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly maxBytes?: number | undefined;
  /** Asked before each request, of redirects too. @throws to end it. */
  readonly allow?: ((url: URL, signal: AbortSignal) => Promise<void>) | undefined;
  readonly signal: AbortSignal;
}

/** What came back, of whatever status. */
export interface FetchedPage extends Exchanged {
  /** Where it came from in the end. */
  readonly url: URL;
  readonly redirects: readonly { readonly status: number; readonly url: string }[];
}

/** Fetches from hosts that may be reached, following redirects within limits; nobody else is told of the URL. */
export class PageFetcher {
  readonly #outbound: Outbound;
  readonly #config: HttpConfig;
  readonly #clock: Clock;

  constructor(outbound: Outbound, config: HttpConfig, clock: Clock) {
    this.#outbound = outbound;
    this.#config = config;
    this.#clock = clock;
  }

  /**
   * Fetches one page. What is not 2xx is an answer too; only GET and HEAD are tried again.
   *
   * @throws ToolyardError `invalid_url`, `address_refused`, `upstream_failed`, `upstream_unreadable`, `limit_exceeded`; the
   *   signal's reason.
   */
  async fetch(request: PageRequest): Promise<FetchedPage> {
    const { signal } = request;
    const { timeout_ms: timeoutMs } = this.#config;
    const first = checkUrl(request.url);
    const late = () =>
      new ToolyardError("limit_exceeded", `${first.host} took longer than ${timeoutMs} ms`, {
        details: { limit: "timeout_ms", max: timeoutMs },
      });
    const limit = deadline(this.#clock, timeoutMs, signal, late);
    const { method = "GET" } = request;
    const isRepeatable = method === "GET" || method === "HEAD";
    try {
      return await withRetries(() => this.#attempt(first, { ...request, method, signal: limit.signal }), {
        ...this.#config,
        retries: isRepeatable ? this.#config.retries : 0,
        clock: this.#clock,
        signal: limit.signal,
      });
    } finally {
      limit.cancel();
    }
  }

  /**
   * Judges where a URL leads as a fetch of it would, and asks nothing of it.
   *
   * @throws ToolyardError `address_refused`, `upstream_failed`; the signal's reason.
   */
  check(url: URL, signal: AbortSignal): Promise<void> {
    return checkHost(this.#outbound, url, signal);
  }

  async #attempt(first: URL, request: PageRequest): Promise<Attempt<FetchedPage>> {
    try {
      const page = await this.#follow(first, request);
      const afterMs = readRetryAfter(page.headers["retry-after"], this.#clock);
      const isBusy = [429, 502, 503, 504].includes(page.status);
      return { value: page, again: isBusy && mayPass(page.status, afterMs), afterMs };
    } catch (error) {
      request.signal.throwIfAborted();
      if (!ToolyardError.is(error)) throw error;
      return { failure: error, again: error.error === "upstream_failed" && error.retryable };
    }
  }

  async #follow(first: URL, { method = "GET", headers = {}, body, ...request }: PageRequest): Promise<FetchedPage> {
    const { max_mib: maxMib, max_redirects: maxRedirects } = this.#config;
    const redirects: { status: number; url: string }[] = [];
    let next: ExchangeRequest = {
      url: first,
      method,
      headers: { "user-agent": this.#config.user_agent, accept: "*/*", ...headers },
      body,
      maxBytes: Math.min(request.maxBytes ?? Number.POSITIVE_INFINITY, maxMib * MIB),
      outbound: this.#outbound,
      signal: request.signal,
    };
    for (;;) {
      // Each request needs the answer of the one before.
      /* oxlint-disable no-await-in-loop */
      await request.allow?.(next.url, request.signal);
      const answer = await exchange(next);
      /* oxlint-enable no-await-in-loop */
      const location = answer.headers["location"];
      if (!REDIRECTS.has(answer.status) || location === undefined) return { ...answer, url: next.url, redirects };
      redirects.push({ status: answer.status, url: next.url.href });
      if (redirects.length > maxRedirects) {
        throw new ToolyardError("limit_exceeded", `${first.host} redirects more than ${maxRedirects} times`, {
          details: { limit: "max_redirects", max: maxRedirects, redirects: redirects.map(({ url }) => url) },
        });
      }
      next = redirected(next, answer.status, checkUrl(location, next.url));
    }
  }
}

/** Makes the request that a redirect asks for. */
function redirected(request: ExchangeRequest, status: number, url: URL): ExchangeRequest {
  const { method } = request;
  const becomesGet = status === 303 ? method !== "HEAD" : method === "POST" && (status === 301 || status === 302);
  const dropped = [...(url.origin === request.url.origin ? [] : PERSONAL), ...(becomesGet ? ["content-type"] : [])];
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !dropped.includes(name)));
  return { ...request, url, headers, ...(becomesGet && { method: "GET", body: undefined }) };
}
