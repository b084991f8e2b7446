const LARGEST = 127;
const BYTES_OF_SCALE = 4;

/** Vectors as they are stored: the scales, then the bytes. */
export class VectorBlob {
  readonly blob: Uint8Array;
  readonly scales: Float32Array;
  readonly bytes: Int8Array;
  readonly #size: number;

  private constructor(size: number, blob: Uint8Array<ArrayBuffer>) {
    const count = blob.length / (size + BYTES_OF_SCALE);
    this.#size = size;
    this.blob = blob;
    this.scales = new Float32Array(blob.buffer, 0, count);
    this.bytes = new Int8Array(blob.buffer, count * BYTES_OF_SCALE);
  }

  static empty(size: number, count: number): VectorBlob {
    return new VectorBlob(size, new Uint8Array(count * (size + BYTES_OF_SCALE)));
  }

  /** Copies, since a row's bytes need not begin where a float may. */
  static of(size: number, stored: Uint8Array): VectorBlob {
    return new VectorBlob(size, new Uint8Array(stored));
  }

  set(index: number, vector: Float32Array): void {
    this.scales[index] = quantize(vector, this.bytes.subarray(index * this.#size, (index + 1) * this.#size));
  }
}

/** How many vectors so many stored bytes hold. */
export function countStored(size: number, bytes: number): number {
  return bytes / (size + BYTES_OF_SCALE);
}

/** Writes a vector as bytes, and answers what one of them stands for; 0 for a vector without length. */
export function quantize(vector: Float32Array, bytes: Int8Array): number {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  bytes.fill(0);
  if (largest === 0) return 0;
  const scale = largest / LARGEST;
  for (let at = 0; at < vector.length; at++) bytes[at] = Math.round((vector[at] ?? 0) / scale);
  return scale;
}
