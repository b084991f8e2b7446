import type { Duplex } from "node:stream";
import { z } from "zod";
import { ToolyardError } from "../../../core/errors.ts";
import { JsonChannel } from "./json-channel.ts";
import { type JsonMessage, JsonLinesViolation } from "./json-lines.ts";

/** The longest answer that is of use, `query-qmp-schema`, has 0.2 MB. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
const Failure = z.object({ class: z.string(), desc: z.string() });

/** What QEMU tells by itself. */
export interface QmpEvent {
  readonly event: string;
  readonly data: JsonMessage;
}

/** QEMU's refusal of a command. */
export class QmpError extends Error {
  readonly class: string;

  constructor(command: string, { class: name, desc }: z.infer<typeof Failure>) {
    super(`${command}: ${desc}`);
    this.class = name;
  }
}

interface Waiting {
  readonly command: string;
  readonly settle: (answer: unknown, error?: Error) => void;
}

/** A client of the QEMU Machine Protocol: the one hand on a virtual machine's switches. */
export class QmpClient {
  readonly #channel: JsonChannel;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(event: QmpEvent) => void>();
  readonly #greeted = Promise.withResolvers<void>();
  #lastId = 0;

  private constructor(stream: Duplex) {
    this.#channel = new JsonChannel(stream, { maxLineBytes: MAX_LINE_BYTES, onMessage: (it) => this.#take(it) });
    void this.#channel.closed.then((reason) => this.#end(reason));
  }

  /**
   * Greets QEMU and leaves the negotiation, after which it takes commands.
   *
   * @throws ToolyardError `sandbox_dead` when the connection ends before that; the signal's reason.
   */
  static async open(stream: Duplex, signal: AbortSignal): Promise<QmpClient> {
    const client = new QmpClient(stream);
    try {
      await untilAborted(client.#greeted.promise, signal);
      await client.execute("qmp_capabilities", {}, signal);
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** Settles with the reason when the connection is over. */
  get closed(): Promise<Error> {
    return this.#channel.closed;
  }

  /**
   * Runs a command. One whose signal fires goes on in QEMU; its answer is not waited for.
   *
   * @throws QmpError when QEMU refuses; ToolyardError `sandbox_dead` when the connection is over; the signal's reason.
   */
  async execute(command: string, args: JsonMessage, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    if (this.#channel.over !== undefined) throw toDead(this.#channel.over);
    const id = (this.#lastId += 1);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const settle = (answer: unknown, error?: Error) => (error === undefined ? resolve(answer) : reject(error));
    this.#waiting.set(id, { command, settle });
    this.#channel.send({ execute: command, arguments: args, id });
    try {
      return await untilAborted(promise, signal);
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Hears events from now on; returns what ends that. */
  onEvent(listener: (event: QmpEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#channel.close();
  }

  #take(message: JsonMessage): void {
    if ("QMP" in message) return this.#greeted.resolve();
    if (typeof message["event"] === "string") {
      const data = toObject(message["data"]);
      for (const listener of this.#listeners) listener({ event: message["event"], data });
      return;
    }
    const id = message["id"];
    const waiting = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if ("error" in message) {
      const failure = Failure.safeParse(message["error"]);
      if (!failure.success) throw new JsonLinesViolation("an error without a class");
      return waiting?.settle(undefined, new QmpError(waiting.command, failure.data));
    }
    if (!("return" in message)) throw new JsonLinesViolation("a message that is no answer");
    waiting?.settle(message["return"]);
  }

  #end(reason: Error): void {
    this.#greeted.reject(toDead(reason));
    this.#greeted.promise.catch(() => {});
    for (const { settle } of this.#waiting.values()) settle(undefined, toDead(reason));
  }
}

function toDead(cause: Error): ToolyardError {
  return new ToolyardError("sandbox_dead", `the virtual machine is gone: ${cause.message}`, { cause });
}

function toObject(value: unknown): JsonMessage {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** Waits for something that goes on by itself; rejects with the signal's reason when it fires first. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
