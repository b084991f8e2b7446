import { type Clock, systemClock } from "../../core/clock.ts";
import type { Isolation, RuntimeStatus, SandboxInstance, SandboxRuntime, SandboxSpec } from "../../core/runtime.ts";
import { lease } from "./leased-instance.ts";
import type { PoolOptions } from "./pool-options.ts";
import { WarmPool } from "./warm-pool.ts";

/**
 * Another runtime whose sandboxes are kept ready, so that most creations are claims from memory.
 *
 * What the pool cannot give is made on demand, with the errors of the runtime itself.
 */
export class PooledRuntime implements SandboxRuntime {
  readonly name: string;
  readonly isolation: Isolation;
  declare readonly abilities?: NonNullable<SandboxRuntime["abilities"]>;
  declare readonly adopt?: NonNullable<SandboxRuntime["adopt"]>;
  declare readonly reap?: NonNullable<SandboxRuntime["reap"]>;
  readonly #inner: SandboxRuntime;
  readonly #pool: WarmPool;
  readonly #reuse: boolean;

  constructor(inner: SandboxRuntime, options: PoolOptions, clock: Clock = systemClock) {
    this.#inner = inner;
    this.name = inner.name;
    this.isolation = inner.isolation;
    this.#reuse = options.reuse ?? false;
    this.#pool = new WarmPool((spec, signal) => inner.create(spec, signal), options, clock);
    if (inner.abilities !== undefined) this.abilities = inner.abilities;
    if (inner.adopt !== undefined) this.adopt = inner.adopt.bind(inner);
    if (inner.reap !== undefined) this.reap = inner.reap.bind(inner);
  }

  async check(signal: AbortSignal): Promise<RuntimeStatus> {
    return { ...(await this.#inner.check(signal)), pool: this.#pool.report };
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxInstance> {
    const member = await this.#pool.claim(spec, signal);
    if (member === undefined) return this.#pool.onDemand(() => this.#inner.create(spec, signal));
    return this.#reuse ? lease(member.instance, () => this.#pool.giveBack(spec, member)) : member.instance;
  }

  /** Starts to fill the pool, with what is usual where that is told, and does not wait for it. */
  async warmup(signal: AbortSignal, usual?: readonly SandboxSpec[]): Promise<void> {
    await this.#inner.warmup?.(signal, usual);
    for (const spec of usual ?? []) this.#pool.hold(spec);
    this.#pool.fill();
  }

  async close(): Promise<void> {
    await this.#pool.close();
    await this.#inner.close?.();
  }
}
