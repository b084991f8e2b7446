import { Duplex } from "node:stream";
import { ToolyardError } from "../../core/errors.ts";
import { ProtocolViolation } from "./frame.ts";
import { isFields } from "./fields.ts";
import type { LiveOperation, OperationOptions } from "./live-operation.ts";
import type { Operations } from "./operations.ts";

const WINDOW_BYTES = 256 * 1024;

/** The bytes of an operation as a stream: what the reader does not take, the other side may not send. */
export class OperationStream extends Duplex {
  readonly #operation: LiveOperation<void>;
  #untaken = 0;

  /** `begin` begins the operation, at once. */
  constructor(begin: (options: OperationOptions<void>) => LiveOperation<void>, onEvent?: (value: unknown) => void) {
    super({ allowHalfOpen: true });
    // Whoever reads or writes it learns of its failure; an `error` that comes before anybody listens would end the server.
    this.on("error", () => {});
    this.#operation = begin({
      parse: () => {},
      window: WINDOW_BYTES,
      onData: (data) => {
        this.#untaken += data.length;
        this.push(data);
      },
      onFin: () => this.push(null),
      ...(onEvent === undefined ? {} : { onEvent }),
    });
    this.#operation.result.then(
      () => {
        if (!this.readableEnded && !this.destroyed) this.push(null);
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _read(): void {
    const taken = this.#untaken - this.readableLength;
    if (taken <= 0) return;
    this.#untaken -= taken;
    this.#operation.grant(taken);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    // What is written after the end is lost, and never fails.
    void this.#write(chunk, callback);
  }

  async #write(chunk: Buffer, done: () => void): Promise<void> {
    await this.#operation.write(chunk);
    done();
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#operation.fin();
    callback();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    // After both ends it may still have to hand on the last bytes.
    if (error !== null || !this.readableEnded || !this.writableFinished) this.#operation.stop();
    callback(error);
  }
}

/** Connects to a port at the sandbox's loopback; the signal counts until the connection is there. */
export function connectTo(operations: Operations, port: number, signal: AbortSignal): Promise<Duplex> {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    return Promise.reject(new ToolyardError("invalid_input", "a port is a number from 1 to 65535"));
  }
  if (signal.aborted) return Promise.reject(new ToolyardError("cancelled", "the connection was cancelled"));
  return new Promise((resolve, reject) => {
    const abort = () => stream.destroy(new ToolyardError("cancelled", "the connection was cancelled"));
    const settle = () => {
      signal.removeEventListener("abort", abort);
      stream.off("error", fail);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const onEvent = (value: unknown) => {
      if (!isFields(value) || value["open"] !== true) throw new ProtocolViolation("a connection says something else");
      settle();
      resolve(stream);
    };
    const stream = new OperationStream((options) => operations.begin("connect", { port }, options), onEvent);
    stream.once("error", fail);
    signal.addEventListener("abort", abort, { once: true });
  });
}
