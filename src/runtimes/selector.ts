import type { Egress } from "../core/egress.ts";
import { ToolyardError } from "../core/errors.ts";
import {
  isolatesAtLeast,
  type Isolation,
  type Language,
  type RuntimeRequest,
  type RuntimeSelector,
  type RuntimeStatus,
  type SandboxLimits,
  type SandboxRuntime,
} from "../core/runtime.ts";
import { DockerRuntime, type DockerRuntimeOptions } from "./docker/runtime.ts";
import { LocalRuntime } from "./local/runtime.ts";
import { PooledRuntime } from "./pool/pooled-runtime.ts";
import type { PoolOptions } from "./pool/pool-options.ts";
import { QuickJsRuntime } from "./quickjs/runtime.ts";

/** The order of automatic choice: the strongest isolation that is likely to be there first. */
export const AUTOMATIC_ORDER: readonly string[] = ["docker", "local", "quickjs"];

/** How the runtimes are built. */
export interface SelectorOptions {
  /** Which runtimes `auto` considers, in order; `auto`, the default, is {@link AUTOMATIC_ORDER}. */
  readonly order?: "auto" | readonly string[];
  /** The docker runtime, which is there only where this is given. */
  readonly docker?: DockerRuntimeOptions;
  /** Defaults of every local sandbox, under what a session asks for. */
  readonly local?: { readonly limits?: SandboxLimits; readonly egress?: Egress };
  /** The same for QuickJS, and how many engines are kept started (1 by default). */
  readonly quickjs?: { readonly limits?: SandboxLimits; readonly spares?: number };
  /** By a runtime's name: how many of its sandboxes are kept started; none by default. */
  readonly pools?: Readonly<Record<string, PoolOptions | undefined>>;
  /** Further runtimes, or replacements of the built-in ones by name. */
  readonly runtimes?: readonly SandboxRuntime[];
}

/** Builds the selector over the built-in runtimes and those given; nothing is started or looked for yet. */
export function createRuntimeSelector(options: SelectorOptions = {}): RuntimeSelector {
  const builtIn: readonly SandboxRuntime[] = [
    ...(options.docker === undefined ? [] : [new DockerRuntime(options.docker)]),
    new LocalRuntime(options.local),
    new QuickJsRuntime(options.quickjs),
  ];
  const all = new Map<string, SandboxRuntime>();
  for (const runtime of [...builtIn, ...(options.runtimes ?? [])]) {
    const pool = options.pools?.[runtime.name];
    all.set(runtime.name, pool === undefined ? runtime : new PooledRuntime(runtime, pool));
  }
  const names = options.order === undefined || options.order === "auto" ? AUTOMATIC_ORDER : options.order;
  const order = names.flatMap((name) => all.get(name) ?? []);
  return new OrderedSelector(all, order);
}

class OrderedSelector implements RuntimeSelector {
  readonly names: readonly string[];
  readonly #all: ReadonlyMap<string, SandboxRuntime>;
  readonly #order: readonly SandboxRuntime[];

  constructor(all: ReadonlyMap<string, SandboxRuntime>, order: readonly SandboxRuntime[]) {
    this.#all = all;
    this.#order = order;
    this.names = [...new Set([...order.map(({ name }) => name), ...all.keys()])];
  }

  async select(request: RuntimeRequest, signal: AbortSignal): Promise<SandboxRuntime> {
    const name = request.runtime ?? "auto";
    const refusals: Refusal[] = [];
    for (const runtime of this.#candidates(name)) {
      // One after another on purpose: a later one is not even looked at when an earlier one serves.
      // oxlint-disable-next-line no-await-in-loop
      const refusal = await refuse(runtime, request, signal);
      if (refusal === null) return runtime;
      refusals.push(refusal);
    }
    const wanted = request.language === undefined ? "a sandbox" : request.language;
    const reasons = refusals.map((refusal) => `${refusal.runtime}: ${refusal.reason}`).join("; ");
    const remedy = refusals.find((refusal) => refusal.remedy !== undefined)?.remedy;
    throw new ToolyardError(
      "runtime_unavailable",
      `no runtime can run ${wanted} as asked (${reasons || "none is configured"})`,
      {
        details: { refusals },
        ...(remedy === undefined ? {} : { suggestion: `To get it: ${remedy}` }),
      },
    );
  }

  async status(signal: AbortSignal): Promise<Record<string, RuntimeStatus & { readonly isolation: Isolation }>> {
    const found = await Promise.all(
      this.names
        .flatMap((name) => this.#all.get(name) ?? [])
        .map(async (runtime) => {
          const status = await runtime.check(signal);
          return [runtime.name, { ...status, isolation: runtime.isolation }] as const;
        }),
    );
    return Object.fromEntries(found);
  }

  get(name: string): SandboxRuntime | undefined {
    return this.#all.get(name);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all.values()].map((runtime) => runtime.close?.()));
  }

  #candidates(name: string): readonly SandboxRuntime[] {
    if (name === "auto") return this.#order;
    const runtime = this.#all.get(name);
    if (runtime === undefined) {
      throw new ToolyardError("invalid_input", `there is no runtime "${name}"; there are ${this.names.join(", ")}`);
    }
    return [runtime];
  }
}

interface Refusal {
  readonly runtime: string;
  readonly reason: string;
  readonly remedy?: string;
}

async function refuse(
  runtime: SandboxRuntime,
  { minIsolation, language }: RuntimeRequest,
  signal: AbortSignal,
): Promise<Refusal | null> {
  const { name, isolation } = runtime;
  if (minIsolation !== undefined && !isolatesAtLeast(isolation, minIsolation)) {
    return { runtime: name, reason: `its isolation is "${isolation}", less than "${minIsolation}"` };
  }
  const status = await runtime.check(signal);
  if (!status.available) return toRefusal(name, status);
  const engine = language === undefined ? status : (status.languages[language] ?? missing(language));
  return engine.available ? null : toRefusal(name, engine);
}

function toRefusal(runtime: string, { reason, remedy }: { reason?: string; remedy?: string }): Refusal {
  return { runtime, reason: reason ?? "not available", ...(remedy === undefined ? {} : { remedy }) };
}

const missing = (language: Language) => ({ available: false, reason: `it has no ${language}` });
