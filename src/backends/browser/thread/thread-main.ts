import { type MessagePort, parentPort } from "node:worker_threads";
import { packError, unpackError } from "../../../core/crossed-error.ts";
import { ToolyardError } from "../../../core/errors.ts";
import type { FileInfo } from "../../../core/sandbox-files.ts";
import { type BrowserContext, type BrowserFiles, loadPuppeteer, OpenBrowser } from "../open-browser.ts";
import { browserTools } from "../tools/browser-tools.ts";
import { type FileQuestion, type FromThread, toOwnBytes, type ToThread } from "./messages.ts";
import { RelayedSocket } from "./relayed-socket.ts";

/** Works one browser in this thread: the other end of {@link BrowserThread}. */
class ThreadMain {
  readonly #port: MessagePort;
  readonly #tools = browserTools();
  readonly #running = new Map<number, AbortController>();
  readonly #questions = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #socket: RelayedSocket;
  #browser: OpenBrowser | undefined;
  #lastQuestion = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    this.#socket = new RelayedSocket({
      send: (chunk) => {
        const bytes = toOwnBytes(chunk);
        port.postMessage({ kind: "bytes", bytes } satisfies FromThread, [bytes.buffer]);
      },
      onRead: (count) => this.#send({ kind: "read", count }),
      onClose: () => this.#send({ kind: "closed" }),
    });
  }

  receive(message: ToThread): void {
    switch (message.kind) {
      case "bytes":
        return this.#socket.receive(message.bytes);
      case "open":
      case "run":
        return void this.#perform(message);
      case "abort":
        return this.#running.get(message.id)?.abort(unpackError(message.reason));
      case "answer":
        return this.#take(message.id)?.resolve(message.value);
      case "refusal":
        return this.#take(message.id)?.reject(unpackError(message.error));
      case "ping":
        return this.#send({ kind: "pong" });
    }
  }

  async #perform(message: Extract<ToThread, { kind: "open" | "run" }>): Promise<void> {
    const { id } = message;
    const controller = new AbortController();
    this.#running.set(id, controller);
    try {
      const { signal } = controller;
      const value = message.kind === "open" ? await this.#open(message, signal) : await this.#run(message, signal);
      this.#send({ kind: "done", id, value });
    } catch (error) {
      this.#send({ kind: "failed", id, error: packError(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  async #open({ path, options }: Extract<ToThread, { kind: "open" }>, signal: AbortSignal): Promise<void> {
    this.#browser = await OpenBrowser.open(this.#socket, path, this.#files, options, signal);
  }

  #run({ tool, params }: Extract<ToThread, { kind: "run" }>, signal: AbortSignal): unknown {
    const found = this.#tools.get(tool);
    if (found === undefined || this.#browser === undefined) {
      throw new ToolyardError("internal_error", `the browser's thread has no tool ${tool}`);
    }
    const context: BrowserContext = { session: { data: this.#browser }, signal };
    // These tools ask for no more than this of a call's context.
    return found.invoke(params, context as never);
  }

  readonly #files: BrowserFiles = {
    // What answers is the server's own thread, which has the types that it says.
    stat: (path) => this.#ask({ kind: "stat", path }) as Promise<FileInfo | null>,
    read: (path, { offset, length }) => this.#ask({ kind: "read", path, offset, length }) as Promise<Uint8Array>,
  };

  #ask(question: FileQuestion): Promise<unknown> {
    const id = ++this.#lastQuestion;
    const waiting = Promise.withResolvers<unknown>();
    this.#questions.set(id, waiting);
    this.#send({ kind: "ask", id, question });
    return waiting.promise;
  }

  #take(id: number): PromiseWithResolvers<unknown> | undefined {
    const waiting = this.#questions.get(id);
    this.#questions.delete(id);
    return waiting;
  }

  #send(message: FromThread): void {
    this.#port.postMessage(message);
  }
}

// What fails here by itself (a handler of the library that a hostile browser led astray, say) ends this thread, as it would end a
// process; its session alone is lost by it.
if (parentPort !== null) {
  const main = new ThreadMain(parentPort);
  // The browser starts meanwhile; that it is lacking is told when it is needed.
  loadPuppeteer().catch(() => undefined);
  parentPort.on("message", (message: ToThread) => main.receive(message));
}
