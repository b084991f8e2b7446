import type { Postings } from "./codec.ts";

/** Keeps the postings that were read last, up to a bound of bytes; those of a segment never change. */
export class PostingsCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Postings>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string, load: () => Postings | undefined): Postings | undefined {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known;
    }
    const loaded = load();
    if (loaded === undefined) return undefined;
    const size = sizeOf(key, loaded);
    if (size > this.#maxBytes / 4) return loaded;
    this.#entries.set(key, loaded);
    this.#bytes += size;
    for (const [oldest, postings] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#entries.delete(oldest);
      this.#bytes -= sizeOf(oldest, postings);
    }
    return loaded;
  }
}

function sizeOf(key: string, { ordinals, frequencies }: Postings): number {
  return key.length * 2 + ordinals.byteLength + frequencies.byteLength + 200;
}
