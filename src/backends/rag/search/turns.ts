/** How long a batch gives way at most: a search may be held up by what the batch itself holds, as the removal of a collection is. */
const GIVES_WAY_MS = 200;

/** The time from a search's call until it has searched. */
export interface SearchTurn extends Disposable {
  /** Says that it has searched, or that it waits for others; once is enough. */
  end(): void;
}

/**
 * Lets searches of one query go before the rest of a batch.
 *
 * A search is called, and looks for its files, in several steps of the event loop: a batch that only yields once between two
 * queries would have a query of its own between any two of these.
 */
export class SearchTurns {
  readonly #begun = new Set<Promise<void>>();

  begin(): SearchTurn {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#begun.add(promise);
    const end = (): void => {
      this.#begun.delete(promise);
      resolve();
    };
    return { end, [Symbol.dispose]: end };
  }

  /** Waits for the searches that have begun, but not for those that begin meanwhile: a batch gets on, too. */
  async giveWay(maxMs = GIVES_WAY_MS): Promise<void> {
    // A call that has come is begun in the turn after it was read.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#begun.size === 0) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, maxMs);
    await Promise.race([Promise.all(this.#begun), late]);
    clearTimeout(timer);
  }
}
