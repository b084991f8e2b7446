import type { SandboxProcess } from "../../../core/sandbox-process.ts";
import { AgentMessage } from "./agent-answers.ts";
import { LineSplitter } from "./line-splitter.ts";

/** What the agent is, as far as its channel knows. */
export type AgentProcess = Pick<SandboxProcess, "read" | "write" | "kill" | "exited">;

const MAX_LINE_BYTES = 17 << 20;
const READ_BYTES = 256 << 10;
const WAIT_MS = 20_000;
/** The agent sends no more than half a mebibyte that it has not been told of as read. */
const TELL_EVERY_BYTES = 128 << 10;
const COMPLAINT_BYTES = 4_096;

/** JSON lines to and from one process. Nothing that comes is believed: whoever breaks the form ends the channel. */
export class AgentChannel {
  readonly #process: AgentProcess;
  readonly #over = new AbortController();
  #complaint = Buffer.alloc(0);
  #writing: Promise<unknown> = Promise.resolve();

  constructor(process: AgentProcess) {
    this.#process = process;
  }

  /** The last of what it complained of, for the log only. */
  get complaint(): string {
    return this.#complaint.toString("utf8");
  }

  send(message: Readonly<Record<string, unknown>>): void {
    this.sendLine(`${JSON.stringify(message)}\n`);
  }

  sendLine(line: string): void {
    this.#writing = this.#writing
      .then(() => this.#process.write(Buffer.from(line)))
      // Its end is told by the reading side.
      .catch(() => {});
  }

  /** Hands over what comes until it ends, and then says why. Never throws. */
  async listen(onMessage: (message: AgentMessage) => void): Promise<string> {
    const lines = new LineSplitter(MAX_LINE_BYTES);
    let cursor = 0;
    let taken = 0;
    let told = 0;
    try {
      for (;;) {
        const { signal } = this.#over;
        // oxlint-disable-next-line no-await-in-loop -- one stretch after another
        const log = await this.#process.read({ cursor, maxBytes: READ_BYTES, waitMs: WAIT_MS, signal });
        if (log.skipped > 0) return "it wrote more than it had been told was read";
        cursor = log.cursor;
        for (const { stream, data } of log.chunks) {
          if (stream === "stderr") {
            this.#complaint = Buffer.concat([this.#complaint, data]).subarray(-COMPLAINT_BYTES);
            continue;
          }
          taken += data.length;
          for (const line of lines.push(data)) onMessage(AgentMessage.parse(JSON.parse(line)));
        }
        if (taken - told >= TELL_EVERY_BYTES) this.send({ read: (told = taken) });
        if (log.ended) return "it ended";
      }
    } catch (error) {
      return error instanceof Error ? error.message.slice(0, 300) : "it could not be read";
    }
  }

  /** Ends the process by force; idempotent. */
  async close(): Promise<void> {
    this.#over.abort(new Error("the channel was closed"));
    await this.#process.kill("SIGKILL").catch(() => {});
  }
}
