import type { QuickJSContext, QuickJSHandle, QuickJSRuntime, QuickJSWASMModule } from "quickjs-emscripten-core";
import type { GuestError } from "../../core/runtime.ts";
import { clip } from "./clip.ts";
import { PRELUDE } from "./prelude.ts";

// QuickJS's own flags: top-level await, and stacks that end at the cell.
const EVAL_ASYNC = 1 << 7;
const EVAL_BACKTRACE_BARRIER = 1 << 6;
// With Node's --stack-size in child.ts QuickJS meets its own limit before V8 meets its.
const STACK_BYTES = 256 * 1024;
const JOBS_AT_ONCE = 1000;

/** What the guest asks of its host. */
export interface GuestHost {
  write(stream: "stdout" | "stderr", text: string): void;
  /** Returns the call's index, or -1 when the arguments cannot be sent. */
  call(tool: string, argsJson: string): number;
  startTimer(delayMs: number): number;
  stopTimer(id: number): void;
}

/** What a cell came to. */
export type CellOutcome =
  | { readonly status: "fulfilled"; readonly json: string | null; readonly text: string | null }
  | { readonly status: "rejected"; readonly error: GuestError };

/** Where a started cell stands: `ready` has jobs to run, `waiting` depends on calls and timers. */
export type CellState = CellOutcome | { readonly status: "ready" } | { readonly status: "waiting" };

/** One QuickJS context with its persistent globals. Every method may run user code and ends at the deadline. */
export class Guest {
  /** `Date.now()` at which user code is interrupted. */
  deadline = Number.POSITIVE_INFINITY;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #hooks: QuickJSHandle;
  #promise: QuickJSHandle | undefined;

  constructor(engine: QuickJSWASMModule, host: GuestHost) {
    this.#runtime = engine.newRuntime();
    this.#runtime.setMaxStackSize(STACK_BYTES);
    this.#runtime.setInterruptHandler(() => Date.now() >= this.deadline);
    this.#context = this.#runtime.newContext();
    this.#hooks = this.#install(host);
  }

  limitMemory(memoryMiB: number): void {
    this.#runtime.setMemoryLimit(memoryMiB * 1024 * 1024);
  }

  get hasJobs(): boolean {
    return this.#runtime.hasPendingJob();
  }

  /** Starts a cell; `callsInFlight` bounds what it may ask of the host at once. */
  begin(code: string, fileName: string, callsInFlight: number): CellState {
    this.#promise?.dispose();
    this.#promise = undefined;
    this.#hook("begin", callsInFlight);
    const result = this.#context.evalCode(code, fileName, EVAL_ASYNC | EVAL_BACKTRACE_BARRIER);
    if (result.error) return this.#reject(result.error, fileName);
    this.#promise = result.value;
    return this.pump(fileName);
  }

  /** Runs some of the jobs that wait and tells where the cell stands. */
  pump(fileName: string): CellState {
    const jobs = this.#runtime.executePendingJobs(JOBS_AT_ONCE);
    jobs.error?.dispose();
    if (this.#promise === undefined) return { status: "waiting" };
    const state = this.#context.getPromiseState(this.#promise);
    if (state.type === "pending") return this.hasJobs ? { status: "ready" } : { status: "waiting" };
    if (state.type === "rejected") return this.#reject(state.error, fileName);
    return this.#fulfil(state.value);
  }

  settle(index: number, ok: boolean, json: string): void {
    this.#hook("settle", index, ok, json);
  }

  fire(timer: number): void {
    this.#hook("fire", timer);
  }

  #fulfil(result: QuickJSHandle): CellOutcome {
    const value = this.#context.getProp(result, "value");
    result.dispose();
    const nothing = this.#context.typeof(value) === "undefined";
    const text = nothing ? null : this.#tell("print", value);
    const json = nothing ? null : this.#tell("json", value);
    value.dispose();
    return { status: "fulfilled", json, text };
  }

  #reject(error: QuickJSHandle, fileName: string): CellOutcome {
    const told = this.#tell("describe", error);
    error.dispose();
    const { name, message, stack, line } = parseDescription(told);
    const at = new RegExp(`${fileName.replaceAll(".", "\\.")}:(\\d+)`).exec(stack)?.[1];
    const found = at === undefined ? line : Number(at);
    return {
      status: "rejected",
      error: {
        name,
        message,
        // User code may have written any number there, and the host takes integers only.
        ...(found === null || !Number.isSafeInteger(found) ? {} : { line: found }),
        traceback: `${name}: ${message}\n${stack}`.trimEnd(),
      },
    };
  }

  /** Calls a hook on a value; `null` when user code broke it or ran out of time or memory in it. */
  #tell(hook: string, value: QuickJSHandle): string | null {
    const run = this.#context.getProp(this.#hooks, hook);
    const result = this.#context.callFunction(run, this.#context.undefined, value);
    run.dispose();
    if (result.error) {
      result.error.dispose();
      return null;
    }
    const told = this.#context.typeof(result.value) === "string" ? this.#context.getString(result.value) : null;
    result.value.dispose();
    return told;
  }

  #hook(hook: string, ...args: readonly (number | boolean | string)[]): void {
    const context = this.#context;
    const run = context.getProp(this.#hooks, hook);
    const handles = args.map((value) => {
      if (typeof value === "number") return context.newNumber(value);
      if (typeof value === "string") return context.newString(value);
      return value ? context.true : context.false;
    });
    const result = context.callFunction(run, context.undefined, ...handles);
    for (const handle of [run, ...handles]) handle.dispose();
    if (result.error) {
      result.error.dispose();
      return;
    }
    result.value.dispose();
  }

  #install(host: GuestHost): QuickJSHandle {
    const context = this.#context;
    const primitives = [
      context.newFunction("write", (stream, text) => {
        host.write(context.getNumber(stream) === 1 ? "stdout" : "stderr", context.getString(text));
      }),
      context.newFunction("call", (tool, args) =>
        context.newNumber(host.call(context.getString(tool), context.getString(args))),
      ),
      context.newFunction("startTimer", (delay) => context.newNumber(host.startTimer(context.getNumber(delay)))),
      context.newFunction("stopTimer", (id) => host.stopTimer(context.getNumber(id))),
    ];
    const prelude = context.unwrapResult(context.evalCode(PRELUDE, "prelude.js"));
    const hooks = context.unwrapResult(context.callFunction(prelude, context.undefined, ...primitives));
    for (const handle of [prelude, ...primitives]) handle.dispose();
    return hooks;
  }
}

function parseDescription(told: string | null): {
  name: string;
  message: string;
  stack: string;
  line: number | null;
} {
  // The prelude wrote it, but in a realm that user code may have bent: neither types nor lengths can be relied on.
  const facts: Readonly<Record<string, unknown>> = told === null ? {} : JSON.parse(told);
  return {
    name: typeof facts["name"] === "string" ? clip(facts["name"]) : "Error",
    message: typeof facts["message"] === "string" ? clip(facts["message"]) : "the error could not be read",
    stack: typeof facts["stack"] === "string" ? clip(facts["stack"]) : "",
    line: typeof facts["line"] === "number" ? facts["line"] : null,
  };
}
