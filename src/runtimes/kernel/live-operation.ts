import { ToolyardError } from "../../core/errors.ts";
import { ProtocolViolation } from "./frame.ts";
import type { OperationFailure } from "./operation-messages.ts";

/** Bytes that either side may send on an operation before the other has taken any. */
export const WINDOW_BYTES = 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** How an operation speaks to the other side. */
export interface OperationWire {
  readonly bytes: (stream: number, data: Uint8Array) => void;
  readonly grant: (stream: number, count: number) => void;
  readonly fin: (stream: number) => void;
  readonly stop: (stream: number) => void;
}

/** What an operation is begun with. */
export interface OperationOptions<T> {
  /** Checks what it came to. @throws ProtocolViolation, which costs the sandbox its life */
  readonly parse: (value: unknown) => T;
  /** Ends it; it then fails as `cancelled`, unless it had ended before. */
  readonly signal?: AbortSignal;
  /** Bytes that may come before {@link LiveOperation.grant}; none by default. */
  readonly window?: number;
  readonly onData?: (data: Buffer) => void;
  /** No more bytes come; the operation may go on. */
  readonly onFin?: () => void;
  readonly onEvent?: (value: unknown) => void;
}

/** The host's side of one operation. */
export class LiveOperation<T> {
  readonly number: number;
  readonly result: Promise<T>;
  readonly #wire: OperationWire;
  readonly #window: number;
  // Absent once nobody waits: what it holds of what came is to go, and nothing is to be added.
  #options: OperationOptions<T> | undefined;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: Error) => void;
  readonly #waiting: (() => void)[] = [];
  #mayReceive: number;
  #untold = 0;
  #maySend = WINDOW_BYTES;
  #ended = false;
  #finished = false;
  #theirsFinished = false;

  constructor(number: number, wire: OperationWire, options: OperationOptions<T>) {
    this.number = number;
    this.#wire = wire;
    this.#options = options;
    this.#window = options.window ?? 0;
    this.#mayReceive = this.#window;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.result = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    // Who asked for a stream may look at it alone.
    promise.catch(() => {});
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Sends bytes as the other side takes them; what is sent after the end is lost. */
  async write(data: Uint8Array): Promise<void> {
    for (let start = 0; start < data.length && !this.#ended; ) {
      // In order on purpose: each part waits for its room.
      // oxlint-disable-next-line no-await-in-loop
      while (this.#maySend === 0 && !this.#ended) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      const part = data.subarray(start, start + Math.min(CHUNK_BYTES, this.#maySend));
      if (this.#ended) return;
      this.#maySend -= part.length;
      this.#wire.bytes(this.number, part);
      start += part.length;
    }
  }

  /** Says that no more bytes come. */
  fin(): void {
    if (this.#ended || this.#finished) return;
    this.#finished = true;
    this.#wire.fin(this.number);
  }

  /** Lets the other side send so many bytes more; told in large steps, so that single bytes cannot ask for a frame each. */
  grant(count: number): void {
    this.#untold += count;
    if (this.#ended || this.#untold < this.#window / 4) return;
    this.#mayReceive += this.#untold;
    this.#wire.grant(this.number, this.#untold);
    this.#untold = 0;
  }

  /** Asks for its end. */
  stop(): void {
    if (!this.#ended) this.#wire.stop(this.number);
  }

  /** Gives up waiting for the other side's answer; what still comes is dropped. */
  abandon(error: Error): void {
    this.#options = undefined;
    this.#reject(error);
  }

  // -- what the other side says

  data(data: Buffer): void {
    this.#mayReceive -= data.length;
    if (this.#mayReceive < 0) throw new ProtocolViolation("more bytes came than were granted");
    if (this.#theirsFinished) throw new ProtocolViolation("bytes came after their end");
    this.#options?.onData?.(data);
  }

  granted(count: number): void {
    // Else what it does not read would pile up here.
    if (count > WINDOW_BYTES - this.#maySend) throw new ProtocolViolation("more room was granted than was used");
    this.#maySend += count;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  finned(): void {
    this.#theirsFinished = true;
    this.#options?.onFin?.();
  }

  event(value: unknown): void {
    if (this.#options === undefined) return;
    if (this.#options.onEvent === undefined) throw new ProtocolViolation("an event that nobody asked for");
    this.#options.onEvent(value);
  }

  succeed(value: unknown): void {
    const options = this.#options;
    if (options === undefined) return this.#end();
    const parsed = options.parse(value);
    this.#end();
    this.#resolve(parsed);
  }

  fail({ type, message, limit }: OperationFailure): void {
    this.lose(new ToolyardError(type, message, limit === null ? {} : { details: { limit } }));
  }

  lose(error: Error): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#ended = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
