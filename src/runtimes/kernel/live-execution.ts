import type { Execution, ExecutionHooks, GuestCall, SandboxLimits } from "../../core/runtime.ts";
import type { CapturedOutput } from "../../core/sandbox-process.ts";
import type { ToolResult } from "../../core/result.ts";
import { ToolyardError } from "../../core/errors.ts";
import { toDisplay } from "./display-frames.ts";
import { MAX_FRAME_BYTES, ProtocolViolation } from "./frame.ts";
import type { CallFailure, EndFrame, HostFrame, StreamUsage } from "./messages.ts";

type StreamName = "stdout" | "stderr";

// Characters that the host keeps of a stream beside the limit: U+FFFD makes three bytes of one.
const SLACK = 4;

interface Stream {
  head: string;
  nextSequence: number;
}

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
  readonly #streams: Record<StreamName, Stream> = {
    stdout: { head: "", nextSequence: 0 },
    stderr: { head: "", nextSequence: 0 },
  };
  #lastCall = -1;
  #callCount = 0;
  #inFlight = 0;
  #ended = false;

  constructor(x: number, hooks: ExecutionHooks, limits: Required<SandboxLimits>, send: (frame: HostFrame) => void) {
    this.x = x;
    this.#hooks = hooks;
    this.#limits = limits;
    this.#send = send;
  }

  /** Takes output; a promise means that nothing more may be read until it settles. */
  output(name: StreamName, sequence: number, data: string): void | Promise<void> {
    const stream = this.#streams[name];
    if (sequence !== stream.nextSequence) throw new ProtocolViolation("output is out of order");
    stream.nextSequence += 1;
    stream.head += data;
    if (stream.head.length > this.#limits.outputBytes + SLACK) throw new ProtocolViolation("output is over its limit");
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
      stdout: this.#capture("stdout", end.usage.stdout),
      stderr: this.#capture("stderr", end.usage.stderr),
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
    const partial = (name: StreamName): CapturedOutput => {
      const { head } = this.#streams[name];
      return { text: head, bytes: Buffer.byteLength(head), truncated: false };
    };
    return {
      stdout: partial("stdout"),
      stderr: partial("stderr"),
      durationMs: performance.now() - this.#started,
    };
  }

  #capture(name: StreamName, usage: StreamUsage): CapturedOutput {
    const { head } = this.#streams[name];
    if (usage.tail.length > this.#limits.outputBytes + SLACK) throw new ProtocolViolation("output is over its limit");
    const gap = usage.omitted > 0 ? `\n… ${usage.omitted} bytes left out …\n` : "";
    return { text: head + gap + usage.tail, bytes: usage.bytes, truncated: usage.omitted > 0 };
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
