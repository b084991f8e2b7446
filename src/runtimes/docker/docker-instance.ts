import type { SandboxInstance } from "../../core/runtime.ts";
import { ToolyardError } from "../../core/errors.ts";
import { SupervisedInstance, type SupervisedOptions } from "../kernel/supervised-instance.ts";
import { type EngineClient, DEADLINES_MS } from "./engine-client.ts";
import { EngineFailure, isConflict, isMissing, toUnavailable } from "./engine-failure.ts";

// Once in thirty, a container that was just resumed is still "paused" to the engine.
const ATTEMPTS = 10;
const RETRY_MS = 50;
// A supervisor that has connected has only to read one frame.
const READY_MS = 30_000;

/** What a docker sandbox is built over. */
export type DockerInstanceOptions = Omit<SupervisedOptions, "runtime" | "isolation"> & {
  readonly engine: EngineClient;
  readonly container: string;
};

/** A container with a supervisor in it. */
export class DockerInstance extends SupervisedInstance implements SandboxInstance {
  readonly #engine: EngineClient;
  readonly #container: string;
  #frozen = false;

  constructor({ engine, container, ...options }: DockerInstanceOptions) {
    super({ ...options, runtime: "docker", isolation: "container" });
    this.#engine = engine;
    this.#container = container;
    // It waited for somebody who reads.
    options.channel.resume();
  }

  /** As that of every supervised sandbox, and bounded. */
  override async ready(signal: AbortSignal): Promise<void> {
    await super.ready(AbortSignal.any([signal, AbortSignal.timeout(READY_MS)]));
  }

  /** The supervisor stops what it started, which it remembers for the next server, and the engine freezes all of it. */
  async pause(signal: AbortSignal): Promise<void> {
    if (this.#frozen) return;
    await this.setPaused(true, signal);
    await setFrozen(this.#engine, this.#container, true, signal);
    this.#frozen = true;
  }

  async resume(signal: AbortSignal): Promise<void> {
    await setFrozen(this.#engine, this.#container, false, signal);
    this.#frozen = false;
    await this.setPaused(false, signal);
  }
}

/** Freezes or thaws a container; idempotent. */
export async function setFrozen(
  engine: EngineClient,
  container: string,
  paused: boolean,
  signal: AbortSignal,
): Promise<void> {
  const call = { what: `${paused ? "pausing" : "resuming"} ${container}`, deadlineMs: DEADLINES_MS.pause, signal };
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Each attempt looks whether the one before it was one too many.
      // oxlint-disable-next-line no-await-in-loop
      await engine.call(call, async (docker, abortSignal) => {
        const found = docker.getContainer(container);
        const { State: state } = await found.inspect({ abortSignal });
        if (state.Paused === paused) return;
        await (paused ? found.pause({ abortSignal }) : found.unpause({ abortSignal }));
      });
      return;
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error;
      if (isMissing(error))
        throw new ToolyardError("sandbox_dead", "the sandbox's container is gone", { cause: error });
      // An engine of before version 23 says 500 where a later one says 409.
      const contradicts = isConflict(error) || /already paused|not paused/i.test(error.message);
      if (!contradicts || attempt >= ATTEMPTS) throw toUnavailable(error);
      // oxlint-disable-next-line no-await-in-loop
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
