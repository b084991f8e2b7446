import { createRequire } from "node:module";
import type { Duplex } from "node:stream";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import type { Logger } from "../../../core/context.ts";
import { packError, unpackError } from "../../../core/crossed-error.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { BrowserFiles, OpenBrowserOptions } from "../open-browser.ts";
import { type FileQuestion, type FromThread, toOwnBytes, type ToThread } from "./messages.ts";

const FROM_SOURCES = import.meta.url.endsWith(".ts");
/** MiB of the thread's heap: several times the largest message. */
const HEAP_MIB = 768;
/** What may be on its way to the thread; the sandbox waits with the rest. */
const MAX_AHEAD_BYTES = 8 * 1024 * 1024;
/** Milliseconds that the thread has to show that it lives when a call was given up. */
const PONG_MS = 10_000;

type Running = Pick<PromiseWithResolvers<unknown>, "resolve" | "reject">;

/**
 * Works one browser in a thread of its own, since what its debugger says is hostile: a message that leads the library astray, that is
 * endless or that takes all memory ends this thread and its session, and nobody waits meanwhile.
 */
export class BrowserThread {
  readonly #worker: Worker;
  readonly #logger: Logger;
  readonly #running = new Map<number, Running>();
  #files: BrowserFiles | undefined;
  #socket: Duplex | undefined;
  #lastId = 0;
  #ahead = 0;
  #ended: ToolyardError | undefined;
  #silence: NodeJS.Timeout | undefined;
  readonly #over = Promise.withResolvers<void>();

  /** Starts the thread, which loads its libraries meanwhile. */
  constructor(logger: Logger) {
    this.#logger = logger;
    this.#worker = new Worker(new URL(FROM_SOURCES ? "./thread-main.ts" : "./thread-main.js", import.meta.url), {
      execArgv: FROM_SOURCES ? ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href] : [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      name: "toolyard browser",
    });
    this.#worker.on("message", (message: FromThread) => this.#receive(message));
    this.#worker.on("error", (error: unknown) => {
      logger.warn({ err: error }, "a browser's thread failed, and ends with its session");
      this.#end(`it broke its protocol (${error instanceof Error ? error.message.slice(0, 200) : "unknown"})`);
    });
    this.#worker.on("exit", () => this.#end("its thread ended"));
    // Last, since listening refers to it again.
    this.#worker.unref();
  }

  /** Takes up the browser at the other end of a connection, whose debugger is at a path. */
  async open(
    socket: Duplex,
    { path, files, options }: { path: string; files: BrowserFiles; options: OpenBrowserOptions },
    signal: AbortSignal,
  ): Promise<void> {
    this.#socket = socket;
    this.#files = files;
    socket.on("data", (chunk: Buffer) => this.#relay(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => this.#end("it closed its connection"));
    await this.#ask((id) => ({ kind: "open", id, path, options }), signal);
  }

  /** @throws ToolyardError `sandbox_dead` when the browser or its thread is gone */
  assertAlive(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  /** Settles when the browser or its thread is gone. */
  get ended(): Promise<void> {
    return this.#over.promise;
  }

  /**
   * Runs a tool.
   *
   * @throws what the tool throws; the signal's reason at once; ToolyardError `sandbox_dead` when the browser goes meanwhile
   */
  run(tool: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    return this.#ask((id) => ({ kind: "run", id, tool, params }), signal);
  }

  /** Ends the thread and hangs up; idempotent. */
  close(): void {
    this.#end("its session ended");
  }

  async #ask(toMessage: (id: number) => ToThread, signal: AbortSignal): Promise<unknown> {
    this.assertAlive();
    signal.throwIfAborted();
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#running.set(id, { resolve, reject });
    const abort = () => {
      this.#post({ kind: "abort", id, reason: packError(signal.reason) });
      this.#expectLife();
      reject(signal.reason);
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#post(toMessage(id));
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", abort);
      this.#running.delete(id);
    }
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "done":
        return this.#running.get(message.id)?.resolve(message.value);
      case "failed":
        return this.#running.get(message.id)?.reject(unpackError(message.error));
      case "bytes":
        return void this.#socket?.write(message.bytes);
      case "read":
        this.#ahead -= message.count;
        if (this.#ahead <= MAX_AHEAD_BYTES) this.#socket?.resume();
        return;
      case "ask":
        return void this.#answer(message.id, message.question);
      case "pong":
        clearTimeout(this.#silence);
        this.#silence = undefined;
        return;
      case "closed":
        return this.#end("it hung up, or was cut off for what it said");
    }
  }

  #relay(chunk: Buffer): void {
    const bytes = toOwnBytes(chunk);
    this.#ahead += bytes.length;
    if (this.#ahead > MAX_AHEAD_BYTES) this.#socket?.pause();
    this.#post({ kind: "bytes", bytes }, [bytes.buffer]);
  }

  async #answer(id: number, question: FileQuestion): Promise<void> {
    const signal = AbortSignal.timeout(60_000);
    try {
      if (this.#files === undefined) throw new TypeError("no browser is open");
      const value =
        question.kind === "stat"
          ? await this.#files.stat(question.path, signal)
          : await this.#files.read(question.path, question, signal);
      this.#post({ kind: "answer", id, value });
    } catch (error) {
      this.#post({ kind: "refusal", id, error: packError(error) });
    }
  }

  /** Ends a thread that something holds: it would burn a processor until its session ends. */
  #expectLife(): void {
    if (this.#ended !== undefined || this.#silence !== undefined) return;
    this.#post({ kind: "ping" });
    this.#silence = setTimeout(() => {
      this.#logger.warn({ ms: PONG_MS }, "a browser's thread was held, and ends with its session");
      this.#end("its page held its thread");
    }, PONG_MS);
    this.#silence.unref();
  }

  #post(message: ToThread, transfer: ArrayBuffer[] = []): void {
    if (this.#ended === undefined) this.#worker.postMessage(message, transfer);
  }

  #end(why: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = new ToolyardError("sandbox_dead", `the session's browser is gone: ${why}`);
    clearTimeout(this.#silence);
    for (const { reject } of this.#running.values()) reject(this.#ended);
    this.#socket?.destroy();
    void this.#worker.terminate();
    this.#over.resolve();
  }
}
