import type { CallOptions } from "./caller.ts";
import type { SessionControl } from "./control.ts";
import type { SessionStreams } from "./desktop.ts";
import type { Outcome } from "./errors.ts";
import type { EventData, ToldByTools } from "./events.ts";
import type { SessionPorts } from "./exposed-port.ts";
import type { ToolResult } from "./result.ts";
import type { Session } from "./session.ts";
import type { SessionTerminals } from "./terminal.ts";

/** The part of pino's logger that plugins may use: an object of facts first, then a message. */
export interface Logger {
  debug(facts: object, message?: string): void;
  info(facts: object, message?: string): void;
  warn(facts: object, message?: string): void;
  error(facts: object, message?: string): void;
  child(facts: Record<string, unknown>): Logger;
  /** Writes the one line of a call at `info`, cheaper than `info` does; the values are plain and hold no secrets. */
  call?(facts: Readonly<Record<string, string | number | null | undefined>>): void;
}

/** What a lifecycle hook is given. */
export interface LifecycleContext {
  /** The name that the backend is mounted under. */
  readonly resource: string;
  readonly logger: Logger;
  /** Aborted at the hook's deadline, when nobody waits for it any more, and on shutdown. */
  readonly signal: AbortSignal;
  /** Tells the event log what a session's hook did; absent in hooks of no session, and in a worker thread. */
  readonly emit?: (<T extends ToldByTools>(type: T, data: EventData[T]) => void) | undefined;
}

/** What `initialize` is told of the session it makes. */
export interface SessionRequest<C = Readonly<Record<string, unknown>>> {
  readonly workerId: string;
  readonly tenant: string;
  readonly sessionId: string;
  /** The caller's session config over the backend's own, merged one level deep. */
  readonly config: C;
}

/** What a tool is given beside its params. */
export interface ToolContext<D = void> {
  /** The worker's session; `undefined` in a backend without sessions. */
  readonly session: [D] extends [void] ? undefined : Session<D>;
  readonly workerId: string;
  readonly tenant: string;
  readonly callId: string;
  readonly traceId: string;
  readonly logger: Logger;
  /** Aborted on timeout, on cancellation and on shutdown; the tool must end its work, not only its wait. */
  readonly signal: AbortSignal;
  /** Milliseconds until the call's timeout, for work that ends better by itself than when it is aborted. */
  readonly timeLeftMs: number;
  /** Tells whoever watches the call how far it is; cheap when nobody does. */
  progress(data: Readonly<Record<string, unknown>>): void;
  /** Passes on what the tool's work writes, as it comes, to whoever streams the call; never waits. */
  output(stream: "stdout" | "stderr", text: string): void;
  /** Reports that the result, though delivered, is a failure of the model's own work (its code raised, say). */
  setOutcome(outcome: Extract<Outcome, "ok" | "tool_error" | "limit">): void;
  /** Opens ports of the session's sandbox to the outside; absent without a session, and in a worker thread. */
  readonly ports?: SessionPorts | undefined;
  /** The terminals of the session's sandbox; absent without a session, and in a worker thread. */
  readonly terminals?: SessionTerminals | undefined;
  /** Lets others watch the session's desktop; absent without a session, and in a worker thread. */
  readonly streams?: SessionStreams | undefined;
  /** To be asked before each input to a desktop; absent without a session, and in a worker thread. */
  readonly control?: SessionControl | undefined;
  /** Tells the event log what the tool did, as an event of this call; absent in a worker thread. */
  readonly emit?: <T extends ToldByTools>(type: T, data: EventData[T]) => void;
  /**
   * Makes a session of the tool's own resource for another worker of the same tenant, as that worker itself would; absent in
   * a worker thread.
   *
   * @throws ToolyardError `conflict` when that worker has one; `session_init_failed`, `invalid_input`, `overloaded`.
   */
  readonly createSession?: (
    workerId: string,
    config: Readonly<Record<string, unknown>>,
  ) => Promise<{ readonly id: string; readonly name: string }>;
  /** Calls another tool of the same worker, inside this call's deadline. */
  call(action: string, params?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolResult>;
}
