import type { ExecutionRequest, ExecutionStatus, GuestError, Language } from "../../core/runtime.ts";
import { parseDisplays, type WireDisplay } from "./display-frames.ts";
import {
  amount,
  count,
  type Fields,
  fields,
  flag,
  integer,
  isCount,
  isFields,
  nullable,
  text,
  texts,
  wrong,
} from "./fields.ts";
import { ProtocolViolation } from "./frame.ts";
import { type OperationFrame, type OperationRequest, parseOperationFrame } from "./operation-messages.ts";

/** The version of the message model that both sides must name. */
export const PROTOCOL_VERSION = 1;

/** The limits that the sandbox side applies; the host applies those of calls again. */
export interface WireLimits {
  readonly memory_mib: number;
  readonly pids: number;
  readonly output_bytes: number;
  readonly result_bytes: number;
  readonly calls: number;
  readonly calls_in_flight: number;
}

/** How a kernel takes the code: as TypeScript, or as an order to write or read its state. */
export type Dialect = "typescript" | "dump_state" | "load_state";

/** What a kernel is to run, the host's own orders included. */
export type KernelRequest = Omit<ExecutionRequest, "dialect"> & { readonly dialect?: Dialect };

/** What the host sends. `x` names an execution, `k` a kernel, `i` a call within an execution. */
export type HostFrame =
  | { readonly t: "hello"; readonly v: number; readonly limits: WireLimits; readonly egress_port?: number }
  | {
      readonly t: "exec";
      readonly x: number;
      readonly k: string;
      readonly language: Language;
      readonly code: string;
      readonly deadline_ms: number;
      readonly dialect?: Dialect;
    }
  | { readonly t: "res"; readonly x: number; readonly i: number; readonly ok: true; readonly value: unknown }
  | {
      readonly t: "res";
      readonly x: number;
      readonly i: number;
      readonly ok: false;
      readonly error: CallFailure;
    }
  | { readonly t: "cancel"; readonly x: number }
  | { readonly t: "reset"; readonly k: string }
  | { readonly t: "ping"; readonly n: number }
  | { readonly t: "bye" }
  | OperationRequest;

/** Why a tool call of user code failed. */
export interface CallFailure {
  readonly type: string;
  readonly message: string;
  readonly code: number;
  readonly data: unknown;
  readonly retryable: boolean;
}

/** What the sandbox side counted of one stream; the tail is what was not sent as it came. */
export interface StreamUsage {
  readonly bytes: number;
  readonly omitted: number;
  readonly tail: string;
}

export interface EndFrame {
  readonly t: "end";
  readonly x: number;
  readonly status: ExecutionStatus;
  readonly value: unknown;
  readonly text: string | null;
  readonly value_truncated: boolean;
  readonly lossy: readonly string[];
  readonly displays: readonly WireDisplay[];
  readonly displays_omitted: number;
  readonly error: GuestError | null;
  readonly limit: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly state_lost: boolean;
  readonly usage: {
    readonly duration_ms: number;
    readonly stdout: StreamUsage;
    readonly stderr: StreamUsage;
  };
}

/** A kernel that a supervisor has from before. */
export interface KernelFacts {
  readonly name: string;
  readonly language: Language;
}

/** What a supervisor says of itself when it is ready. */
export interface Readiness {
  /** Of engines, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Those that it has from before. */
  readonly kernels: readonly KernelFacts[];
  readonly paused: boolean;
}

/** What the sandbox side sends, after it was checked. */
export type SandboxFrame =
  | {
      readonly t: "ready";
      readonly v: number;
      readonly versions: Readonly<Record<string, string>>;
      readonly kernels: readonly KernelFacts[];
      readonly paused: boolean;
    }
  | {
      readonly t: "call";
      readonly x: number;
      readonly i: number;
      readonly tool: string;
      readonly args: Readonly<Record<string, unknown>>;
    }
  | {
      readonly t: "out";
      readonly x: number;
      readonly stream: "stdout" | "stderr";
      readonly seq: number;
      readonly data: string;
    }
  | { readonly t: "idle"; readonly x: number; readonly pending: readonly number[] }
  | { readonly t: "reset"; readonly k: string }
  | EndFrame
  | { readonly t: "pong"; readonly n: number }
  | OperationFrame;

