import type { z } from "zod";
import { Backend, type BackendHealth, type BackendSetup } from "../../core/backend.ts";
import type { LifecycleContext, SessionRequest, ToolContext } from "../../core/context.ts";
import { ToolyardError } from "../../core/errors.ts";
import {
  isolatesAtLeast,
  type Language,
  type RuntimeRequest,
  type RuntimeSelector,
  type SandboxLimits,
} from "../../core/runtime.ts";
import type { Session } from "../../core/session.ts";
import { type Input, tool } from "../../core/tool.ts";
import { StopSignal } from "./stop-signal.ts";
import { toRunResult } from "./run-result.ts";
import { SessionSandboxes } from "./sandboxes.ts";
import {
  CodeConfig,
  type CodeSessionConfig,
  createSessionSchema,
  KernelsResult,
  RestartParams,
  RestartResult,
  RunParams,
  RunResult,
} from "./schemas.ts";

/** What a session of the code backend holds. */
export interface CodeSession {
  readonly sandboxes: SessionSandboxes;
  readonly timeoutMs: number;
}

/**
 * Runs code in a sandbox of the worker's own, with state that lasts from call to call.
 *
 * A session has one sandbox, in the first runtime that its config allows; a language that this runtime lacks gets a second
 * one from another runtime, if there is one of sufficient isolation. A sandbox that dies takes its session with it.
 */
export default class CodeBackend extends Backend<CodeSession> {
  readonly resource = "code";
  override readonly concurrency = "serial";
  override readonly description =
    "Runs JavaScript, TypeScript, Python and bash in a sandbox, keeping state between calls.";
  override readonly configSchema = CodeConfig;
  override readonly sessionSchema: z.ZodObject;
  readonly #config: CodeConfig;

  constructor(setup: BackendSetup) {
    super(setup);
    // A wrong config is reported by whoever checks it against the schema, with the file and the key.
    this.#config = CodeConfig.safeParse(setup.config).data ?? CodeConfig.parse({});
    this.sessionSchema = createSessionSchema(this.#config);
  }

  override async warmup({ signal }: LifecycleContext): Promise<void> {
    const runtime = await this.#selector().select(this.#request({}), signal);
    await runtime.warmup?.(signal);
  }

  override async initialize(request: SessionRequest, { signal }: LifecycleContext): Promise<CodeSession> {
    const config: CodeSessionConfig = createSessionSchema(this.#config).parse(request.config);
    const sandboxes = await SessionSandboxes.open(
      {
        selector: this.#selector(),
        request: this.#request(config),
        spec: {
          sessionId: request.sessionId,
          limits: this.#limits(config),
          ...(config.environment === undefined ? {} : { environment: config.environment }),
        },
        maxKernels: this.#config.max_kernels,
      },
      signal,
    );
    return { sandboxes, timeoutMs: config.timeout_ms ?? this.#config.timeout_ms };
  }

  override async cleanup(session: Session<CodeSession | undefined>): Promise<void> {
    await session.data?.sandboxes.stop();
  }

  override async health({ signal }: LifecycleContext): Promise<BackendHealth> {
    try {
      const { name } = await this.#selector().select(this.#request({}), signal);
      return { up: true, details: { runtime: name } };
    } catch (error) {
      if (!ToolyardError.is(error)) throw error;
      return { up: false, reason: `${error.message} ${error.suggestion}` };
    }
  }

  @tool({
    description:
      "Run code in a sandbox. Variables, functions and imports last from call to call; top-level await works. " +
      "Answers stdout, stderr and the value of the last expression; an exception comes back in `error`.",
    params: RunParams,
    result: RunResult,
    annotations: { title: "Run code", destructiveHint: false, openWorldHint: false },
  })
  async run(params: Input<typeof RunParams>, context: ToolContext<CodeSession>): Promise<RunResult> {
    const { sandboxes, timeoutMs: defaultTimeoutMs } = context.session.data;
    const wantedMs = Math.min(params.timeout_ms ?? defaultTimeoutMs, this.#config.max_timeout_ms);
    const language: Language = params.language === "typescript" ? "javascript" : params.language;
    const open = await sandboxes.kernel(params.kernel ?? language, language, context.signal);
    open.executionCount += 1;
    const timeoutMs = Math.max(1, Math.min(wantedMs, Math.floor(context.timeLeftMs)));
    using stop = new StopSignal(context.signal);
    const execution = await open.kernel.run(
      {
        code: params.code,
        deadlineMs: timeoutMs,
        ...(params.language === "typescript" ? { dialect: "typescript" } : {}),
      },
      {
        signal: stop.signal,
        onOutput: (stream, text) => context.output(stream, text),
        onCall: ({ tool: action, args }, signal) => context.call(action, args, { signal, caller: "code" }),
      },
    );
    if (execution.stateLost) open.executionCount = 0;
    const result = toRunResult(execution, { language: params.language, open, timeoutMs });
    const { error, exit_code: exitCode } = result;
    // An interpreter other than bash that ended itself has an error already, whatever its code.
    const failed = params.language === "bash" && exitCode !== null && exitCode !== 0;
    if (error !== null || failed) context.setOutcome("tool_error");
    return result;
  }

  @tool({
    description: "Replace interpreters by fresh ones; files stay, variables and running processes go.",
    params: RestartParams,
    result: RestartResult,
    annotations: { title: "Restart kernels", destructiveHint: true, idempotentHint: true },
  })
  async restart(
    { kernel }: Input<typeof RestartParams>,
    { session }: ToolContext<CodeSession>,
  ): Promise<RestartResult> {
    return { restarted: await session.data.sandboxes.restart(kernel) };
  }

  @tool({
    description: "List the interpreters that are open in this session.",
    result: KernelsResult,
    annotations: { title: "List kernels", readOnlyHint: true, idempotentHint: true },
  })
  kernels(_params: object, { session }: ToolContext<CodeSession>): KernelsResult {
    const { sandboxes } = session.data;
    sandboxes.assertAlive();
    return {
      kernels: sandboxes.kernels.map(({ name, kernel, runtime, executionCount }) => ({
        name,
        language: kernel.language,
        runtime,
        execution_count: executionCount,
      })),
    };
  }

  #selector(): RuntimeSelector {
    if (this.runtimes !== undefined) return this.runtimes;
    throw new ToolyardError("runtime_unavailable", "the server gave the code backend no runtimes");
  }

  /** What the session asks for, where the config's own minimum isolation holds against a weaker wish. */
  #request(config: CodeSessionConfig): RuntimeRequest {
    const own = this.#config.min_isolation;
    const asked = config.min_isolation;
    const weaker = own !== undefined && (asked === undefined || isolatesAtLeast(own, asked));
    const minIsolation = weaker ? own : asked;
    return {
      runtime: config.runtime ?? this.#config.runtime,
      ...(minIsolation === undefined ? {} : { minIsolation }),
    };
  }

  #limits(config: CodeSessionConfig): SandboxLimits {
    const { memory_mib, pids, disk_mib, output_bytes } = { ...this.#config, ...config };
    return {
      ...(memory_mib === undefined ? {} : { memoryMiB: memory_mib }),
      ...(pids === undefined ? {} : { pids }),
      ...(disk_mib === undefined ? {} : { diskMiB: disk_mib }),
      ...(output_bytes === undefined ? {} : { outputBytes: output_bytes }),
    };
  }
}
