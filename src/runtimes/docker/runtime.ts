import { type Clock, systemClock } from "../../core/clock.ts";
import type { Logger } from "../../core/context.ts";
import type { Egress } from "../../core/egress.ts";
import { ToolyardError } from "../../core/errors.ts";
import type { RuntimeStatus, SandboxInstance, SandboxLimits, SandboxRuntime, SandboxSpec } from "../../core/runtime.ts";
import type { SandboxAbility } from "../../core/sandbox-ability.ts";
import { openDoor } from "../kernel/egress-door.ts";
import { mergeLimits } from "../kernel/limits.ts";
import { StartGate } from "../kernel/start-gate.ts";
import { SUPERVISED_ABILITIES } from "../kernel/supervised-instance.ts";
import { adopt } from "./adoption.ts";
import { EngineAvailability } from "./availability.ts";
import { ContainerRemover, type Leak } from "./container-remover.ts";
import { createSandbox } from "./creation.ts";
import { EngineClient } from "./engine-client.ts";
import { EngineFailure, toUnavailable } from "./engine-failure.ts";
import { parseHandle } from "./handle.ts";
import { ImagePolicy } from "./image-policy.ts";
import { ImageShelf } from "./image-shelf.ts";
import { assertWithin, lowerTo } from "./limit-bounds.ts";
import { openPremises, type Premises } from "./premises.ts";
import { reap } from "./reaping.ts";
import { SANDBOX_USER } from "./container-options.ts";
import { toLabels } from "./labels.ts";
import { chooseStateFolder } from "./state-folder.ts";

/** How the docker runtime is set up; everything has a default. */
export interface DockerRuntimeOptions {
  /** The engine's unix socket. @default that of DOCKER_HOST, or /var/run/docker.sock */
  readonly socket?: string;
  /** The image of sandboxes that name none. @default "toolyard/code-slim" */
  readonly image?: string;
  /** Further images that sessions may choose; `*` stands for any characters. */
  readonly images?: readonly string[];
  /** Whether an image that is missing is pulled. @default true */
  readonly pull?: boolean;
  /** The engine's name of an OCI runtime, as `runsc`; the engine's own default where absent. */
  readonly ociRuntime?: string;
  readonly limits?: SandboxLimits;
  /** What no session may ask more than. */
  readonly maxLimits?: SandboxLimits;
  /** Where sockets and tokens are kept, and by which the deployment is known. */
  readonly stateFolder?: string;
  /** Seconds that a container waits for the next server of the deployment when its own has died. @default 600 */
  readonly orphanSeconds?: number;
  /** By which sandboxes reach the hosts that their policy lists; without it they reach none. */
  readonly egress?: Egress;
  readonly logger?: Logger;
  /** Of the server, for the labels. */
  readonly version?: string;
  readonly clock?: Clock;
}

const ORPHAN_SECONDS = 600;
const ADOPTIONS_AT_ONCE = 16;

/** Runs sandboxes as hardened containers of a Docker Engine on this machine. */
export class DockerRuntime implements SandboxRuntime {
  readonly name = "docker";
  readonly isolation = "container";
  readonly abilities = [...new Set<SandboxAbility>([...SUPERVISED_ABILITIES, "pause", "resume"])];
  readonly #options: DockerRuntimeOptions;
  readonly #engine: EngineClient;
  readonly #remover: ContainerRemover;
  readonly #policy: ImagePolicy;
  readonly #shelf: ImageShelf;
  readonly #availability: EngineAvailability;
  readonly #starting = new StartGate();
  // Most of an adoption is waiting for its supervisor; all of a server's at once would cost the first looks their deadlines.
  readonly #adopting = new StartGate(ADOPTIONS_AT_ONCE);
  readonly #instances = new Map<string, SandboxInstance>();
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #premises: Promise<Premises> | undefined;

