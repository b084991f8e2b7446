/** Where a term occurs in a segment: ascending ordinals of chunks, and how often in each. */
export interface Postings {
  readonly ordinals: Uint32Array;
  readonly frequencies: Uint32Array;
}

/** Collects the postings of one term in the order of the chunks. */
export class PostingsBuilder {
  readonly ordinals: number[] = [];
  readonly frequencies: number[] = [];

  add(ordinal: number, frequency: number): void {
    this.ordinals.push(ordinal);
    this.frequencies.push(frequency);
  }
}

class ByteWriter {
  #bytes = new Uint8Array(64);
  #length = 0;

  writeNumber(value: number): void {
    if (this.#length + 8 > this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }
}

/** Writes postings as gaps; the lowest bit of each says that the frequency is 1, which most are, and is not written. */
export function encodePostings({ ordinals, frequencies }: PostingsBuilder | Postings): Uint8Array {
  const writer = new ByteWriter();
  let previous = -1;
  for (let index = 0; index < ordinals.length; index++) {
    const ordinal = ordinals[index] ?? 0;
    const frequency = frequencies[index] ?? 1;
    writer.writeNumber((ordinal - previous - 1) * 2 + (frequency === 1 ? 1 : 0));
    if (frequency !== 1) writer.writeNumber(frequency);
    previous = ordinal;
  }
  return writer.finish();
}

/** Reads what {@link encodePostings} wrote; `count` is how many there are. @throws RangeError when the bytes end early. */
export function decodePostings(bytes: Uint8Array, count: number): Postings {
  const postings = { ordinals: new Uint32Array(count), frequencies: new Uint32Array(count) };
  const read = readPostings(bytes, { at: 0, previous: -1 }, { end: Number.POSITIVE_INFINITY, ...postings });
  if (read !== count) throw new RangeError("the postings end early");
  return postings;
}

/**
 * Reads postings from a place on, up to the first whose ordinal is not below `end` or until there is no more room, and moves the
 * place there.
 *
 * @returns how many were read
 * @throws RangeError when the bytes end in the middle of a number
 */
export function readPostings(
  bytes: Uint8Array,
  place: { at: number; previous: number },
  { end, ordinals, frequencies }: Postings & { readonly end: number },
): number {
  let { at, previous } = place;
  let count = 0;
  const read = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("the postings end early");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length && count < ordinals.length) {
    const before = at;
    const gap = read();
    const ordinal = previous + Math.floor(gap / 2) + 1;
    if (ordinal >= end) {
      at = before;
      break;
    }
    ordinals[count] = ordinal;
    frequencies[count] = gap % 2 === 1 ? 1 : read();
    previous = ordinal;
    count += 1;
  }
  place.at = at;
  place.previous = previous;
  return count;
}

/** Writes numbers of any order; ascending ones are best written as gaps with {@link encodeAscending}. */
export function encodeNumbers(numbers: Iterable<number>): Uint8Array {
  const writer = new ByteWriter();
  for (const number of numbers) writer.writeNumber(number);
  return writer.finish();
}

/** Reads what {@link encodeNumbers} wrote. */
export function decodeNumbers(bytes: Uint8Array, count: number): Uint32Array {
  const numbers = new Uint32Array(count);
  let at = 0;
  for (let index = 0; index < count; index++) {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("the numbers end early");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    numbers[index] = value;
  }
  return numbers;
}

/** Writes ascending numbers as gaps. */
export function encodeAscending(numbers: Iterable<number>): Uint8Array {
  const writer = new ByteWriter();
  let previous = 0;
  for (const number of numbers) {
    writer.writeNumber(number - previous);
    previous = number;
  }
  return writer.finish();
}

/** Reads what {@link encodeAscending} wrote. */
export function decodeAscending(bytes: Uint8Array, count: number): Uint32Array {
  const numbers = decodeNumbers(bytes, count);
  for (let index = 1; index < count; index++) numbers[index] = (numbers[index] ?? 0) + (numbers[index - 1] ?? 0);
  return numbers;
}
