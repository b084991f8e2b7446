import { Worker } from "node:worker_threads";
import type { GuestError } from "../../core/runtime.ts";

const STRIP_MS = 10_000;

/** JavaScript with every line where it was, or what is wrong with the TypeScript. */
export type Stripped = { readonly code: string } | { readonly error: GuestError };

// In a thread of its own: hostile code may keep a parser busy for long, or make it fail.
const WORKER = `
import { stripTypeScriptTypes } from "node:module";
import { parentPort } from "node:worker_threads";
process.removeAllListeners("warning");
parentPort.on("message", ({ id, code }) => {
  try {
    parentPort.postMessage({ id, code: stripTypeScriptTypes(code) });
  } catch ({ message, stack, code: name }) {
    // Node puts the line before the stack.
    parentPort.postMessage({ id, message, name, place: String(stack).split("\\n\\n")[0] });
  }
});`;

interface Failure {
  readonly id: number;
  readonly message: string;
  readonly name?: string;
  readonly place: string;
}

let stripper: Stripper | undefined;

/**
 * Takes the types out of TypeScript here, since the sandbox's own Node may be too old to know how. Syntax that is more than
 * types (an enum, say) is an error, as it is to Node.
 */
export function stripTypes(code: string): Promise<Stripped> {
  stripper ??= new Stripper(() => {
    stripper = undefined;
  });
  return stripper.strip(code);
}

/** One worker and what it was asked; gone, with an answer for each, when it fails or is too slow. */
class Stripper {
  readonly #worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(WORKER)}`));
  readonly #waiting = new Map<number, (stripped: Stripped) => void>();
  readonly #onGone: () => void;
  #nextId = 1;

  constructor(onGone: () => void) {
    this.#onGone = onGone;
    this.#worker.on("message", (answer: { id: number; code: string } | Failure) => this.#settle(answer));
    this.#worker.on("error", () => this.#end("the parser failed"));
    this.#worker.on("exit", () => this.#end("the parser ended"));
    // It must not keep the process alive. Last, since listening refers to it again.
    this.#worker.unref();
  }

  strip(code: string): Promise<Stripped> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end("the code took too long to parse"), STRIP_MS);
      this.#waiting.set(id, (stripped) => {
        clearTimeout(timer);
        resolve(stripped);
      });
      this.#worker.postMessage({ id, code });
    });
  }

  #settle(answer: { id: number; code: string } | Failure): void {
    const resolve = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("code" in answer) {
      resolve?.({ code: answer.code });
      return;
    }
    // After a trap the engine's memory is not to be relied on.
    const broken = answer.name === "ERR_INTERNAL_ASSERTION";
    resolve?.({ error: broken ? toError("the code is nested too deeply to be parsed", "") : toSyntaxError(answer) });
    if (broken) this.#end("the parser failed");
  }

  #end(reason: string): void {
    this.#onGone();
    void this.#worker.terminate();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const resolve of waiting) resolve({ error: toError(reason, "") });
  }
}

function toSyntaxError({ message, place }: Failure): GuestError {
  const [, number, excerpt] = /^:(\d+)\n([\s\S]*)$/.exec(place) ?? [];
  if (number === undefined || excerpt === undefined) return toError(message, "");
  return { ...toError(message, `cell.ts:${number}\n${excerpt}\n\n`), line: Number(number) };
}

function toError(message: string, before: string): GuestError {
  return { name: "SyntaxError", message, traceback: `${before}SyntaxError: ${message}` };
}
