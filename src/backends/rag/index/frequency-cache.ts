/** About 10 MiB of terms; a query that learns from its best chunks looks a few hundred up. */
const MAX_TERMS = 65_536;

/** Keeps in how many chunks of a segment terms are; those of a segment never change. */
export class FrequencyCache {
  readonly #segments = new Map<number, Map<string, number>>();
  #terms = 0;

  get(segment: number, term: string, load: () => number): number {
    const known = this.#segments.get(segment)?.get(term);
    if (known !== undefined) return known;
    const loaded = load();
    // All at once: what is asked for often is soon there again.
    if (this.#terms >= MAX_TERMS) {
      this.#segments.clear();
      this.#terms = 0;
    }
    let ofSegment = this.#segments.get(segment);
    if (ofSegment === undefined) this.#segments.set(segment, (ofSegment = new Map()));
    ofSegment.set(term, loaded);
    this.#terms += 1;
    return loaded;
  }
}
