import { ToolyardError } from "../../core/errors.ts";
import type {
  Execution,
  ExecutionHooks,
  ExecutionRequest,
  Isolation,
  Kernel,
  Language,
  RuntimeStatus,
  SandboxExit,
  SandboxInstance,
  SandboxRuntime,
  SandboxSpec,
} from "../../core/runtime.ts";

/** Where a fault can be placed. */
export type FakeStep = "check" | "create" | "adopt" | "openKernel" | "run" | "ping" | "reset" | "stop";

/** What happened, in order. */
export interface FakeRecord {
  readonly step: FakeStep | "killed";
  readonly sandbox?: string;
  readonly language?: Language;
  readonly code?: string;
  readonly kernel?: string;
}

/** Plays one execution; what it leaves out is that of an empty success. */
export type FakeScript = (
  request: ExecutionRequest,
  hooks: ExecutionHooks,
  language: Language,
) => Partial<Execution> | Promise<Partial<Execution>>;

/** How a fake runtime behaves. */
export interface FakeOptions {
  /** `fake` by default. */
  readonly name?: string;
  /** `none` by default. */
  readonly isolation?: Isolation;
  /** All by default. */
  readonly languages?: readonly Language[];
  /** Whether sandboxes outlive whoever made them, to be adopted or reaped; not by default. */
  readonly adoptable?: boolean;
  /** Makes `check` answer with this in place of "available". */
  readonly status?: RuntimeStatus;
  readonly script?: FakeScript;
}

/** Captures text as if user code had written it. */
export function toCaptured(text: string): Execution["stdout"] {
  return { text, bytes: Buffer.byteLength(text), truncated: false };
}

/** A runtime that runs nothing: it plays scripts, injects faults and remembers what was asked of it. */
export class FakeRuntime implements SandboxRuntime {
  readonly name: string;
  readonly isolation: Isolation;
  readonly records: FakeRecord[] = [];
  readonly instances: FakeInstance[] = [];
  script: FakeScript;
  declare readonly adopt?: NonNullable<SandboxRuntime["adopt"]>;
  declare readonly reap?: NonNullable<SandboxRuntime["reap"]>;
  readonly adopted = new Set<FakeInstance>();
  readonly #status: RuntimeStatus;
  readonly #faults = new Map<FakeStep, (() => Promise<void>)[]>();

  constructor(options: FakeOptions = {}) {
    this.name = options.name ?? "fake";
    this.isolation = options.isolation ?? "none";
    this.script = options.script ?? (() => ({}));
    if (options.adoptable === true) {
      this.adopt = (handle, signal) => this.#adopt(handle, signal);
      this.reap = () => this.#reap();
    }
    const languages = options.languages ?? ["javascript", "python", "bash"];
    this.#status = options.status ?? {
      available: true,
      languages: Object.fromEntries(languages.map((language) => [language, { available: true }])),
    };
  }

  /** Makes the next `step` throw this error; calls queue up. */
  failNext(step: FakeStep, error: Error): void {
    this.#queue(step, () => Promise.reject(error));
  }

  /** Makes the next `step` wait for a promise, or for its abort signal. */
  holdNext(step: FakeStep, until: Promise<void>): void {
    this.#queue(step, () => until);
  }

  async check(signal: AbortSignal): Promise<RuntimeStatus> {
    await this.enter({ step: "check" }, signal);
    return this.#status;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxInstance> {
    await this.enter({ step: "create" }, signal);
    const instance = new FakeInstance(this, this.#status, `fake_${this.instances.length + 1}`, spec);
    this.instances.push(instance);
    return instance;
  }

  async #adopt(handle: unknown, signal: AbortSignal): Promise<SandboxInstance | null> {
    await this.enter({ step: "adopt" }, signal);
    const found = this.instances.find((instance) => instance.id === handle && !instance.isDead);
    if (found !== undefined) this.adopted.add(found);
    return found ?? null;
  }

  async #reap(): Promise<number> {
    const left = this.instances.filter((instance) => !instance.isDead && !this.adopted.has(instance));
    await Promise.all(left.map((instance) => instance.stop()));
    return left.length;
  }

  async close(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.stop()));
  }

  /** Records a step and plays the fault that was placed for it. */
  async enter(record: FakeRecord, signal: AbortSignal): Promise<void> {
    this.records.push(record);
    const fault = record.step === "killed" ? undefined : this.#faults.get(record.step)?.shift();
    if (fault !== undefined) await Promise.race([fault(), aborted(signal)]);
    if (signal.aborted) throw new ToolyardError("cancelled", `${record.step} was cancelled`);
  }

  #queue(step: FakeStep, fault: () => Promise<void>): void {
    const faults = this.#faults.get(step) ?? [];
    faults.push(fault);
    this.#faults.set(step, faults);
  }
}

