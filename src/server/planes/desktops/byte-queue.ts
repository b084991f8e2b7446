/** Bytes that have come and are not read yet, in one piece: many small ones cost no more than one large one. */
export class ByteQueue {
  #data = Buffer.alloc(1_024);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  push(chunk: Uint8Array): void {
    if (this.#end + chunk.length > this.#data.length) this.#makeRoom(chunk.length);
    this.#data.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** The first bytes, or all that there are when they are fewer; good until the next push. */
  peek(count: number): Buffer {
    return this.#data.subarray(this.#start, Math.min(this.#start + count, this.#end));
  }

  /** Takes bytes out, which must be there; the caller's own from then on. */
  take(count: number): Buffer {
    const taken = Buffer.from(this.peek(count));
    this.#start += taken.length;
    if (this.#start === this.#end) this.#start = this.#end = 0;
    return taken;
  }

  #makeRoom(bytes: number): void {
    const { length } = this;
    const target = length + bytes <= this.#data.length / 2 ? this.#data : Buffer.alloc((length + bytes) * 2);
    this.#data.copy(target, 0, this.#start, this.#end);
    this.#data = target;
    this.#start = 0;
    this.#end = length;
  }
}
