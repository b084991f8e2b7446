import { randomUUID } from "node:crypto";
import { ToolyardError } from "../../core/errors.ts";
import type {
  Kernel,
  Language,
  RuntimeStatus,
  SandboxExit,
  SandboxInstance,
  SandboxLimits,
} from "../../core/runtime.ts";
import { SupervisorConnection } from "../kernel/connection.ts";
import { toLostExecution } from "../kernel/lost-execution.ts";
import type { Launched } from "./launcher.ts";

// The supervisor kills within 150 ms of a deadline, and the call is answered at its own deadline whatever happens here. Only a
// supervisor that is silent for much longer does not work any more: on a busy machine a hasty verdict would cost good sessions.
const GRACE_MS = 2_000;

/** One bubblewrap sandbox with its supervisor, in which all kernels share /workspace. */
export class LocalInstance implements SandboxInstance {
  readonly id = `local_${randomUUID()}`;
  readonly runtime = "local";
  readonly isolation = "namespace";
  readonly closed: Promise<SandboxExit>;
  readonly #connection: SupervisorConnection;
  readonly #languages: RuntimeStatus["languages"];
  #kernels = 0;

  constructor(launched: Launched, limits: Required<SandboxLimits>, languages: RuntimeStatus["languages"]) {
    this.#languages = languages;
    const { process: child, channel } = launched;
    this.#connection = new SupervisorConnection(channel, {
      limits,
      graceMs: GRACE_MS,
      kill: () => child.kill("SIGKILL"),
    });
    this.closed = new Promise((resolve) => {
      const end = (exitCode: number | null, signal: string | null, failure?: string) => {
        this.#connection.close("closed", "its supervisor ended");
        const { lost } = this.#connection;
        const diagnostics = [failure, launched.complaints()].filter(Boolean).join("; ");
        resolve({
          reason: lost?.message ?? "it ended",
          expected: lost?.why === "stopped",
          exitCode,
          signal,
          ...(diagnostics === "" ? {} : { diagnostics }),
        });
      };
      child.once("error", (error) => end(null, null, error.message));
      child.once("exit", (code, signal) => end(code, signal));
    });
  }

  /** Resolves when the supervisor answers. */
  async ready(signal: AbortSignal): Promise<void> {
    const abort = () => this.#connection.close("stopped", "its creation was cancelled");
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      await this.#connection.ready;
    } catch (cause) {
      const { diagnostics } = await this.closed;
      if (signal.aborted) throw new ToolyardError("cancelled", "the sandbox's creation was cancelled", { cause });
      throw new ToolyardError("runtime_unavailable", "the local sandbox did not start", {
        cause: diagnostics === undefined ? cause : new Error(diagnostics, { cause }),
      });
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async openKernel(language: Language, _signal: AbortSignal): Promise<Kernel> {
    const engine = this.#languages[language];
    if (engine?.available !== true) {
      throw new ToolyardError("runtime_unavailable", `${language} cannot run here: ${engine?.reason ?? "no engine"}`, {
        ...(engine?.remedy === undefined ? {} : { suggestion: engine.remedy }),
      });
    }
    this.#kernels += 1;
    const name = `${language}-${this.#kernels}`;
    const connection = this.#connection;
    return {
      language,
      run: (request, hooks) =>
        connection.execute(name, language, request, hooks).catch((error: unknown) => toLostExecution(error, hooks)),
      interrupt: () => connection.interrupt(name),
      stop: () => connection.reset(name),
    };
  }

  async stop(): Promise<void> {
    this.#connection.close("stopped", "it was stopped");
    await this.closed;
  }
}
