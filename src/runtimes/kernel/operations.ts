import { ToolyardError } from "../../core/errors.ts";
import type { Fields } from "./fields.ts";
import { BinaryFrame, encodeBinaryHeader, encodeFrame, ProtocolViolation } from "./frame.ts";
import { LiveOperation, type OperationOptions, type OperationWire } from "./live-operation.ts";
import type { OperationFrame, OperationRequest } from "./operation-messages.ts";

// Numbers from here on are the sandbox's to give, those below are ours.
const BASE_OF_THEIRS = 0x8000_0000;
const MAX_LIVE = 1024;
const MAX_DIALED = 256;
// Copying so few costs less than a write of their own.
const SMALL_BYTES = 16 * 1024;
// After a cancellation, until the caller is answered whether or not the sandbox has.
const CANCEL_GRACE_MS = 2_000;

/** Takes a connection that user code made to the sandbox's proxy. */
export type DialHandler = (begin: (options: OperationOptions<void>) => LiveOperation<void>) => void;

/** The operations of one connection: what the host asks of a supervisor beside executions. */
export class Operations {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #onDial: DialHandler | undefined;
  readonly #live = new Map<number, LiveOperation<unknown>>();
  #dialed = 0;
  #next = 0;
  #lost: Error | undefined;
  readonly #wire: OperationWire;

  constructor(write: (bytes: Uint8Array) => void, onDial: DialHandler | undefined) {
    this.#write = write;
    this.#onDial = onDial;
    const send = (request: OperationRequest) => this.#write(encodeFrame(request));
    this.#wire = {
      bytes: (r, data) => {
        const header = encodeBinaryHeader(r, data.length);
        if (data.length <= SMALL_BYTES) return this.#write(Buffer.concat([header, data]));
        this.#write(header);
        this.#write(data);
      },
      grant: (r, n) => send({ t: "win", r, n }),
      fin: (r) => send({ t: "fin", r }),
      stop: (r) => send({ t: "stop", r }),
    };
  }

  /**
   * Begins an operation.
   *
   * @throws ToolyardError `sandbox_dead`, `limit_exceeded`, `cancelled` when the signal has fired already.
   */
  begin<T>(op: string, args: Fields, options: OperationOptions<T>): LiveOperation<T> {
    if (this.#lost !== undefined) throw this.#lost;
    if (options.signal?.aborted === true) throw cancelled();
    if (this.#live.size >= MAX_LIVE) {
      const message = `a sandbox does at most ${MAX_LIVE} things at once`;
      throw new ToolyardError("limit_exceeded", message, { details: { limit: "operations" } });
    }
    do this.#next = (this.#next % (BASE_OF_THEIRS - 1)) + 1;
    while (this.#live.has(this.#next));
    const request: OperationRequest = { t: "op", r: this.#next, op, args, win: options.window ?? 0 };
    // Before it is live: what cannot be sent must leave nothing behind.
    const frame = encodeFrame(request);
    const operation = this.#add(this.#next, options);
    this.#write(frame);
    return operation;
  }

  /** Begins an operation and waits for its end. */
  async run<T>(op: string, args: Fields, options: OperationOptions<T>): Promise<T> {
    return this.begin(op, args, options).result;
  }

  handle(frame: OperationFrame | BinaryFrame): void {
    if (frame instanceof BinaryFrame) return this.#of(frame.stream).data(frame.data);
    if (frame.t === "dial") return this.#dial(frame.r);
    const operation = this.#of(frame.r);
    switch (frame.t) {
      case "ev":
        return operation.event(frame.value);
      case "win":
        return operation.granted(frame.n);
      case "fin":
        return operation.finned();
      case "re":
        if (frame.ok) operation.succeed(frame.value);
        else operation.fail(frame.error);
        // Not before: one whose answer is malformed must end with the rest.
        this.#live.delete(frame.r);
        if (frame.r >= BASE_OF_THEIRS) this.#dialed -= 1;
    }
  }

  /** Ends all of them: the sandbox is gone. */
  close(message: string): void {
    this.#lost = new ToolyardError("sandbox_dead", `the sandbox died: ${message}`);
    for (const operation of this.#live.values()) operation.lose(this.#lost);
    this.#live.clear();
  }

  #add<T>(number: number, options: OperationOptions<T>): LiveOperation<T> {
    const operation = new LiveOperation<T>(number, this.#wire, options);
    // The map forgets what each one resolves with.
    this.#live.set(number, operation as LiveOperation<unknown>);
    const { signal } = options;
    if (signal !== undefined) {
      const abort = () => {
        operation.stop();
        const timer = setTimeout(() => operation.abandon(cancelled()), CANCEL_GRACE_MS);
        timer.unref();
        const clear = () => clearTimeout(timer);
        operation.result.then(clear, clear);
      };
      signal.addEventListener("abort", abort, { once: true });
      const release = () => signal.removeEventListener("abort", abort);
      operation.result.then(release, release);
    }
    return operation;
  }

  #dial(number: number): void {
    if (number < BASE_OF_THEIRS || this.#live.has(number))
      throw new ProtocolViolation("a connection's number is taken");
    if (this.#onDial === undefined || this.#dialed >= MAX_DIALED) {
      throw new ProtocolViolation("a connection that may not be made");
    }
    this.#dialed += 1;
    this.#onDial((options) => this.#add(number, options));
    if (!this.#live.has(number)) throw new Error("a connection was not taken");
  }

  #of(number: number): LiveOperation<unknown> {
    const operation = this.#live.get(number);
    if (operation === undefined) throw new ProtocolViolation("a frame of an operation that is not live");
    return operation;
  }
}

const cancelled = () => new ToolyardError("cancelled", "it was cancelled");
