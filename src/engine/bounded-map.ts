/** A map that forgets its oldest entries: it holds the newest `capacity` at least, and twice as many at most. */
export class BoundedMap<K, V> {
  readonly #capacity: number;
  // Two generations, so that forgetting costs nothing per entry: the older one is dropped whole.
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get isEmpty(): boolean {
    return this.#newer.size === 0 && this.#older.size === 0;
  }

  get(key: K): V | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: K, value: V): void {
    this.#newer.set(key, value);
    if (this.#newer.size < this.#capacity) return;
    this.#older = this.#newer;
    this.#newer = new Map();
  }

  delete(key: K): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }
}
