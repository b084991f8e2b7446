import { type Input, tool } from "../../core/tool.ts";
import {
  InstallParams,
  InstallResult,
  InterruptParams,
  InterruptResult,
  KernelsResult,
  ResetResult,
  RestartParams,
  RestartResult,
  RunParams,
  RunResult,
  StatsResult,
} from "./code-schemas.ts";
import { installPackages } from "./install.ts";
import { runAnyCode } from "./run-code.ts";
import type { CodeContext } from "./session.ts";

/** What the tools are bounded by. */
export interface ToolLimits {
  readonly maxTimeoutMs: number;
  readonly maxBackground: number;
}

/** `code:*`: interpreters that keep their state. */
export class CodeTools {
  readonly #limits: ToolLimits;

  constructor(limits: ToolLimits) {
    this.#limits = limits;
  }

  @tool({
    description:
      "Run code in a sandbox. In Python, JavaScript, TypeScript and bash, variables, functions and imports last from call " +
      "to call, and top-level await works; other languages are compiled and run anew each time, where the image has them. " +
      "Answers stdout, stderr and the value of the last expression; an exception comes back in `error`.",
    params: RunParams,
    result: RunResult,
    annotations: { title: "Run code", destructiveHint: false, openWorldHint: false },
  })
  async run(params: Input<typeof RunParams>, context: CodeContext): Promise<RunResult> {
    const { language, code, kernel, timeout_ms: timeoutMs } = params;
    const { maxTimeoutMs } = this.#limits;
    const result = await runAnyCode({ language, code, kernel, timeoutMs, maxTimeoutMs }, context);
    const { error, exit_code: exitCode } = result;
    // An interpreter that ended itself has an error already, whatever its code.
    const ownCode = language !== "python" && language !== "javascript" && language !== "typescript";
    const failed = ownCode && exitCode !== null && exitCode !== 0;
    if (error !== null || failed) context.setOutcome("tool_error");
    return result;
  }

  @tool({
    description: "Replace interpreters by fresh ones; files stay, variables and running processes go.",
    params: RestartParams,
    result: RestartResult,
    annotations: { title: "Restart kernels", destructiveHint: true, idempotentHint: true },
  })
  async restart({ kernel }: Input<typeof RestartParams>, { session }: CodeContext): Promise<RestartResult> {
    return { restarted: await session.data.sandboxes.restart(kernel) };
  }

  @tool({
    description: "Interrupt the code that runs, which then answers as cancelled; variables stay where they can.",
    params: InterruptParams,
    result: InterruptResult,
    annotations: { title: "Interrupt code", destructiveHint: false, idempotentHint: true },
  })
  interrupt({ kernel }: Input<typeof InterruptParams>, { session }: CodeContext): InterruptResult {
    return { interrupted: session.data.sandboxes.interrupt(kernel) };
  }

  @tool({
    description: "List the interpreters that are open in this session.",
    result: KernelsResult,
    annotations: { title: "List kernels", readOnlyHint: true, idempotentHint: true },
  })
  kernels(_params: object, { session }: CodeContext): KernelsResult {
    const { sandboxes } = session.data;
    sandboxes.assertAlive();
    return {
      kernels: sandboxes.kernels.map(({ name, kernel, runtime, executionCount, busy }) => ({
        name,
        language: kernel.language,
        runtime,
        execution_count: executionCount,
        busy,
      })),
    };
  }

  @tool({
    description:
      "Install packages for Python (pip) or JavaScript (npm) in the sandbox, where the session's network policy lets it " +
      "reach their registry; paths of packages in the sandbox need no network.",
    params: InstallParams,
    result: InstallResult,
    annotations: { title: "Install packages", destructiveHint: false, openWorldHint: true },
  })
  async install(params: Input<typeof InstallParams>, context: CodeContext): Promise<InstallResult> {
    const result = await installPackages(params, this.#limits.maxTimeoutMs, context);
    if (!result.installed) context.setOutcome("tool_error");
    return result;
  }

  @tool({
    name: "reset",
    description: "Bring the sandbox back to fresh: every process, interpreter, variable and file of the session goes.",
    result: ResetResult,
    annotations: { title: "Reset the sandbox", destructiveHint: true, idempotentHint: true },
  })
  async resetSandbox(_params: object, { session, signal }: CodeContext): Promise<ResetResult> {
    await session.data.sandboxes.reset(signal);
    return { reset: true };
  }

  @tool({
    description: "Say what the sandbox uses now of memory, processors, processes and disk, and its limits.",
    result: StatsResult,
    annotations: { title: "Sandbox usage", readOnlyHint: true, idempotentHint: true },
  })
  async stats(_params: object, { session, signal }: CodeContext): Promise<StatsResult> {
    const stats = await session.data.sandboxes.able("stats").stats(signal);
    return {
      memory_bytes: stats.memoryBytes,
      memory_limit_bytes: stats.memoryLimitBytes,
      memory_peak_bytes: stats.memoryPeakBytes,
      cpu_seconds: stats.cpuSeconds,
      cpus: stats.cpus,
      pids: stats.pids,
      pids_limit: stats.pidsLimit,
      disk_bytes: stats.diskBytes,
      disk_limit_bytes: stats.diskLimitBytes,
      uptime_seconds: stats.uptimeSeconds,
      source: stats.source,
    };
  }
}
