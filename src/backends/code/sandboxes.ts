import { ToolyardError } from "../../core/errors.ts";
import type {
  Kernel,
  Language,
  SandboxExit,
  SandboxInstance,
  SandboxRuntime,
  SandboxSpec,
} from "../../core/runtime.ts";
import type { SandboxAbility } from "../../core/sandbox-ability.ts";
import { type Able, requireAbility } from "./ability.ts";
import type { SandboxesOptions, SandboxHandle } from "./sandboxes-options.ts";
import { Turn } from "./turn.ts";

/** A kernel of a session, with what callers are told of it. */
export interface OpenKernel {
  readonly name: string;
  readonly kernel: Kernel;
  readonly runtime: string;
  executionCount: number;
}

interface NamedKernel {
  readonly language: Language;
  readonly opening: Promise<OpenKernel>;
  readonly turn: Turn;
  open?: OpenKernel;
}

/**
 * The sandboxes of one session: its box, which all tools share, plus one more for each language that the box's runtime lacks
 * and another one has.
 *
 * Once any of them dies the session is dead: its state is gone, and a silent replacement would hide that.
 */
export class SessionSandboxes {
  readonly #options: SandboxesOptions;
  readonly #places = new Map<string, { readonly runtime: SandboxRuntime; readonly instance: SandboxInstance }>();
  readonly #placing = new Turn();
  readonly #kernels = new Map<string, NamedKernel>();
  readonly #ending = new Map<string, Promise<void>>();
  #death: SandboxExit | undefined;
  #paused = false;
  #stopped = false;

  private constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** Makes the box, in the first runtime that serves; what was made is stopped if the signal fires meanwhile. */
  static async open(options: SandboxesOptions, signal: AbortSignal): Promise<SessionSandboxes> {
    const sandboxes = new SessionSandboxes(options);
    const chosen = await options.selector.select(options.request, signal);
    await sandboxes.#create(chosen, signal);
    return sandboxes;
  }

