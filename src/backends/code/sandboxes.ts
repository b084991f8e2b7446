import { ToolyardError } from "../../core/errors.ts";
import type {
  Kernel,
  Language,
  RuntimeRequest,
  RuntimeSelector,
  SandboxExit,
  SandboxInstance,
  SandboxRuntime,
  SandboxSpec,
} from "../../core/runtime.ts";

/** A kernel of a session, with what callers are told of it. */
export interface OpenKernel {
  readonly name: string;
  readonly kernel: Kernel;
  readonly runtime: string;
  executionCount: number;
}

/** What the sandboxes of one session are chosen and made by. */
export interface SandboxesOptions {
  readonly selector: RuntimeSelector;
  readonly request: RuntimeRequest;
  readonly spec: SandboxSpec;
  readonly maxKernels: number;
}

/**
 * The sandboxes of one session: one, plus one more for each language that its runtime lacks and another one has.
 *
 * Once any of them dies the session is dead: its state is gone, and a silent replacement would hide that.
 */
export class SessionSandboxes {
  readonly #options: SandboxesOptions;
  readonly #places = new Map<string, { readonly runtime: SandboxRuntime; readonly instance: SandboxInstance }>();
  readonly #kernels = new Map<string, OpenKernel>();
  #death: SandboxExit | undefined;
  #stopped = false;

  private constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** Makes the first sandbox, in the first runtime that serves; what was made is stopped if the signal fires meanwhile. */
  static async open(options: SandboxesOptions, signal: AbortSignal): Promise<SessionSandboxes> {
    const sandboxes = new SessionSandboxes(options);
    const chosen = await options.selector.select(options.request, signal);
    await sandboxes.#create(chosen, signal);
    return sandboxes;
  }

  get kernels(): readonly OpenKernel[] {
    return [...this.#kernels.values()];
  }

  /** @throws ToolyardError `sandbox_dead` when one of the sandboxes has died. */
  assertAlive(): void {
    if (this.#death === undefined) return;
    throw new ToolyardError("sandbox_dead", `the session's sandbox is gone: ${this.#death.reason}`);
  }

  /** Returns the kernel of that name, and opens it on its first use. */
  async kernel(name: string, language: Language, signal: AbortSignal): Promise<OpenKernel> {
    this.assertAlive();
    const open = this.#kernels.get(name);
    if (open !== undefined) {
      if (open.kernel.language === language) return open;
      throw new ToolyardError("invalid_input", `kernel "${name}" runs ${open.kernel.language}, not ${language}`, {
        suggestion: "Use another name for another language.",
      });
    }
    if (this.#kernels.size >= this.#options.maxKernels) {
      throw new ToolyardError("limit_exceeded", `a session may have ${this.#options.maxKernels} kernels`, {
        details: { limit: "kernels" },
      });
    }
    const instance = await this.#instanceFor(language, signal);
    const kernel = await instance.openKernel(language, signal);
    const opened = { name, kernel, runtime: instance.runtime, executionCount: 0 };
    this.#kernels.set(name, opened);
    return opened;
  }

  /** Ends kernels, whose next use opens fresh ones; returns their names. */
  async restart(name: string | undefined): Promise<string[]> {
    this.assertAlive();
    const chosen = this.kernels.filter((open) => name === undefined || open.name === name);
    for (const open of chosen) this.#kernels.delete(open.name);
    await Promise.all(chosen.map((open) => open.kernel.stop()));
    return chosen.map((open) => open.name);
  }

  /** Stops every sandbox; idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#kernels.clear();
    await Promise.all([...this.#places.values()].map(({ instance }) => instance.stop()));
  }

  async #instanceFor(language: Language, signal: AbortSignal): Promise<SandboxInstance> {
    const { selector, request } = this.#options;
    for (const place of this.#places.values()) {
      // One after another on purpose: the first sandbox nearly always has the language.
      // oxlint-disable-next-line no-await-in-loop
      const { languages } = await place.runtime.check(signal);
      if (languages[language]?.available === true) return place.instance;
    }
    const chosen = await selector.select({ ...request, language }, signal);
    return this.#create(chosen, signal);
  }

  async #create(runtime: SandboxRuntime, signal: AbortSignal): Promise<SandboxInstance> {
    const instance = await runtime.create(this.#options.spec, signal);
    if (signal.aborted || this.#stopped) {
      await instance.stop();
      throw new ToolyardError("cancelled", "the sandbox was not needed any more when it was ready");
    }
    this.#places.set(runtime.name, { runtime, instance });
    void instance.closed.then((exit) => {
      if (!exit.expected) this.#death ??= exit;
    });
    return instance;
  }
}
