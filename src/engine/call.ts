import type { CallerKind, CallOptions } from "../core/caller.ts";
import type { ToolContext } from "../core/context.ts";
import type { ToolyardError, Outcome } from "../core/errors.ts";
import type { SessionControl } from "../core/control.ts";
import type { SessionStreams } from "../core/desktop.ts";
import type { Actor } from "../core/events.ts";
import type { SessionPorts } from "../core/exposed-port.ts";
import type { SessionTerminals } from "../core/terminal.ts";
import type { ToolResult } from "../core/result.ts";
import type { Session } from "../core/session.ts";
import type { Ticket } from "./admission-lane.ts";
import type { CatalogEntry } from "./catalog.ts";
import { type CancelSource, type Deadline, fromSignal } from "./deadline.ts";
import type { ToolExecutor } from "./executor.ts";
import type { Lease } from "./session-request.ts";
import { SerialQueue } from "./serial-queue.ts";
import type { LeaseHolder, SessionRecord } from "./session-record.ts";
import type { Caller } from "./session-table.ts";

/** Told how a call gets on, by the call itself. */
export interface CallObserver {
  /** The tool is about to run: from here on the call may have had an effect. */
  onStart?(): void;
  onProgress?(data: Readonly<Record<string, unknown>>): void;
}

/** One call as a door hands it to the executor. */
export interface CallRequest {
  /** Chosen by the door where it must know the id before the call starts; unique for ever. */
  readonly callId?: string | undefined;
  readonly caller: Caller;
  readonly action: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Milliseconds; 0 and undefined mean the tool's or the server's default. */
  readonly timeoutMs?: number | undefined;
  readonly sessionId?: string | undefined;
  readonly traceId?: string | undefined;
  /** Ends the call when it aborts: the client went away, the parent call ended. */
  readonly parent?: CancelSource | undefined;
  readonly callerKind?: CallerKind | undefined;
  /** Shows that the call is made by the human who has control of the session. */
  readonly controlLease?: string | undefined;
  /** What is sent twice under one key runs once; only doors that go through `KeyedCalls` and `Jobs` look at it. */
  readonly idempotencyKey?: string | undefined;
  readonly observer?: CallObserver | undefined;
  /** The call whose tool makes this one. */
  readonly within?: Call | undefined;
}

/** A call that passed the checks, while it waits and runs. */
export class Call implements LeaseHolder {
  readonly id: string;
  readonly request: CallRequest;
  readonly traceId: string;
  readonly entry: CatalogEntry;
  readonly deadline: Deadline;
  outcome: Outcome = "ok";
  /** Its end has been told: what its tool still reports is nobody's, and its session may be long gone. */
  over = false;
  /** Who makes its input, once that has been asked. */
  actor: Actor | undefined;
  /** Its tool was started: from then on it may have had an effect. */
  begun = false;
  /** A call that its tool made found the state of its session gone. */
  metLoss = false;
  lease: Lease | undefined;
  /** Its slot, once it is admitted; a call that a tool makes has none of its own. */
  slot: Ticket | undefined;
  /** The line in which it holds the turn. */
  turns: SerialQueue | undefined;
  #innerTurns: SerialQueue | undefined;
  /** Leases of the temporary sessions that calls of its tool made. */
  readonly #kept: Lease[] = [];
  #left = false;

  constructor(request: CallRequest, id: string, traceId: string, entry: CatalogEntry, deadline: Deadline) {
    this.id = id;
    this.request = request;
    this.traceId = traceId;
    this.entry = entry;
    this.deadline = deadline;
  }

  /** Its session, if that is what an error of a lost state is about: a tool may only throw on what an inner call met. */
  get lost(): SessionRecord | undefined {
    return this.metLoss ? undefined : this.lease?.record;
  }

  /** Whether its tool says that it has no further effect when it runs again. */
  get repeatable(): boolean {
    const { annotations } = this.entry.tool.definition;
    return annotations.idempotentHint === true || annotations.readOnlyHint === true;
  }

  cancel(reason: ToolyardError): void {
    this.deadline.cancel(reason);
  }

