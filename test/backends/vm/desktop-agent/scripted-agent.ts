import { expect } from "vitest";
import type { SandboxProcess } from "../../../../src/core/sandbox-process.ts";

type Process = Pick<SandboxProcess, "read" | "write" | "kill" | "exited" | "remove">;

/** The process of an agent, played by a test: it records what it is told and writes what the test says. */
export class ScriptedAgent implements Process {
  killed = false;
  readonly exited = Promise.withResolvers<never>().promise;
  #said = "";
  #written: Buffer[] = [];
  #cursor = 0;
  #skipped = 0;
  #ended = false;
  #wake = Promise.withResolvers<void>();

  async read({ signal }: Parameters<SandboxProcess["read"]>[0]): ReturnType<SandboxProcess["read"]> {
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    signal.addEventListener("abort", () => aborted.reject(signal.reason as Error), { once: true });
    if (this.#written.length === 0 && !this.#ended) await Promise.race([this.#wake.promise, aborted.promise]);
    signal.throwIfAborted();
    const chunks = this.#written.map((data) => ({ stream: "stdout" as const, data }));
    this.#written = [];
    this.#wake = Promise.withResolvers();
    this.#cursor += chunks.reduce((sum, { data }) => sum + data.length, 0);
    return { chunks, cursor: this.#cursor, skipped: this.#skipped, ended: this.#ended };
  }

  async write(data: Uint8Array): Promise<void> {
    this.#said += Buffer.from(data).toString("utf8");
  }

  async kill(): Promise<void> {
    this.killed = true;
    this.end();
  }

  async remove(): Promise<void> {}

  /** Writes a line. */
  say(message: Readonly<Record<string, unknown>>): void {
    this.#put(`${JSON.stringify(message)}\n`);
  }

  /** Writes bytes as they are. */
  putRaw(bytes: string): void {
    this.#put(bytes);
  }

  /** Has so many bytes been lost before they were read. */
  skip(bytes: number): void {
    this.#skipped = bytes;
  }

  end(): void {
    this.#ended = true;
    this.#wake.resolve();
  }

  /** The line of that number that it was told. */
  async said(index: number): Promise<Readonly<Record<string, unknown>>> {
    await expect.poll(() => this.#said.split("\n").length, { timeout: 30_000 }).toBeGreaterThan(index + 1);
    // Every line that is sent is an object.
    return JSON.parse(this.#said.split("\n")[index] ?? "") as Record<string, unknown>;
  }

  #put(text: string): void {
    this.#written.push(Buffer.from(text));
    this.#wake.resolve();
  }
}