  constructor(options: DockerRuntimeOptions = {}) {
    this.#options = options;
    const { clock = systemClock, logger } = options;
    this.#engine = new EngineClient({ ...(options.socket !== undefined && { socket: options.socket }), clock });
    this.#remover = new ContainerRemover({ engine: this.#engine, clock, ...(logger && { logger }) });
    this.#policy = new ImagePolicy(options);
    this.#shelf = new ImageShelf({
      engine: this.#engine,
      labels: async () => this.#labels(await this.#open(), "none"),
      remover: this.#remover,
      defaultUser: SANDBOX_USER,
      pull: options.pull ?? true,
      ...(logger && { logger }),
    });
    this.#availability = new EngineAvailability({
      engine: this.#engine,
      shelf: this.#shelf,
      policy: this.#policy,
      clock,
      ...(options.ociRuntime !== undefined && { ociRuntime: options.ociRuntime }),
    });
  }

  /** Containers that could not be removed yet. */
  get leaks(): readonly Leak[] {
    return this.#remover.leaks;
  }

  async check(signal: AbortSignal): Promise<RuntimeStatus> {
    const status = await this.#availability.check(signal);
    return this.leaks.length === 0 ? status : { ...status, leaked: this.leaks.map(({ container }) => container) };
  }

  async create(spec: SandboxSpec, given: AbortSignal): Promise<SandboxInstance> {
    const image = this.#policy.choose(spec.image);
    const { limits: defaults, maxLimits = {} } = this.#options;
    assertWithin(spec.limits ?? {}, maxLimits);
    const limits = lowerTo(maxLimits, mergeLimits(spec.limits, defaults));
    return this.#guard(async (signal) => {
      const premises = await this.#open();
      const facts = await this.#shelf.require(image, signal);
      const instance = await this.#starting.run(signal, () =>
        createSandbox(
          {
            engine: this.#engine,
            remover: this.#remover,
            premises,
            facts,
            limits,
            spec,
            patienceSeconds: this.#options.orphanSeconds ?? ORPHAN_SECONDS,
            labels: (folder) => this.#labels(premises, folder, spec),
            openDoor: () => openDoor(this.#options.egress, spec),
            ...(this.#options.ociRuntime !== undefined && { ociRuntime: this.#options.ociRuntime }),
          },
          signal,
        ),
      );
      this.#hold(instance);
      return instance;
    }, given);
  }

  async warmup(signal: AbortSignal): Promise<void> {
    const status = await this.check(signal);
    if (status.available) await this.#guard(() => this.#open());
  }

  async adopt(handle: unknown, given: AbortSignal): Promise<SandboxInstance | null> {
    const parsed = parseHandle(handle);
    if (parsed === null) return null;
    return this.#guard(async (signal) => {
      const premises = await this.#open();
      if (parsed.deployment !== premises.state.deployment) return null;
      const host = { engine: this.#engine, remover: this.#remover, premises };
      const network = parsed.allow === undefined ? "none" : { allow: parsed.allow };
      const instance = await this.#adopting.run(signal, () =>
        adopt(host, parsed, () => openDoor(this.#options.egress, { network }), signal),
      );
      if (instance !== null) this.#hold(instance);
      return instance;
    }, given);
  }

  async reap(_signal: AbortSignal): Promise<number> {
    return this.#guard(async () =>
      reap({ engine: this.#engine, remover: this.#remover, premises: await this.#open() }),
    );
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay);
    await Promise.all([...this.#instances.values()].map((instance) => instance.stop()));
    this.#remover.close();
    this.#engine.close();
    const premises = await this.#premises?.catch(() => undefined);
    this.#premises = undefined;
    await premises?.presence.close();
  }

  #open(): Promise<Premises> {
    this.#premises ??= openPremises(this.#options.stateFolder ?? chooseStateFolder({})).catch((error: unknown) => {
      this.#premises = undefined;
      throw error;
    });
    return this.#premises;
  }

  #labels({ state, presence }: Premises, folder: string, spec: SandboxSpec = {}): Record<string, string> {
    const { clock = systemClock, version = "unknown" } = this.#options;
    const { deployment } = state;
    return toLabels({ deployment, instance: presence.instance, folder, created: clock.date(), version }, spec);
  }

  #hold(instance: SandboxInstance): void {
    this.#instances.set(instance.id, instance);
    void instance.closed.then(() => this.#instances.delete(instance.id));
  }

  /** Callers are told of an engine that fails in one line; the log has the rest. */
  async #guard<T>(work: (signal: AbortSignal) => Promise<T>, given?: AbortSignal): Promise<T> {
    const closing = this.#closing.signal;
    const signal = given === undefined ? closing : AbortSignal.any([given, closing]);
    const working = work(signal);
    this.#underWay.add(working);
    try {
      return await working;
    } catch (error) {
      if (closing.aborted) throw new ToolyardError("shutting_down", "the docker runtime is closing", { cause: error });
      if (signal.aborted && !ToolyardError.is(error)) {
        throw new ToolyardError("cancelled", "the sandbox was not needed any more", { cause: error });
      }
      if (error instanceof EngineFailure) throw toUnavailable(error);
      throw error;
    } finally {
      this.#underWay.delete(working);
    }
  }
}