  /** Hands the turn, the session and the slot on; further calls change nothing. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.turns?.leave();
    this.lease?.release();
    for (const lease of this.#kept) lease.release();
    this.slot?.leave();
  }

  /** Has a temporary session that a call of its tool runs in live until its tool is done: the tool's next call finds it. */
  keep(record: SessionRecord, take: (holder: LeaseHolder) => Lease): void {
    const isHeld = this.held(record.resource) === record || this.#kept.some((lease) => lease.record === record);
    if (this.#left || isHeld) return;
    this.#kept.push(take(this));
  }

  /** Whether this call, or one that it is made from, holds a slot now. */
  get admitted(): boolean {
    return (!this.#left && this.slot !== undefined) || this.request.within?.admitted === true;
  }

  /** Finds the session of a resource that this call, or one that it is made from, holds now. */
  held(resource: string): SessionRecord | undefined {
    return this.holder(resource)?.lease?.record;
  }

  /** Finds which of this call and those that it is made from holds a session of the resource now, nearest first. */
  holder(resource: string): Call | undefined {
    const holds = !this.#left && this.lease?.record.resource === resource;
    return holds ? this : this.request.within?.holder(resource);
  }

  /** The line of the calls that its tool makes into its own session, which run inside its turn, one after another too. */
  get innerTurns(): SerialQueue {
    this.#innerTurns ??= new SerialQueue();
    return this.#innerTurns;
  }
}

/** What the tool sees of its call. */
export class CallContext implements ToolContext<never> {
  readonly #call: Call;
  readonly #executor: ToolExecutor;
  // The catalogue ties each tool to its own backend, whose initialize made this session's data.
  readonly session: never;

  constructor(call: Call, executor: ToolExecutor, session: Session<unknown> | undefined) {
    this.#call = call;
    this.#executor = executor;
    this.session = session as never; // erased here once; see above
  }

  get workerId(): string {
    return this.#call.request.caller.workerId;
  }

  get tenant(): string {
    return this.#call.request.caller.tenant;
  }

  get callId(): string {
    return this.#call.id;
  }

  get traceId(): string {
    return this.#call.traceId;
  }

  get logger() {
    return this.#executor.loggerFor(this.#call);
  }

  get signal(): AbortSignal {
    return this.#call.deadline.signal;
  }

  get timeLeftMs(): number {
    return this.#call.deadline.timeLeftMs;
  }

  get ports(): SessionPorts | undefined {
    const record = this.#call.lease?.record;
    return record && this.#executor.services.ports(record);
  }

  get terminals(): SessionTerminals | undefined {
    const record = this.#call.lease?.record;
    return record && this.#executor.services.terminals(record, this.#call);
  }

  get streams(): SessionStreams | undefined {
    const record = this.#call.lease?.record;
    return record && this.#executor.services.streams(record, this.#call);
  }

  get control(): SessionControl | undefined {
    const record = this.#call.lease?.record;
    return record && this.#executor.services.control(record, this.#call);
  }

  /** Of its own, so that it may be taken out of its context. */
  get emit(): NonNullable<ToolContext["emit"]> {
    const call = this.#call;
    const { services } = this.#executor;
    return (type, data) => {
      if (!call.over) services.tell(call, type, data);
    };
  }

  progress(data: Readonly<Record<string, unknown>>): void {
    if (!this.#call.over) this.#executor.reportProgress(this.#call, data);
  }

  output(stream: "stdout" | "stderr", text: string): void {
    if (!this.#call.over) this.#executor.reportOutput(this.#call, stream, text);
  }

  setOutcome(outcome: "ok" | "tool_error" | "limit"): void {
    this.#call.outcome = outcome;
  }

  createSession(workerId: string, config: Readonly<Record<string, unknown>>) {
    return this.#executor.createSession(this.#call, workerId, config);
  }

  call(action: string, params: Readonly<Record<string, unknown>> = {}, options: CallOptions = {}): Promise<ToolResult> {
    const { deadline } = this.#call;
    const parent =
      options.signal === undefined ? deadline : fromSignal(AbortSignal.any([deadline.signal, options.signal]));
    return this.#executor.execute({
      caller: this.#call.request.caller,
      action,
      params,
      timeoutMs: options.timeoutMs,
      sessionId: options.sessionId,
      traceId: options.traceId ?? this.#call.traceId,
      parent,
      callerKind: options.caller,
      within: this.#call,
    });
  }
}
