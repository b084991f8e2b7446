import type { Execution, ExecutionHooks, GuestCall, SandboxLimits } from "../../core/runtime.ts";
import type { CapturedOutput } from "../../core/sandbox-process.ts";
import type { ToolResult } from "../../core/result.ts";
import { ToolyardError } from "../../core/errors.ts";
import { toDisplay } from "./display-frames.ts";
import { MAX_FRAME_BYTES, ProtocolViolation } from "./frame.ts";
import { CapturedStream } from "./captured-stream.ts";
import type { CallFailure, EndFrame, HostFrame } from "./messages.ts";

type StreamName = "stdout" | "stderr";

/** What a killed execution leaves behind. */
export interface PartialExecution {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly durationMs: number;
}

/** The host's side of one execution: what is live, what it may still do, what it has written so far. */
export class LiveExecution {
  readonly x: number;
  readonly #hooks: ExecutionHooks;
  readonly #limits: Required<SandboxLimits>;
  readonly #send: (frame: HostFrame) => void;
  readonly #started = performance.now();
  // Aborts the tools that user code called when the execution ends before they do.
  readonly #calls = new AbortController();
  readonly #streams: Readonly<Record<StreamName, CapturedStream>>;
  readonly #sequences: Record<StreamName, number> = { stdout: 0, stderr: 0 };
  #lastCall = -1;
  #callCount = 0;
  #inFlight = 0;
  #ended = false;

  constructor(x: number, hooks: ExecutionHooks, limits: Required<SandboxLimits>, send: (frame: HostFrame) => void) {
    this.x = x;
    this.#hooks = hooks;
    this.#limits = limits;
    this.#send = send;
    this.#streams = {
      stdout: new CapturedStream(limits.outputBytes),
      stderr: new CapturedStream(limits.outputBytes),
    };
  }

  /** Takes output; a promise means that nothing more may be read until it settles. */
  output(name: StreamName, sequence: number, data: string): void | Promise<void> {
    if (sequence !== this.#sequences[name]) throw new ProtocolViolation("output is out of order");
    this.#sequences[name] += 1;
    this.#streams[name].append(data);
    return this.#hooks.onOutput?.(name, data);
  }

  /** Starts a call at once; its answer may overtake earlier ones. */
  call(call: GuestCall): void {
    if (call.index <= this.#lastCall) throw new ProtocolViolation("a call's id was used before");
    this.#lastCall = call.index;
    this.#callCount += 1;
    this.#inFlight += 1;
    if (this.#inFlight > this.#limits.callsInFlight)
      throw new ProtocolViolation("more calls are in flight than allowed");
    void this.#answer(call);
  }

  async #answer(call: GuestCall): Promise<void> {
    const { x } = this;
    const i = call.index;
    let frame: HostFrame;
    try {
      const result = await this.#run(call);
      frame = result.ok
        ? { t: "res", x, i, ok: true, value: result.data ?? null }
        : { t: "res", x, i, ok: false, error: toFailure(result) };
    } catch (error) {
      frame = { t: "res", x, i, ok: false, error: toMaskedFailure(error) };
    }
    this.#inFlight -= 1;
    if (this.#ended) return;
    try {
      this.#send(frame);
    } catch (error) {
      const message =
        error instanceof RangeError ? `the result is over ${MAX_FRAME_BYTES} bytes` : "the result is not JSON";
      this.#send({ t: "res", x, i, ok: false, error: failure("result_invalid", message) });
    }
  }

  #run(call: GuestCall): Promise<ToolResult> {
    if (this.#callCount > this.#limits.calls) {
      throw new ToolyardError("limit_exceeded", `code may make ${this.#limits.calls} calls in one execution`);
    }
    if (this.#hooks.onCall === undefined) throw new ToolyardError("tool_not_found", "code may not call tools here");
    return this.#hooks.onCall(call, this.#calls.signal);
  }

  /** Builds the result from the sandbox's own account, and aborts what user code left running. */
  finish(end: EndFrame): Execution {
    this.abandon();
    return {
      status: end.status,
      stdout: this.#streams.stdout.finish(end.usage.stdout),
      stderr: this.#streams.stderr.finish(end.usage.stderr),
      value: end.value,
      text: end.text,
      valueTruncated: end.value_truncated,
      lossy: end.lossy,
      displays: end.displays.map(toDisplay),
      displaysOmitted: end.displays_omitted,
      error: end.error,
      limit: end.limit,
      exitCode: end.exit_code,
      signal: end.signal,
      stateLost: end.state_lost,
      durationMs: end.usage.duration_ms,
    };
  }

  /** Aborts the calls that are still running and tells what came so far. */
  abandon(): PartialExecution {
    this.#ended = true;
    this.#calls.abort();
    return {
      stdout: this.#streams.stdout.partial(),
      stderr: this.#streams.stderr.partial(),
      durationMs: performance.now() - this.#started,
    };
  }
}

function failure(type: string, message: string): CallFailure {
  return { type, message, code: 0, data: null, retryable: false };
}

function toFailure({ error }: Extract<ToolResult, { ok: false }>): CallFailure {
  return {
    type: error.error,
    message: error.message,
    code: error.code,
    data: error.details ?? null,
    retryable: error.retryable,
  };
}

function toMaskedFailure(error: unknown): CallFailure {
  if (ToolyardError.is(error)) {
    return {
      type: error.error,
      message: error.message,
      code: error.code,
      data: error.details ?? null,
      retryable: error.retryable,
    };
  }
  // What else was thrown may hold paths or secrets: user code learns only that it failed.
  return failure("internal_error", "the tool failed");
}
