import type { CallOptions } from "../../core/caller.ts";
import type { SessionRequest, ToolContext } from "../../core/context.ts";
import type { BackendSource } from "../backend-source.ts";
import type { Session } from "../../core/session.ts";
import type { ToolResult } from "../../core/result.ts";
import type { CrossedError } from "../../core/crossed-error.ts";
import type { OperationClaim } from "./operation-claim.ts";

/** What a worker thread is started with. */
export interface WorkerStart {
  readonly source: BackendSource;
  readonly config: Readonly<Record<string, unknown>>;
  readonly resource: string;
  readonly apis: Readonly<Record<string, unknown>>;
  /** Where the backend may keep what must outlive the server. */
  readonly dataDir?: string;
  /** One number: the id of the operation whose synchronous part runs now, or 0. The host reads it to see who blocks. */
  readonly current: Int32Array<SharedArrayBuffer>;
}

/** A session without its data, which never leaves the worker. */
export type SessionFacts = Omit<Session, "data">;

/** What of a tool's context is plain data. */
export type CallFacts = Pick<ToolContext, "workerId" | "tenant" | "callId" | "traceId" | "timeLeftMs">;

/** One piece of work for the worker. */
export type Operation =
  | { readonly kind: "warmup" | "shutdown" | "health" }
  | { readonly kind: "initialize"; readonly request: SessionRequest }
  | { readonly kind: "cleanup" | "reset" | "handle"; readonly session: SessionFacts }
  | { readonly kind: "adopt"; readonly session: SessionFacts; readonly handle: unknown }
  | {
      readonly kind: "tool";
      readonly tool: string;
      readonly params: unknown;
      readonly session: SessionFacts | undefined;
      readonly call: CallFacts;
    };

export type LogLevel = "debug" | "info" | "warn" | "error";

/** From the host to the worker. */
export type ToWorker =
  | { readonly kind: "run"; readonly id: number; readonly claim: OperationClaim; readonly operation: Operation }
  | { readonly kind: "abort"; readonly id: number; readonly reason: CrossedError }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "answer"; readonly callId: number; readonly result: ToolResult }
  | { readonly kind: "refusal"; readonly callId: number; readonly error: CrossedError };

/** From the worker to the host. */
export type ToHost =
  | { readonly kind: "unloadable"; readonly error: CrossedError }
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly error: CrossedError }
  | { readonly kind: "pong"; readonly id: number }
  | { readonly kind: "progress"; readonly id: number; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: "output"; readonly id: number; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "outcome"; readonly id: number; readonly outcome: "ok" | "tool_error" | "limit" }
  | {
      readonly kind: "log";
      readonly id: number;
      readonly level: LogLevel;
      readonly facts: object;
      readonly message: string | undefined;
    }
  | {
      readonly kind: "call";
      readonly id: number;
      readonly callId: number;
      readonly action: string;
      readonly params: Readonly<Record<string, unknown>>;
      readonly options: Omit<CallOptions, "signal">;
    }
  | { readonly kind: "call-abort"; readonly callId: number; readonly reason: CrossedError };