  /** Takes up the box that an earlier process left; `null` when it is gone. */
  static async adopt(
    options: SandboxesOptions,
    handle: SandboxHandle,
    signal: AbortSignal,
  ): Promise<SessionSandboxes | null> {
    const runtime = options.selector.get?.(handle.runtime);
    const instance = await runtime?.adopt?.(handle.handle, signal);
    if (runtime === undefined || instance === undefined || instance === null) return null;
    const sandboxes = new SessionSandboxes(options);
    sandboxes.#place(runtime, instance);
    const { kernels = [], paused = false } = instance.found ?? {};
    const taken = kernels
      .slice(0, options.maxKernels)
      .map((kernel) => sandboxes.#named(kernel.name, kernel.language, signal));
    await Promise.allSettled(taken.map(({ opening }) => opening));
    sandboxes.#paused = paused;
    return sandboxes;
  }

  /** Of the box, where its runtime can find it again. */
  get handle(): SandboxHandle | null {
    const { runtime, handle } = this.box;
    return handle === undefined ? null : { runtime, handle };
  }

  /** The one that commands, files and ports belong to. */
  get box(): SandboxInstance {
    const [first] = this.#places.values();
    if (first === undefined) throw new ToolyardError("sandbox_dead", "the session has no sandbox");
    return first.instance;
  }

  get spec(): SandboxSpec {
    return this.#options.spec;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Those that are open, in the order of their opening, and whether something runs or waits in each. */
  get kernels(): readonly (OpenKernel & { readonly busy: boolean })[] {
    return [...this.#kernels.values()].flatMap(({ open, turn }) =>
      open === undefined ? [] : [{ ...open, busy: turn.busy }],
    );
  }

  /** @throws ToolyardError `sandbox_dead` when one of the sandboxes has died. */
  assertAlive(): void {
    if (this.#death === undefined) return;
    throw new ToolyardError("sandbox_dead", `the session's sandbox is gone: ${this.#death.reason}`);
  }

  /**
   * The box, when it can do this.
   *
   * @throws ToolyardError `runtime_unavailable` when it cannot; `conflict` while it is paused; `sandbox_dead`.
   */
  able<A extends SandboxAbility>(ability: A): Able<A> {
    this.#assertUsable();
    return requireAbility(this.box, ability, this.#options.selector);
  }

  /** Takes the turn on the kernel of that name, which is opened on its first use. */
  async use<T>(
    name: string,
    language: Language,
    signal: AbortSignal,
    work: (open: OpenKernel) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      this.#assertUsable();
      const named = this.#named(name, language, signal);
      // One at a time; a restart while this waited leaves a kernel that is not the name's any more.
      // oxlint-disable-next-line no-await-in-loop
      const done = await named.turn.run(signal, async () => {
        if (this.#kernels.get(name) !== named) return undefined;
        return { value: await work(await named.opening) };
      });
      if (done !== undefined) return done.value;
    }
  }

  /** Takes the turn on every open kernel, so that no code of theirs runs meanwhile. */
  async quiet<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.#assertUsable();
    const turns = [...this.#kernels.values()].map(({ turn }) => turn);
    const enter = (index: number): Promise<T> => turns[index]?.run(signal, () => enter(index + 1)) ?? work();
    return enter(0);
  }

  /** Interrupts what runs; returns the names of the kernels that something ran in. */
  interrupt(name: string | undefined): string[] {
    this.#assertUsable();
    return this.#chosen(name).flatMap(([key, { open, turn }]) => {
      if (open === undefined || !turn.busy) return [];
      open.kernel.interrupt();
      return [key];
    });
  }

  /** Ends kernels, whose next use opens fresh ones; returns their names. */
  async restart(name: string | undefined): Promise<string[]> {
    this.#assertUsable();
    const chosen = this.#chosen(name);
    await Promise.all(chosen.map(([key, { opening }]) => this.#end(key, opening)));
    return chosen.map(([key]) => key);
  }

  /** Brings every sandbox back to fresh, the kernels gone. */
  async reset(signal: AbortSignal): Promise<void> {
    const { selector } = this.#options;
    this.#assertUsable();
    const able = [...this.#places.values()].map(({ instance }) => requireAbility(instance, "reset", selector));
    this.#kernels.clear();
    await Promise.all(able.map((instance) => instance.reset(signal)));
  }

  async pause(signal: AbortSignal): Promise<void> {
    this.assertAlive();
    const box = requireAbility(this.box, "pause", this.#options.selector);
    // Before it is: what comes meanwhile would hang in a box that is frozen.
    this.#paused = true;
    await box.pause(signal).catch((error: unknown) => {
      this.#paused = false;
      throw error;
    });
  }

  async resume(signal: AbortSignal): Promise<void> {
    this.assertAlive();
    await requireAbility(this.box, "resume", this.#options.selector).resume(signal);
    this.#paused = false;
  }

  /** Stops every sandbox; idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#kernels.clear();
    await Promise.all([...this.#places.values()].map(({ instance }) => instance.stop()));
  }

  #assertUsable(): void {
    this.assertAlive();
    if (!this.#paused) return;
    throw new ToolyardError("conflict", "the session's sandbox is paused", {
      suggestion: "Call sandbox:resume first.",
    });
  }

  #chosen(name: string | undefined): [string, NamedKernel][] {
    return [...this.#kernels].filter(([key]) => name === undefined || key === name);
  }

  #named(name: string, language: Language, signal: AbortSignal): NamedKernel {
    const known = this.#kernels.get(name);
    if (known !== undefined) {
      if (known.language === language) return known;
      throw new ToolyardError("invalid_input", `kernel "${name}" runs ${known.language}, not ${language}`, {
        suggestion: "Use another name for another language.",
      });
    }
    if (this.#kernels.size >= this.#options.maxKernels) {
      throw new ToolyardError("limit_exceeded", `a session may have ${this.#options.maxKernels} kernels`, {
        details: { limit: "kernels" },
      });
    }
    const named: NamedKernel = { language, turn: new Turn(), opening: this.#open(name, language, signal) };
    this.#kernels.set(name, named);
    named.opening.then(
      (open) => (named.open = open),
      () => this.#kernels.get(name) === named && this.#kernels.delete(name),
    );
    return named;
  }

  /** Lets the name go at once; who opens it anew waits for the end of the old one. */
  async #end(name: string, opening: Promise<OpenKernel>): Promise<void> {
    this.#kernels.delete(name);
    const ended = opening.then(
      ({ kernel }) => kernel.stop(),
      () => undefined,
    );
    this.#ending.set(name, ended);
    await ended.finally(() => this.#ending.get(name) === ended && this.#ending.delete(name));
  }

  async #open(name: string, language: Language, signal: AbortSignal): Promise<OpenKernel> {
    await this.#ending.get(name);
    return this.#placing.run(signal, async () => {
      const { kernel, runtime } = await this.#openSomewhere(name, language, signal);
      return { name, kernel, runtime, executionCount: 0 };
    });
  }

  /** Opens it in the first sandbox that has the language, or else in a new one of a runtime that has it. */
  async #openSomewhere(
    name: string,
    language: Language,
    signal: AbortSignal,
  ): Promise<{ readonly kernel: Kernel; readonly runtime: string }> {
    const { selector, request } = this.#options;
    let refusal: ToolyardError | undefined;
    // The sandboxes themselves are asked, not their runtimes: one that lives serves whatever has become of its engine.
    for (const { instance } of this.#places.values()) {
      try {
        // One after another on purpose: the first sandbox nearly always has the language.
        // oxlint-disable-next-line no-await-in-loop
        return { kernel: await instance.openKernel(language, signal, { name }), runtime: instance.runtime };
      } catch (error) {
        if (!ToolyardError.is(error) || error.error !== "runtime_unavailable") throw error;
        refusal ??= error;
      }
    }
    const chosen = await selector.select({ ...request, language }, signal);
    // Its sandboxes have it as a rule, but the one of this session does not: another of the same image would not either.
    if (refusal !== undefined && this.#places.has(chosen.name)) throw refusal;
    const instance = await this.#create(chosen, signal);
    return { kernel: await instance.openKernel(language, signal, { name }), runtime: instance.runtime };
  }

  async #create(runtime: SandboxRuntime, signal: AbortSignal): Promise<SandboxInstance> {
    const instance = await runtime.create(this.#options.spec, signal);
    if (signal.aborted || this.#stopped) {
      await instance.stop();
      throw new ToolyardError("cancelled", "the sandbox was not needed any more when it was ready");
    }
    this.#place(runtime, instance);
    return instance;
  }

  #place(runtime: SandboxRuntime, instance: SandboxInstance): void {
    this.#places.set(runtime.name, { runtime, instance });
    void instance.closed.then((exit) => {
      if (!exit.expected) this.#death ??= exit;
    });
  }
}
