import type { Execution, ExecutionHooks, ExecutionRequest, Kernel, SandboxLimits } from "../../core/runtime.ts";
import { ConnectionLost, SupervisorConnection } from "../kernel/connection.ts";
import { toLostExecution } from "../kernel/lost-execution.ts";
import { startPatience } from "./engine-patience.ts";
import type { EngineProcess } from "./engine-process.ts";

const NAME = "main";
// The engine stops itself at the deadline; one that does not is inside a built-in, and is killed.
const GRACE_MS = 150;

/** What a kernel needs of the sandbox that it belongs to. */
export interface KernelOwner {
  readonly limits: Required<SandboxLimits>;
  claim(): EngineProcess;
  /** The engine died on its own or broke the protocol. */
  died(message: string, exitCode: number | null, signal: string | null): void;
}

/** A QuickJS engine process and its replacements: one that had to be killed is followed by a fresh one. */
export class QuickJsKernel implements Kernel {
  readonly language = "javascript";
  readonly #owner: KernelOwner;
  #engine: EngineProcess | undefined;
  #connection: SupervisorConnection | undefined;
  #interrupt: AbortController | undefined;
  #stopped = false;

  constructor(owner: KernelOwner) {
    this.#owner = owner;
  }

  /** Connects to an engine, unless there is one. */
  connect(): SupervisorConnection {
    if (this.#connection !== undefined) return this.#connection;
    const engine = this.#owner.claim();
    const connection = new SupervisorConnection(engine.channel, {
      limits: this.#owner.limits,
      graceMs: GRACE_MS,
      excuse: () => startPatience(engine.process.pid),
      kill: (why, message) => {
        engine.process.kill("SIGKILL");
        this.#connection = undefined;
        if (why === "violation") this.#owner.died(message, null, null);
      },
    });
    engine.process.once("exit", (code, signal) => {
      if (connection.lost?.why === "stopped" || connection.lost?.why === "unresponsive") return;
      connection.close("closed", "its engine died");
      this.#owner.died("its engine died", code, signal);
    });
    this.#engine = engine;
    this.#connection = connection;
    return connection;
  }

  async run(request: ExecutionRequest, hooks: ExecutionHooks): Promise<Execution> {
    const connection = this.connect();
    // An interrupt may come while the engine still starts, when the connection knows of no execution.
    const interrupt = new AbortController();
    this.#interrupt = interrupt;
    try {
      if (this.#stopped) throw new ConnectionLost("closed", "its kernel was stopped");
      await connection.ready;
      const signal = AbortSignal.any([hooks.signal, interrupt.signal]);
      const execution = await connection.execute(NAME, this.language, request, { ...hooks, signal });
      if (execution.stateLost) connection.close("stopped", "its engine is replaced");
      return execution;
    } catch (error) {
      const signal = interrupt.signal.aborted ? interrupt.signal : hooks.signal;
      return toLostExecution(error, { signal });
    }
  }

  interrupt(): void {
    this.#interrupt?.abort();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const engine = this.#engine;
    this.#connection?.close("stopped", "it was stopped");
    if (engine === undefined || engine.process.exitCode !== null || engine.process.signalCode !== null) return;
    await new Promise<void>((resolve) => {
      engine.process.once("exit", () => resolve());
    });
  }
}
