import type { Duplex } from "node:stream";
import type { FoundState } from "../../core/found-state.ts";
import { ToolyardError } from "../../core/errors.ts";
import type {
  ExecOptions,
  ExecutionHooks,
  Isolation,
  Kernel,
  Language,
  RuntimeStatus,
  SandboxExit,
  SandboxInstance,
  SandboxLimits,
} from "../../core/runtime.ts";
import type { EgressDoor } from "../../core/egress.ts";
import type { SandboxStats } from "../../core/sandbox-stats.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import type { SandboxAbility } from "../../core/sandbox-ability.ts";
import type { CommandResult, CommandSpec, SandboxProcess } from "../../core/sandbox-process.ts";
import { ConnectionLost, type LossCause, SupervisorConnection } from "./connection.ts";
import { createStateMethods } from "./kernel-state.ts";
import { createRun } from "./language-run.ts";
import { toLostExecution } from "./lost-execution.ts";
import type { KernelRequest } from "./messages.ts";
import { execute, listProcesses, spawn } from "./supervised-commands.ts";
import { EGRESS_PORT } from "./proxy-environment.ts";
import { connectTo, OperationStream } from "./operation-stream.ts";
import { parseStats } from "./sandbox-stats.ts";
import { SupervisedFiles } from "./supervised-files.ts";

// The supervisor kills within 300 ms of a deadline, or 5 s later where the machine lets nothing run, and the call is answered at its
// own deadline whatever happens here. Only a supervisor that is silent for much longer does not work any more: on a busy machine a
// hasty verdict would cost good sessions.
const GRACE_MS = 10_000;
const MAX_KERNEL_NAME_LENGTH = 128;

/** What every supervised sandbox can do. */
export const SUPERVISED_ABILITIES: readonly SandboxAbility[] = [
  "exec",
  "spawn",
  "processes",
  "files",
  "connect",
  "stats",
  "reset",
  "ping",
];

/** How what held a sandbox ended: a process, or a container. */
export interface HolderExit {
  /** Why, where the holder knows better than the connection. */
  readonly reason?: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** For the log only. */
  readonly diagnostics?: string;
}

/** What a supervised sandbox is built over, whatever it runs in. */
export interface SupervisedOptions {
  readonly id: string;
  /** The runtime's name. */
  readonly runtime: string;
  readonly isolation: Isolation;
  readonly image?: string;
  /** To the supervisor, which has proven who it is. */
  readonly channel: Duplex;
  readonly limits: Required<SandboxLimits>;
  /** What {@link SandboxInstance.openKernel} may open. */
  readonly languages: RuntimeStatus["languages"];
  /** Kills the sandbox at once; called exactly once, however the connection ends. */
  readonly kill: (why: LossCause, message: string) => void;
  /** Resolves when the sandbox is gone for whatever reason, and never rejects. */
  readonly ended: Promise<HolderExit>;
  /** What its runtime adopts it by. */
  readonly handle?: unknown;
  /** Takes the connections to the proxy port, {@link EGRESS_PORT}, which is opened only then; closed with the sandbox. */
  readonly egress?: EgressDoor;
}

/** A sandbox that a supervisor guards: all that its runtime adds is how it starts and how it is killed. */
export class SupervisedInstance implements SandboxInstance {
  readonly id: string;
  readonly runtime: string;
  readonly isolation: Isolation;
  declare readonly image?: string;
  declare readonly handle?: unknown;
  readonly limits: SandboxLimits;
  readonly closed: Promise<SandboxExit>;
  readonly files: SandboxFiles;
  readonly #connection: SupervisorConnection;
  readonly #languages: RuntimeStatus["languages"];
  readonly #outputBytes: number;
  readonly #kernels = new Map<string, Language>();
  #opened = 0;
  #paused = false;

