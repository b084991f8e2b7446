import { openByteDots } from "../simd/byte-dots.ts";
import { quantize, type VectorBlob } from "./vector-blob.ts";

/** Places come in sixteens, as many as are multiplied at once. */
const LANES = 16;
/** Fewer vectors are multiplied here: each WebAssembly memory reserves gigabytes of addresses. */
const MIN_FOR_WASM = 4_096;

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

  /** Puts the vectors that a {@link VectorBlob} holds in the places from `index` on. */
  load(index: number, { scales, bytes }: VectorBlob): void {
    const { size } = this;
    this.#scales.set(scales, index);
    if (size === this.#stride) this.#bytes.set(bytes, index * size);
    else {
      for (let at = 0; at < scales.length; at++) {
        this.#bytes.set(bytes.subarray(at * size, (at + 1) * size), (index + at) * this.#stride);
      }
    }
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
