import type { RuntimeStatus, SandboxInstance, SandboxLimits, SandboxRuntime, SandboxSpec } from "../../core/runtime.ts";
import { mergeLimits } from "../kernel/limits.ts";
import { QuickJsInstance } from "./instance.ts";
import { SpareEngines } from "./spares.ts";

const DEFAULTS: SandboxLimits = { memoryMiB: 64 };
const ELSEWHERE = {
  available: false,
  reason: "QuickJS runs JavaScript only",
  remedy: "apt-get install bubblewrap python3",
};
const STATUS: RuntimeStatus = {
  available: true,
  languages: { javascript: { available: true, version: "QuickJS" }, python: ELSEWHERE, bash: ELSEWHERE },
};

/** Runs JavaScript in QuickJS, compiled to WebAssembly, in killable child processes; it needs nothing but Node. */
export class QuickJsRuntime implements SandboxRuntime {
  readonly name = "quickjs";
  readonly isolation = "wasm";
  readonly #limits: SandboxLimits;
  readonly #spares: SpareEngines;
  readonly #instances = new Set<QuickJsInstance>();

  /** `spares` engines (1 by default) are kept started from the first `warmup` or `create` on. */
  constructor(options: { readonly limits?: SandboxLimits; readonly spares?: number } = {}) {
    this.#limits = { ...DEFAULTS, ...options.limits };
    this.#spares = new SpareEngines(options.spares ?? 1);
  }

  check(_signal: AbortSignal): Promise<RuntimeStatus> {
    return Promise.resolve(STATUS);
  }

  create(spec: SandboxSpec, _signal: AbortSignal): Promise<SandboxInstance> {
    const instance = new QuickJsInstance(mergeLimits(spec.limits, this.#limits), () => this.#spares.claim());
    this.#instances.add(instance);
    void instance.closed.then(() => this.#instances.delete(instance));
    return Promise.resolve(instance);
  }

  warmup(_signal: AbortSignal): Promise<void> {
    this.#spares.fill();
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#spares.close();
    await Promise.all([...this.#instances].map((instance) => instance.stop()));
  }
}