  constructor(options: SupervisedOptions) {
    this.id = options.id;
    this.runtime = options.runtime;
    this.isolation = options.isolation;
    if (options.image !== undefined) this.image = options.image;
    if (options.handle !== undefined) this.handle = options.handle;
    this.#languages = options.languages;
    const { channel, limits, kill, egress } = options;
    this.limits = limits;
    this.#connection = new SupervisorConnection(channel, {
      limits,
      graceMs: GRACE_MS,
      kill,
      ...(egress && { egress: { port: EGRESS_PORT, onDial: (begin) => egress.accept(new OperationStream(begin)) } }),
    });
    this.files = new SupervisedFiles(this.#connection.operations);
    this.#outputBytes = limits.outputBytes;
    this.closed = options.ended.then((exit) => {
      egress?.close();
      this.#connection.close("closed", "its supervisor ended");
      const { lost } = this.#connection;
      return { reason: lost?.message ?? "it ended", expected: lost?.why === "stopped", ...exit };
    });
  }

  /**
   * Resolves when the supervisor answers; when the signal fires before, the sandbox is killed.
   *
   * @throws ToolyardError `cancelled`, or `runtime_unavailable` with what the runtime complained of as the cause.
   */
  async ready(signal: AbortSignal): Promise<void> {
    const abort = () => this.#connection.close("stopped", "its creation was cancelled");
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const { kernels, paused } = await this.#connection.ready;
      this.#paused = paused;
      for (const { name, language } of kernels) this.#kernels.set(name, language);
    } catch (cause) {
      const { diagnostics } = await this.closed;
      if (signal.aborted) throw new ToolyardError("cancelled", "the sandbox's creation was cancelled", { cause });
      throw new ToolyardError("runtime_unavailable", `the ${this.runtime} sandbox did not start`, {
        cause: diagnostics === undefined ? cause : new Error(diagnostics, { cause }),
      });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async openKernel(
    language: Language,
    _signal: AbortSignal,
    options: { readonly name?: string } = {},
  ): Promise<Kernel> {
    const engine = this.#languages[language];
    if (engine?.available !== true) {
      throw new ToolyardError("runtime_unavailable", `${language} cannot run here: ${engine?.reason ?? "no engine"}`, {
        ...(engine?.remedy === undefined ? {} : { suggestion: engine.remedy }),
      });
    }
    const name = options.name ?? this.#freeName(language);
    this.#claim(name, language);
    const connection = this.#connection;
    const execute = async (request: KernelRequest, hooks: ExecutionHooks) => {
      if (this.#paused) {
        throw new ToolyardError("conflict", "the sandbox is paused", { suggestion: "Resume it first." });
      }
      return connection
        .execute(name, language, request, hooks)
        .catch(async (error: unknown) => toLostExecution(await this.#explain(error), hooks));
    };
    return {
      language,
      run: createRun(language, execute),
      ...(language === "python" ? createStateMethods(execute) : {}),
      interrupt: () => connection.interrupt(name),
      stop: () => {
        this.#kernels.delete(name);
        return connection.reset(name);
      },
    };
  }

  get found(): FoundState {
    return { kernels: [...this.#kernels].map(([name, language]) => ({ name, language })), paused: this.#paused };
  }

  exec(spec: CommandSpec, options: ExecOptions): Promise<CommandResult> {
    return execute(this.#connection.operations, spec, options, this.#outputBytes);
  }

  spawn(spec: CommandSpec, signal: AbortSignal): Promise<SandboxProcess> {
    return spawn(this.#connection.operations, spec, signal);
  }

  processes(signal: AbortSignal): Promise<readonly SandboxProcess[]> {
    return listProcesses(this.#connection.operations, signal);
  }

  async connect(port: number, signal: AbortSignal): Promise<Duplex> {
    return connectTo(this.#connection.operations, port, signal);
  }

  stats(signal: AbortSignal): Promise<SandboxStats> {
    return this.#connection.operations.run("stats", {}, { signal, parse: parseStats });
  }

  async reset(signal: AbortSignal): Promise<void> {
    await this.#connection.operations.run("reset", {}, { signal, parse: () => {} });
    this.#kernels.clear();
    this.#paused = false;
  }

  /** Has the supervisor freeze everything but itself, or let it go on; for runtimes that have no better way. */
  protected async setPaused(paused: boolean, signal: AbortSignal): Promise<void> {
    await this.#connection.operations.run(paused ? "pause" : "resume", {}, { signal, parse: () => {} });
    this.#paused = paused;
  }

  ping(signal: AbortSignal): Promise<boolean> {
    return this.#connection.ping(signal);
  }

  async stop(): Promise<void> {
    this.#connection.close("stopped", "it was stopped");
    await this.closed;
  }

  /** What holds the sandbox knows better than its connection why it died, a moment later. */
  async #explain(error: unknown): Promise<unknown> {
    if (!(error instanceof ConnectionLost) || error.why !== "closed") return error;
    const { reason } = await this.closed;
    return new ConnectionLost(error.why, reason, error.partial);
  }

  #freeName(language: Language): string {
    do this.#opened += 1;
    while (this.#kernels.has(`${language}-${this.#opened}`));
    return `${language}-${this.#opened}`;
  }

  #claim(name: string, language: Language): void {
    if (name.length > MAX_KERNEL_NAME_LENGTH) {
      throw new ToolyardError("invalid_input", `a kernel's name has at most ${MAX_KERNEL_NAME_LENGTH} characters`);
    }
    const other = this.#kernels.get(name);
    if (other !== undefined && other !== language) {
      throw new ToolyardError("invalid_input", `kernel "${name}" runs ${other}, not ${language}`);
    }
    this.#kernels.set(name, language);
  }
}
