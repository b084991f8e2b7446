import { BoundedMap } from "./bounded-map.ts";

/** Sessions that have ended and whose late events still count on: a call may be told of after its session. */
const ENDED_KEPT = 1_024;

/** Counts the events of each session, without a gap. */
export class SessionSequences {
  // Counters that count in place: a session's second event costs one look into the map, and not two.
  readonly #live = new Map<string, { seq: number }>();
  readonly #ended = new BoundedMap<string, number>(ENDED_KEPT);

  /** Sessions that are counted and have not ended. */
  get size(): number {
    return this.#live.size;
  }

  /** Goes on where an earlier run of the server stopped. */
  resume(seqs: ReadonlyMap<string, number>): void {
    for (const [sessionId, seq] of seqs) this.#live.set(sessionId, { seq });
  }

  /**
   * The number of the session's next event; `first` when there can have been none in this run, `last` when nothing but late
   * calls is to be expected after it.
   */
  next(sessionId: string, { first, last }: { readonly first: boolean; readonly last: boolean }): number {
    const live = this.#live.get(sessionId);
    if (live !== undefined) {
      live.seq += 1;
      if (last) {
        this.#live.delete(sessionId);
        this.#ended.set(sessionId, live.seq);
      }
      return live.seq;
    }
    // Not looked for in vain: most sessions are temporary, and an id is new to every map it is looked for in.
    const ended = first ? undefined : this.#ended.get(sessionId);
    const seq = (ended ?? 0) + 1;
    if (last || ended !== undefined) this.#ended.set(sessionId, seq);
    else this.#live.set(sessionId, { seq });
    return seq;
  }
}
