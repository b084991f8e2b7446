import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import type { EventFilter } from "../core/store.ts";
import type { EventLog, LogPage } from "./event-log.ts";

const PAGE_EVENTS = 100;
const RETRY_MS = 1_000;

/**
 * Follows the log for one reader, page by page as the reader asks for them.
 *
 * Nothing is kept for a reader that is slow: the next page comes from wherever it is, the store included.
 */
export class EventFeed {
  readonly #log: EventLog;
  readonly #filter: EventFilter;
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  readonly #unwatch: () => void;
  #afterId: number;
  #closed = false;
  #wake: (() => void) | undefined;

  constructor(
    log: EventLog,
    filter: EventFilter,
    afterId: number,
    deps: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#log = log;
    this.#filter = filter;
    this.#afterId = afterId;
    this.#deps = deps;
    this.#unwatch = log.watch(() => this.#wake?.());
  }

  /** Everything up to this id has been handed out, or did not match. */
  get throughId(): number {
    return this.#afterId;
  }

  /** The next page with something in it; `undefined` once the log or the feed is closed. One at a time. */
  async next(): Promise<LogPage | undefined> {
    while (!this.#closed) {
      // oxlint-disable-next-line no-await-in-loop -- the next page depends on this one
      const page = await this.#read();
      if (page !== undefined && page.throughId > this.#afterId) {
        this.#afterId = page.throughId;
        if (page.entries.length > 0) return page;
      } else if (this.#log.closed) return undefined;
      // oxlint-disable-next-line no-await-in-loop -- as above
      else await this.#somethingNew(page === undefined);
    }
    return undefined;
  }

  /** Lets go of the log; idempotent. */
  close(): void {
    this.#closed = true;
    this.#unwatch();
    this.#wake?.();
  }

  async #read(): Promise<LogPage | undefined> {
    try {
      return await this.#log.read(this.#filter, this.#afterId, PAGE_EVENTS);
    } catch (error) {
      this.#deps.logger.warn({ err: error }, "the event log could not be read for a reader; it is tried again");
      return undefined;
    }
  }

  #somethingNew(failed: boolean): Promise<void> {
    // More may have been written since the page was read.
    if (!failed && (this.#log.lastId > this.#afterId || this.#log.closed || this.#closed)) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = failed ? this.#deps.clock.after(RETRY_MS, () => this.#wake?.()) : undefined;
      this.#wake = () => {
        this.#wake = undefined;
        cancel?.();
        resolve();
      };
    });
  }
}
