import { randomInt } from "node:crypto";
import type { Duplex } from "node:stream";
import { ToolyardError } from "../../../core/errors.ts";
import { JsonChannel } from "./json-channel.ts";
import type { JsonMessage } from "./json-lines.ts";
import { untilAborted } from "./qmp-client.ts";

/** The agent keeps 16 MiB of each of a command's streams, in base64 and both in one line. */
const MAX_LINE_BYTES = 48 * 1024 * 1024;
const KNOCK_MS = 2_000;
/** Makes the agent's parser forget the start of a message that it may hold. */
const FLUSH = Buffer.from([0xff]);

/** The agent's refusal of a command. */
export class GuestAgentError extends Error {}

interface Waiting {
  readonly command: string;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A client of qemu-guest-agent, by a virtual serial port of the machine.
 *
 * The agent does one thing after another and its answers carry no name, so that one command is out at a time. When an answer
 * was given up, or the machine was brought back to another moment, what comes first is no answer to anything: both sides then
 * agree anew on where they are.
 */
export class GuestAgent {
  readonly #channel: JsonChannel;
  #waiting: Waiting | undefined;
  /** The last question whose answer is waited for, to be in step. */
  #knock: { readonly id: number; readonly answered: () => void } | undefined;
  #inStep = false;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(stream: Duplex) {
    this.#channel = new JsonChannel(stream, {
      maxLineBytes: MAX_LINE_BYTES,
      onMessage: (it) => this.#take(it),
      skipsRubbish: () => !this.#inStep,
    });
    void this.#channel.closed.then((reason) => this.#waiting?.reject(toGone(reason)));
  }

  /** What comes next is of another moment: the machine was brought back to a snapshot. */
  lostStep(): void {
    this.#inStep = false;
  }

  /** Waits until it answers, as at the start of a machine. Throws as `execute` does. */
  async ready(signal: AbortSignal): Promise<void> {
    await this.execute("guest-ping", {}, signal);
  }

  /**
   * Runs one of the agent's commands. One whose signal fires goes on in the guest; its answer is not waited for.
   *
   * @throws GuestAgentError when the agent refuses; ToolyardError `sandbox_dead` when the machine is gone; the signal's reason.
   */
  async execute(command: string, args: JsonMessage, signal: AbortSignal): Promise<unknown> {
    const turn = this.#turn.then(() => this.#run(command, args, signal));
    this.#turn = turn.catch(() => {});
    return untilAborted(turn, signal);
  }

  close(): void {
    this.#channel.close();
  }

  async #run(command: string, args: JsonMessage, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    if (!this.#inStep) await this.#sync(signal);
    if (this.#channel.over !== undefined) throw toGone(this.#channel.over);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting = { command, resolve, reject };
    this.#channel.send({ execute: command, arguments: args });
    try {
      return await untilAborted(promise, signal);
    } catch (error) {
      if (!(error instanceof GuestAgentError)) this.#inStep = false;
      throw error;
    } finally {
      this.#waiting = undefined;
    }
  }

  /**
   * Asks for an answer that can be told from all others, and again in a while: an agent that starts may miss the first. The
   * agent keeps to the order, so that nothing comes after the answer to the last one.
   */
  async #sync(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let timer: NodeJS.Timeout | undefined;
    const knock = (againMs: number) => {
      const id = randomInt(1, 2 ** 31);
      this.#knock = { id, answered: resolve };
      this.#channel.send({ execute: "guest-sync-delimited", arguments: { id } }, FLUSH);
      timer = setTimeout(() => knock(againMs * 2), againMs);
    };
    try {
      knock(KNOCK_MS);
      const gone = this.#channel.closed.then((reason): never => {
        throw toGone(reason);
      });
      await untilAborted(Promise.race([promise, gone]), signal);
      this.#inStep = true;
    } finally {
      clearTimeout(timer);
      this.#knock = undefined;
    }
  }

  #take(message: JsonMessage): void {
    if (this.#knock !== undefined) {
      if (message["return"] === this.#knock.id) this.#knock.answered();
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#inStep = false;
    else if ("error" in message) waiting.reject(new GuestAgentError(`${waiting.command}: ${toText(message["error"])}`));
    else waiting.resolve(message["return"]);
  }
}

function toGone(cause: Error): ToolyardError {
  return new ToolyardError("sandbox_dead", `the virtual machine's agent is gone: ${cause.message}`, { cause });
}

/** What the agent says of a failure, as short as it is of use. */
function toText(failure: unknown): string {
  const { desc } = typeof failure === "object" && failure !== null && "desc" in failure ? failure : { desc: failure };
  return String(desc).slice(0, 400);
}
