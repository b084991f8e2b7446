/** The best of many scored things, found without sorting them all; of equals the earlier wins. */
export class TopScores {
  readonly #limit: number;
  readonly #scores: number[] = [];
  readonly #items: number[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes an item; items come in ascending order. */
  offer(item: number, score: number): void {
    const scores = this.#scores;
    if (scores.length < this.#limit) {
      scores.push(score);
      this.#items.push(item);
      this.#rise(scores.length - 1);
    } else if (this.#limit > 0 && score > (scores[0] ?? 0)) {
      scores[0] = score;
      this.#items[0] = item;
      this.#sink();
    }
  }

  /** What must be beaten to get in. */
  get threshold(): number {
    return this.#scores.length < this.#limit ? -Infinity : (this.#scores[0] ?? -Infinity);
  }

  /** Best first. */
  finish(): { readonly item: number; readonly score: number }[] {
    return this.#items
      .map((item, index) => ({ item, score: this.#scores[index] ?? 0 }))
      .toSorted((left, right) => right.score - left.score || left.item - right.item);
  }

  /** Whether the first is to leave before the second. */
  #isWorse(first: number, second: number): boolean {
    const difference = (this.#scores[first] ?? 0) - (this.#scores[second] ?? 0);
    return difference === 0 ? (this.#items[first] ?? 0) > (this.#items[second] ?? 0) : difference < 0;
  }

  #rise(start: number): void {
    for (let at = start; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#isWorse(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#scores.length && this.#isWorse(child, worst)) worst = child;
      }
      if (worst === at) return;
      this.#swap(at, worst);
      at = worst;
    }
  }

  #swap(first: number, second: number): void {
    for (const list of [this.#scores, this.#items]) {
      const kept = list[first] ?? 0;
      list[first] = list[second] ?? 0;
      list[second] = kept;
    }
  }
}