const STATUSES: ReadonlySet<string> = new Set<ExecutionStatus>([
  "ok",
  "error",
  "exited",
  "timeout",
  "cancelled",
  "limit",
]);

/**
 * Checks a decoded message, by hand because it runs for every call of user code.
 *
 * @throws ProtocolViolation for an unknown type or a field that is missing or of the wrong type.
 */
export function parseSandboxFrame(message: unknown): SandboxFrame {
  if (!isFields(message)) throw new ProtocolViolation("a frame is not an object");
  switch (message["t"]) {
    case "call":
      return {
        t: "call",
        x: count(message, "x"),
        i: count(message, "i"),
        tool: text(message, "tool"),
        args: fields(message, "args"),
      };
    case "out": {
      const stream = message["stream"];
      if (stream !== "stdout" && stream !== "stderr") throw wrong("stream");
      return {
        t: "out",
        x: count(message, "x"),
        stream,
        seq: count(message, "seq"),
        data: text(message, "data"),
      };
    }
    case "end":
      return parseEnd(message);
    case "idle": {
      const pending = message["pending"];
      if (!Array.isArray(pending) || !pending.every(isCount)) throw wrong("pending");
      return { t: "idle", x: count(message, "x"), pending };
    }
    case "ready": {
      const versions = fields(message, "versions");
      const named: Record<string, string> = {};
      for (const [name, version] of Object.entries(versions)) {
        if (typeof version !== "string") throw wrong("versions");
        named[name] = version;
      }
      return {
        t: "ready",
        v: count(message, "v"),
        versions: named,
        kernels: kernelFacts(message),
        paused: message["paused"] === true,
      };
    }
    case "reset":
      return { t: "reset", k: text(message, "k") };
    case "pong":
      return { t: "pong", n: count(message, "n") };
    default:
      return parseOperationFrame(message);
  }
}

function parseEnd(message: Fields): EndFrame {
  const status = message["status"];
  if (!isStatus(status)) throw wrong("status");
  const usage = fields(message, "usage");
  return {
    t: "end",
    x: count(message, "x"),
    status,
    value: message["value"] ?? null,
    text: nullable(message, "text", text),
    value_truncated: flag(message, "value_truncated"),
    lossy: texts(message, "lossy"),
    displays: parseDisplays(message["displays"]),
    displays_omitted: count(message, "displays_omitted"),
    error: nullable(message, "error", guestError),
    limit: nullable(message, "limit", text),
    exit_code: nullable(message, "exit_code", integer),
    signal: nullable(message, "signal", text),
    state_lost: flag(message, "state_lost"),
    usage: {
      duration_ms: amount(usage, "duration_ms"),
      stdout: streamUsage(usage, "stdout"),
      stderr: streamUsage(usage, "stderr"),
    },
  };
}

function kernelFacts(message: Fields): KernelFacts[] {
  const kernels = message["kernels"] ?? [];
  if (!Array.isArray(kernels)) throw wrong("kernels");
  return kernels.map((kernel: unknown) => {
    if (!isFields(kernel)) throw wrong("kernels");
    const language = kernel["language"];
    if (language !== "javascript" && language !== "python" && language !== "bash") throw wrong("language");
    return { name: text(kernel, "name"), language };
  });
}

function guestError(message: Fields, key: string): GuestError {
  const error = fields(message, key);
  const line = nullable(error, "line", integer);
  return {
    name: text(error, "name"),
    message: text(error, "message"),
    ...(line === null ? {} : { line }),
    traceback: text(error, "traceback"),
  };
}

function streamUsage(usage: Fields, key: string): StreamUsage {
  const stream = fields(usage, key);
  return { bytes: count(stream, "bytes"), omitted: count(stream, "omitted"), tail: text(stream, "tail") };
}

const isStatus = (value: unknown): value is ExecutionStatus => typeof value === "string" && STATUSES.has(value);
