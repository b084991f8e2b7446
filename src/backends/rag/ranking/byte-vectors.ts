import { openByteDots } from "./byte-dots.ts";

/** Places come in sixteens, as many as are multiplied at once. */
const LANES = 16;
/** Fewer vectors are multiplied here: each WebAssembly memory reserves gigabytes of addresses. */
const MIN_FOR_WASM = 4_096;
const LARGEST = 127;

/**
 * Vectors whose numbers are kept as bytes, a quarter of what floats take, each with its own scale: a cosine moves by less than
 * 0.01, and sixteen places are multiplied at once.
 */
export class ByteVectors {
  readonly size: number;
  readonly count: number;
  /** What a byte of each vector stands for. */
  readonly #scales: Float32Array;
  readonly #stride: number;
  readonly #dots: ReturnType<typeof openByteDots> | undefined;
  readonly #bytes: Int8Array;
  readonly #query: Int8Array;
  readonly #results: Int32Array;

  constructor(size: number, count: number) {
    this.size = size;
    this.count = count;
    this.#scales = new Float32Array(count);
    const stride = Math.ceil(size / LANES) * LANES;
    this.#stride = stride;
    if (count < MIN_FOR_WASM) {
      this.#bytes = new Int8Array(count * stride);
      this.#query = new Int8Array(stride);
      this.#results = new Int32Array(count);
      return;
    }
    this.#dots = openByteDots(stride + count * 4 + count * stride);
    const { buffer } = this.#dots.memory;
    this.#query = new Int8Array(buffer, 0, stride);
    this.#results = new Int32Array(buffer, stride, count);
    this.#bytes = new Int8Array(buffer, stride + count * 4, count * stride);
  }

  /** @param floats `size` numbers a vector, one vector after another */
  static from(floats: Float32Array, size: number): ByteVectors {
    const vectors = new ByteVectors(size, floats.length / size);
    for (let index = 0; index < vectors.count; index++) {
      vectors.set(index, floats.subarray(index * size, (index + 1) * size));
    }
    return vectors;
  }

  /** Takes back what `toBlob` gave. */
  static fromBlob(blob: Uint8Array, size: number): ByteVectors {
    const count = blob.length / (size + 4);
    const vectors = new ByteVectors(size, count);
    vectors.#scales.set(new Float32Array(new Uint8Array(blob.subarray(0, count * 4)).buffer));
    for (let index = 0; index < count; index++) {
      const from = count * 4 + index * size;
      vectors.#bytes.set(new Int8Array(blob.buffer, blob.byteOffset + from, size), index * vectors.#stride);
    }
    return vectors;
  }

  /** The scales, then the bytes. */
  toBlob(): Uint8Array {
    const { count, size } = this;
    const blob = new Uint8Array(count * (4 + size));
    blob.set(new Uint8Array(this.#scales.buffer));
    const bytes = new Int8Array(blob.buffer, count * 4);
    for (let index = 0; index < count; index++) {
      bytes.set(this.#bytes.subarray(index * this.#stride, index * this.#stride + size), index * size);
    }
    return blob;
  }

  set(index: number, vector: Float32Array): void {
    this.#scales[index] = quantize(vector, this.#bytes.subarray(index * this.#stride, (index + 1) * this.#stride));
  }

  /** The dot product of a query with every vector, from `offset` on in `scores`. */
  score(query: Float32Array, scores: Float64Array, offset: number): void {
    const scale = quantize(query, this.#query);
    if (this.#dots === undefined) this.#multiply();
    else {
      const { byteOffset: at } = this.#bytes;
      this.#dots.dots(this.#query.byteOffset, at, this.count, this.#stride, this.#results.byteOffset);
    }
    for (let index = 0; index < this.count; index++) {
      scores[offset + index] = (this.#results[index] ?? 0) * (this.#scales[index] ?? 0) * scale;
    }
  }

  #multiply(): void {
    let at = 0;
    for (let index = 0; index < this.count; index++) {
      let dot = 0;
      for (let place = 0; place < this.#stride; place++) dot += (this.#query[place] ?? 0) * (this.#bytes[at++] ?? 0);
      this.#results[index] = dot;
    }
  }
}

/** Writes a vector as bytes, and answers what one of them stands for; 0 for a vector without length. */
function quantize(vector: Float32Array, bytes: Int8Array): number {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  bytes.fill(0);
  if (largest === 0) return 0;
  const scale = largest / LARGEST;
  for (let at = 0; at < vector.length; at++) bytes[at] = Math.round((vector[at] ?? 0) / scale);
  return scale;
}
