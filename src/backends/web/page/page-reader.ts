import type { Clock } from "../../../core/clock.ts";
import type { ToolContext } from "../../../core/context.ts";
import { ToolyardError } from "../../../core/errors.ts";
import { workerOf } from "../../../core/worker-of.ts";
import { ResultCache } from "../cache/result-cache.ts";
import type { WebConfig } from "../config.ts";
import type { PageFetcher } from "../http/fetch-page.ts";
import type { Robots } from "../http/robots.ts";
import { checkUrl } from "../http/url.ts";
import { renderPage } from "./render-page.ts";
import { type PageText, readPage } from "./read-page.ts";

const MIB = 1024 * 1024;
const ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5";

/** How a page is to be read. */
export interface ReadOptions {
  readonly whole: boolean;
  readonly browser: boolean;
  readonly fresh: boolean;
}

/** A page, and whether it was kept from before. */
export interface ReadPage extends PageText {
  readonly cached: boolean;
}

/** Fetches pages and reads them, and keeps for a short time what they say: the next stretch of a long one need not be fetched. */
export class PageReader {
  readonly #fetcher: PageFetcher;
  readonly #robots: Robots;
  readonly #config: WebConfig;
  readonly #cache: ResultCache<PageText>;

  constructor(fetcher: PageFetcher, robots: Robots, config: WebConfig, clock: Clock) {
    this.#fetcher = fetcher;
    this.#robots = robots;
    this.#config = config;
    const { page_seconds: seconds, max_mib: maxMib } = config.cache;
    this.#cache = new ResultCache({ ttlMs: seconds * 1000, maxBytes: maxMib * MIB, clock });
  }

  /** @throws ToolyardError what a fetch throws; `business_failure` for what cannot be read or is to be left alone. */
  async read(written: string, { whole, browser, fresh }: ReadOptions, context: ToolContext): Promise<ReadPage> {
    // The scheme is often left out, as people do.
    const hasScheme = /^[a-z][a-z0-9+.-]*:(?!\d{1,5}(?:\/|$))/i.test(written);
    const url = checkUrl(hasScheme ? written : `https://${written}`);
    // A browser is its worker's own, who may be known to the site.
    const key = JSON.stringify([context.tenant, url.href, whole, browser ? context.workerId : null]);
    const kept = fresh ? undefined : this.#cache.get(key);
    if (kept !== undefined) return { ...kept, cached: true };
    if (!browser) {
      const page = await this.#cache.ask(key, context.signal, (signal) =>
        this.#fetch(url, whole, { signal, owner: workerOf(context) }),
      );
      return { ...page, cached: false };
    }
    // Not together with whoever asks the same: it is a part of this very call.
    const page = await this.#render(url, whole, context);
    this.#cache.keep(key, page);
    return { ...page, cached: false };
  }

  async #fetch(url: URL, whole: boolean, readFor: { signal: AbortSignal; owner: string }): Promise<PageText> {
    const { signal } = readFor;
    const fetched = await this.#fetcher.fetch({
      url: url.href,
      headers: { accept: ACCEPT, "accept-language": "en, *;q=0.5" },
      allow: (next, limit) => this.#robots.check(next, limit),
      signal,
    });
    signal.throwIfAborted();
    return readPage(fetched, { whole, ...readFor });
  }

  /** The browser guards each of its connections by its own rules; where the page is, first and last, is judged by ours as well. */
  async #render(url: URL, whole: boolean, context: ToolContext): Promise<PageText> {
    await this.#allow(url, context.signal);
    const shown = await renderPage(url, this.#config.browser_action, context);
    const last = checkUrl(shown.url);
    if (last.href !== url.href) await this.#allow(last, context.signal);
    const body = Buffer.from(shown.html);
    if (body.length > this.#config.http.max_mib * MIB) {
      const max = this.#config.http.max_mib;
      throw new ToolyardError("limit_exceeded", `${url.href} is larger than ${max} MiB`, {
        details: { limit: "max_mib", max },
      });
    }
    const headers = { "content-type": "text/html; charset=utf-8" };
    const answer = { url: last, status: shown.status, headers, body, truncated: false, redirects: [] };
    return readPage(answer, { whole, signal: context.signal, owner: workerOf(context) });
  }

  async #allow(url: URL, signal: AbortSignal): Promise<void> {
    await this.#fetcher.check(url, signal);
    await this.#robots.check(url, signal);
  }
}