/** A sandbox of the fake runtime; tests may `die` it. */
export class FakeInstance implements SandboxInstance {
  readonly id: string;
  readonly runtime: string;
  readonly isolation: Isolation;
  declare readonly handle?: string;
  readonly spec: SandboxSpec;
  readonly closed: Promise<SandboxExit>;
  readonly #owner: FakeRuntime;
  readonly #status: RuntimeStatus;
  readonly #end = new AbortController();
  #close: (exit: SandboxExit) => void = () => {};

  constructor(owner: FakeRuntime, status: RuntimeStatus, id: string, spec: SandboxSpec) {
    this.#owner = owner;
    this.#status = status;
    this.id = id;
    this.runtime = owner.name;
    this.isolation = owner.isolation;
    if (owner.adopt !== undefined) this.handle = id;
    this.spec = spec;
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  get isDead(): boolean {
    return this.#end.signal.aborted;
  }

  async openKernel(
    language: Language,
    signal: AbortSignal,
    { name: kernel }: { readonly name?: string } = {},
  ): Promise<Kernel> {
    const record = { step: "openKernel", sandbox: this.id, language } as const;
    await this.#owner.enter(kernel === undefined ? record : { ...record, kernel }, signal);
    const engine = this.#status.languages[language];
    if (engine?.available !== true) {
      throw new ToolyardError("runtime_unavailable", `${language} cannot run here: ${engine?.reason ?? "no engine"}`, {
        ...(engine?.remedy === undefined ? {} : { suggestion: engine.remedy }),
      });
    }
    let running = new AbortController();
    return {
      language,
      run: (request, hooks) => {
        running = new AbortController();
        return this.#run(language, request, hooks, running.signal);
      },
      interrupt: () => running.abort(),
      stop: async () => running.abort(),
    };
  }

  /** Dies as if its process had crashed: what runs in it fails with `sandbox_dead`. */
  die(reason: string): void {
    this.#owner.records.push({ step: "killed", sandbox: this.id });
    this.#close({ reason, expected: false, exitCode: null, signal: "SIGKILL" });
    this.#end.abort();
  }

  async ping(signal: AbortSignal): Promise<boolean> {
    await this.#owner.enter({ step: "ping", sandbox: this.id }, signal);
    return !this.isDead;
  }

  async reset(signal: AbortSignal): Promise<void> {
    await this.#owner.enter({ step: "reset", sandbox: this.id }, signal);
  }

  async stop(): Promise<void> {
    if (this.isDead) return;
    this.#end.abort();
    await this.#owner.enter({ step: "stop", sandbox: this.id }, new AbortController().signal);
    this.#close({ reason: "it was stopped", expected: true, exitCode: null, signal: null });
  }

  async #run(
    language: Language,
    request: ExecutionRequest,
    hooks: ExecutionHooks,
    interrupted: AbortSignal,
  ): Promise<Execution> {
    const dead = () => new ToolyardError("sandbox_dead", "the sandbox died", { details: { stdout: "", stderr: "" } });
    if (this.isDead) throw dead();
    const cancel = AbortSignal.any([hooks.signal, interrupted]);
    const started = performance.now();
    const work = (async (): Promise<Partial<Execution>> => {
      await this.#owner.enter({ step: "run", sandbox: this.id, language, code: request.code }, this.#end.signal);
      return this.#owner.script(request, hooks, language);
    })();
    const played = await Promise.race([
      work,
      aborted(cancel).then((): Partial<Execution> => ({ status: "cancelled" })),
      aborted(this.#end.signal).then(() => Promise.reject(dead())),
      expired(request.deadlineMs, cancel).then((): Partial<Execution> => ({ status: "timeout", stateLost: true })),
    ]);
    return { ...EMPTY, durationMs: performance.now() - started, ...played };
  }
}

const EMPTY: Execution = {
  status: "ok",
  stdout: toCaptured(""),
  stderr: toCaptured(""),
  value: null,
  text: null,
  valueTruncated: false,
  lossy: [],
  displays: [],
  displaysOmitted: 0,
  error: null,
  limit: null,
  exitCode: null,
  signal: null,
  stateLost: false,
  durationMs: 0,
};

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function expired(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    timer.unref();
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}
