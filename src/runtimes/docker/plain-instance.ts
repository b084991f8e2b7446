import { ToolyardError } from "../../core/errors.ts";
import type { ExecOptions, Kernel, Language, SandboxExit, SandboxInstance, SandboxLimits } from "../../core/runtime.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import type { CommandResult, CommandSpec } from "../../core/sandbox-process.ts";
import { absentFiles } from "./absent-files.ts";
import type { ContainerKeeper } from "./container-keeper.ts";
import { setFrozen } from "./docker-instance.ts";
import type { EngineClient } from "./engine-client.ts";
import { EngineFailure, toUnavailable } from "./engine-failure.ts";
import { assertRuns, execInContainer } from "./engine-exec.ts";
import { createPlainShell } from "./plain-shell.ts";
import type { ImageFacts } from "./image-probe.ts";

/**
 * What such a container runs: as its first process the shell outlives `kill -9 -1`, starts its sleep anew and collects orphans.
 */
export const IDLE_COMMAND = "trap : TERM INT HUP; while :; do sleep 86400 & wait; done";

// A watch that an engine ended, as it does when it restarts, is taken up again.
const REWATCH_MS = 500;

/** A container of an image without python3: commands run through the engine, and that is all. */
export class PlainInstance implements SandboxInstance {
  readonly id: string;
  readonly runtime = "docker";
  readonly isolation = "container";
  readonly image: string;
  readonly closed: Promise<SandboxExit>;
  readonly files: SandboxFiles;
  readonly #engine: EngineClient;
  readonly #keeper: ContainerKeeper;
  readonly #container: string;
  readonly #sh: string;
  readonly limits: Required<SandboxLimits>;
  readonly #facts: ImageFacts;
  readonly #over = new AbortController();
  #stopping = false;
  #running = 0;

  constructor(options: {
    readonly id: string;
    readonly engine: EngineClient;
    readonly keeper: ContainerKeeper;
    readonly container: string;
    readonly facts: ImageFacts;
    readonly limits: Required<SandboxLimits>;
  }) {
    this.id = options.id;
    this.image = options.facts.name;
    this.files = absentFiles(this.image);
    this.#engine = options.engine;
    this.#keeper = options.keeper;
    this.#container = options.container;
    this.#facts = options.facts;
    this.#sh = options.facts.programs.sh ?? "sh";
    this.limits = options.limits;
    void this.#watch();
    this.closed = options.keeper.ended.then((exit) => {
      this.#over.abort();
      const reason = this.#stopping ? "it was stopped" : "its container ended";
      return { reason, expected: this.#stopping, ...exit };
    });
  }

  async openKernel(language: Language, _signal: AbortSignal): Promise<Kernel> {
    if (language === "bash") {
      const { bash } = this.#facts.programs;
      return createPlainShell({ path: bash ?? this.#sh, isBash: bash !== undefined }, (spec, options) =>
        this.exec(spec, options),
      );
    }
    const { reason = "", remedy } = this.#facts.languages[language] ?? {};
    throw new ToolyardError("runtime_unavailable", `${language} cannot run here: ${reason}`, {
      ...(remedy !== undefined && { suggestion: remedy }),
    });
  }

  async exec(spec: CommandSpec, options: ExecOptions): Promise<CommandResult> {
    if (this.#over.signal.aborted || this.#stopping) throw dead();
    this.#running += 1;
    const died = this.closed.then(() => {
      throw dead();
    });
    died.catch(() => {});
    const place = {
      ...{ engine: this.#engine, container: this.#container, sh: this.#sh },
      outputBytes: this.limits.outputBytes,
      running: () => this.#running,
    };
    try {
      return await Promise.race([execInContainer(place, spec, options), died]);
    } catch (error) {
      if (!(error instanceof EngineFailure)) throw error;
      // An engine refuses what it is asked of a container that has just died.
      if (error.kind === "answered") await assertRuns(place);
      throw toUnavailable(error);
    } finally {
      this.#running -= 1;
    }
  }

  async pause(signal: AbortSignal): Promise<void> {
    await setFrozen(this.#engine, this.#container, true, signal);
  }

  async resume(signal: AbortSignal): Promise<void> {
    await setFrozen(this.#engine, this.#container, false, signal);
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#keeper.kill("stopped");
    await this.closed;
  }

  /** Without a connection into it only the engine can say that it died. */
  async #watch(): Promise<void> {
    const call = { what: `watching the container ${this.#container}`, deadlineMs: 2 ** 31 - 1, mayWait: true } as const;
    while (!this.#over.signal.aborted) {
      try {
        // One watch after another is the point.
        // oxlint-disable-next-line no-await-in-loop
        await this.#engine.call({ ...call, signal: this.#over.signal }, (docker, abortSignal) =>
          docker.getContainer(this.#container).wait({ condition: "not-running", abortSignal }),
        );
        this.#keeper.kill("closed");
        return;
      } catch (error) {
        if (this.#over.signal.aborted) return;
        if (error instanceof EngineFailure && error.kind === "answered") {
          this.#keeper.kill("closed");
          return;
        }
        // oxlint-disable-next-line no-await-in-loop
        await new Promise((resolve) => setTimeout(resolve, REWATCH_MS).unref());
      }
    }
  }
}

const dead = (): ToolyardError => new ToolyardError("sandbox_dead", "the sandbox died: its container ended");
