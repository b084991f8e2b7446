import type { CDPSession, HTTPRequest, HTTPResponse, Page } from "puppeteer-core";
import { showValues } from "./console-text.ts";

/** What a page said, or what went wrong in it. */
export interface ConsoleEntry {
  /** Increases from entry to entry of a session. */
  readonly index: number;
  readonly tab: number;
  /** `log`, `warn`, `error` …, `exception` for one that nobody caught, `dialog` for what asked the user. */
  readonly type: string;
  readonly text: string;
  readonly url: string | null;
  readonly line: number | null;
}

/** What a page asked the network for. */
export interface NetworkEntry {
  readonly index: number;
  readonly tab: number;
  readonly method: string;
  readonly url: string;
  /** `document`, `script`, `xhr`, `fetch` … */
  readonly type: string;
  /** `null` while it is under way, and for what failed. */
  status: number | null;
  media_type: string | null;
  /** Why it failed. */
  error: string | null;
}

/** What the browser calls otherwise than pages do. */
const TYPES: Readonly<Record<string, string>> = { warning: "warn", verbose: "debug" };
const KEPT = 1_000;
const MAX_TEXT = 4_000;

/** Keeps the newest of what a session's pages said and loaded. */
export class PageLog {
  readonly #console: ConsoleEntry[] = [];
  readonly #network: NetworkEntry[] = [];
  #nextIndex = 1;

  /** Listens to a page, and hears what it said before. */
  async watch(page: Page, protocol: CDPSession, tab: number): Promise<void> {
    page.on("request", (request) => this.#onRequest(request, tab));
    page.on("response", (response) => this.#onResponse(response));
    page.on("requestfailed", (request) => {
      const entry = this.#requests.get(request);
      if (entry !== undefined) entry.error = request.failure()?.errorText ?? "failed";
    });
    // Straight from the browser: the library leaves out what a page says before it knows the page's scripts.
    protocol.on("Runtime.consoleAPICalled", ({ type, args, stackTrace }) =>
      this.add(tab, TYPES[type] ?? type, showValues(args), stackTrace?.callFrames[0]),
    );
    protocol.on("Runtime.exceptionThrown", ({ exceptionDetails: { exception, text, url, lineNumber } }) => {
      const place = { lineNumber, ...(url !== undefined && { url }) };
      this.add(tab, "exception", exception === undefined ? text : showValues([exception]), place);
    });
    protocol.on("Log.entryAdded", ({ entry: { level, text, url, lineNumber } }) => {
      const place = { ...(url !== undefined && { url }), ...(lineNumber !== undefined && { lineNumber }) };
      this.add(tab, TYPES[level] ?? level, text, place);
    });
    await Promise.all([protocol.send("Runtime.enable"), protocol.send("Log.enable")]);
  }

  /** The entries after an index, oldest first, at most `limit` of them, the newest. */
  console(after: number, limit: number): ConsoleEntry[] {
    return this.#console.filter(({ index }) => index > after).slice(-limit);
  }

  network(after: number, limit: number): NetworkEntry[] {
    return this.#network.filter(({ index }) => index > after).slice(-limit);
  }

  add(tab: number, type: string, text: string, place?: { readonly url?: string; readonly lineNumber?: number }): void {
    const line = place?.lineNumber === undefined ? null : place.lineNumber + 1;
    push(this.#console, {
      index: this.#nextIndex++,
      tab,
      type,
      text: cut(text),
      url: place?.url === undefined ? null : cut(place.url),
      line,
    });
  }

  readonly #requests = new WeakMap<HTTPRequest, NetworkEntry>();

  #onRequest(request: HTTPRequest, tab: number): void {
    // Nobody is asked for what stands in the page itself.
    if (request.url().startsWith("data:")) return;
    const entry: NetworkEntry = {
      index: this.#nextIndex++,
      tab,
      method: request.method(),
      url: cut(request.url()),
      type: request.resourceType(),
      status: null,
      media_type: null,
      error: null,
    };
    this.#requests.set(request, entry);
    push(this.#network, entry);
  }

  #onResponse(response: HTTPResponse): void {
    const entry = this.#requests.get(response.request());
    if (entry === undefined) return;
    entry.status = response.status();
    entry.media_type = cut(response.headers()["content-type"] ?? "") || null;
  }
}

function push<T>(list: T[], entry: T): void {
  list.push(entry);
  if (list.length > KEPT) list.shift();
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
