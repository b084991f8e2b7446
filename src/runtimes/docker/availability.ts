import type { Clock } from "../../core/clock.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { Language, RuntimeStatus } from "../../core/runtime.ts";
import { DEADLINES_MS, type EngineClient } from "./engine-client.ts";
import { describeFailure, ENGINE_REMEDY, EngineFailure } from "./engine-failure.ts";
import { type ImagePolicy, toImageRemedy } from "./image-policy.ts";
import type { ImageShelf } from "./image-shelf.ts";

// An engine that is there is looked at again before long, since every create asks it anyway.
const BELIEVED_MS = 5_000;
const MISSING_BELIEVED_MS = 2_000;

/** Whether the engine answers and has the default image, as last seen. */
export class EngineAvailability {
  readonly #engine: EngineClient;
  readonly #shelf: ImageShelf;
  readonly #policy: ImagePolicy;
  readonly #clock: Clock;
  readonly #ociRuntime: string | undefined;
  #looking: Promise<RuntimeStatus> | undefined;
  #seen: { readonly status: RuntimeStatus; readonly until: number } | undefined;

  constructor(options: {
    readonly engine: EngineClient;
    readonly shelf: ImageShelf;
    readonly policy: ImagePolicy;
    readonly clock: Clock;
    /** What containers are to be run by, which the engine must know. */
    readonly ociRuntime?: string;
  }) {
    this.#engine = options.engine;
    this.#shelf = options.shelf;
    this.#policy = options.policy;
    this.#clock = options.clock;
    this.#ociRuntime = options.ociRuntime;
  }

  /** Never throws; every step is bounded by the engine client, and one look serves all who ask meanwhile. */
  async check(_signal: AbortSignal): Promise<RuntimeStatus> {
    if (this.#seen !== undefined && this.#clock.now() < this.#seen.until) return this.#seen.status;
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    return this.#looking;
  }

  async #look(): Promise<RuntimeStatus> {
    const status = await this.#ask().catch((error: unknown) => toStatus(error));
    const believed = status.available ? BELIEVED_MS : MISSING_BELIEVED_MS;
    this.#seen = { status, until: this.#clock.now() + believed };
    return status;
  }

  async #ask(): Promise<RuntimeStatus> {
    const version = await this.#engine.version();
    if (!(await this.#knowsRuntime())) {
      const remedy = `Install it, name it under "runtimes" in the engine's daemon.json, and start the engine anew.`;
      return nothing(`the Docker Engine has no runtime "${this.#ociRuntime}"`, remedy, version);
    }
    const name = this.#policy.choose(undefined);
    const facts = await this.#shelf.find(name);
    if (facts === null) return nothing(`the Docker Engine has no image ${name}`, toImageRemedy(name), version);
    return { available: true, version, languages: facts.languages };
  }

  async #knowsRuntime(): Promise<boolean> {
    if (this.#ociRuntime === undefined) return true;
    const call = { what: "asking for the engine's runtimes", deadlineMs: DEADLINES_MS.look };
    const info: unknown = await this.#engine.call(call, (docker, abortSignal) => {
      // Its types do not know of the signal that it takes.
      const ask: (options: object) => Promise<unknown> = docker.info.bind(docker) as never;
      return ask({ abortSignal });
    });
    const runtimes: unknown = Reflect.get(Object(info), "Runtimes");
    // A containerd shim is named by its package, and needs no entry.
    return this.#ociRuntime.startsWith("io.containerd.") || Object.hasOwn(Object(runtimes), this.#ociRuntime);
  }
}

function toStatus(error: unknown): RuntimeStatus {
  if (error instanceof EngineFailure) return nothing(describeFailure(error), ENGINE_REMEDY);
  if (ToolyardError.is(error)) return nothing(error.message, error.suggestion);
  return nothing("the Docker Engine could not be looked at");
}

function nothing(reason: string, remedy?: string, version?: string): RuntimeStatus {
  const missing = { available: false, reason, ...(remedy !== undefined && { remedy }) };
  const languages: Record<Language, typeof missing> = { python: missing, javascript: missing, bash: missing };
  return { ...missing, ...(version !== undefined && { version }), languages };
}
