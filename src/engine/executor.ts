import { randomUUID } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { type ErrorName, ToolyardError } from "../core/errors.ts";
import type { ToolResult } from "../core/result.ts";
import { outOfScope } from "../core/scopes.ts";
import type { Admission } from "./admission.ts";
import type { EventBus } from "./bus.ts";
import { Call, CallContext, type CallRequest } from "./call.ts";
import { CallEvents } from "./call-events.ts";
import { toFailedResult, toSuccess } from "./call-result.ts";
import type { Catalog, CatalogEntry } from "./catalog.ts";
import { Deadline, settlesWithin } from "./deadline.ts";
import { toLastWord, toUnexpectedError } from "./failure.ts";
import type { EngineLimits } from "./limits.ts";
import { parseParams } from "./params.ts";
import { type PlainJson, toPlainJson } from "./plain-json.ts";
import { Preparation } from "./preparation.ts";
import type { ResourceRouter } from "./router.ts";
import type { SessionServices } from "./session-services.ts";
import { createSibling } from "./sibling-session.ts";
import type { LoopWatchdog } from "./watchdog.ts";

export interface ExecutorDeps {
  readonly catalog: Catalog;
  readonly router: ResourceRouter;
  readonly admission: Admission;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly logger: Logger;
  readonly watchdog: LoopWatchdog;
  readonly services: SessionServices;
}

/** How long a tool whose signal was aborted may take to say why in its own words, before it is answered for. */
const LAST_WORD_MS = 250;

/** What a tool throws when the session it ran in is of no use any more. */
const STATE_GONE: ReadonlySet<ErrorName> = new Set(["sandbox_dead", "session_lost"]);

/** Runs every call of every door: name, params, slot, session, turn, tool, result. */
export class ToolExecutor {
  readonly #deps: ExecutorDeps;
  readonly #preparation: Preparation;
  readonly #active = new Set<Call>();
  readonly #events: CallEvents;
  #onIdle: (() => void) | undefined;
  #stopping = false;

  constructor(deps: ExecutorDeps) {
    this.#deps = deps;
    this.#preparation = new Preparation(deps.router, deps.admission);
    this.#events = new CallEvents(deps.bus, deps.clock);
  }

  get activeCount(): number {
    return this.#active.size;
  }

  /** The tools that run now, once for each call. */
  running(): readonly string[] {
    return [...this.#active].map((call) => call.entry.fullName);
  }

  /** Runs one call; never rejects. */
  async execute(request: CallRequest): Promise<ToolResult> {
    const { catalog, clock } = this.#deps;
    const arrivedAt = clock.now();
    const traceId = request.traceId ?? randomUUID();
    let entry: CatalogEntry | undefined;
    let call: Call | undefined;
    let startedAt: number | undefined;
    const times = () => ({ arrivedAt, startedAt, endedAt: clock.now() });
    let result: ToolResult;
    try {
      // What running calls call themselves belongs to them.
      if (this.#stopping && request.within === undefined) {
        throw new ToolyardError("shutting_down", "The server is stopping");
      }
      entry = catalog.resolve(request.action);
      this.#authorize(entry, request);
      const params = parseParams(entry, request.params);
      // One random id serves both where the caller brought none: drawing one costs as much as a lookup.
      const id = request.callId ?? (request.traceId === undefined ? traceId : randomUUID());
      call = this.#open(request, id, traceId, entry);
      const preparing = this.#preparation.prepare(call);
      if (preparing !== undefined) await preparing;
      startedAt = clock.now();
      const plain = await this.#run(call, params, startedAt);
      result = toSuccess(call, plain, times());
    } catch (error) {
      const known = toCutShort(this.#toKnownError(error, traceId, entry, call), call);
      if (STATE_GONE.has(known.error)) {
        if (request.within !== undefined) request.within.metLoss = true;
        if (call?.lost !== undefined) this.#deps.router.lose(call.lost);
      }
      result = toFailedResult({ request, traceId, entry, call }, known, times());
    }
    if (call !== undefined) this.#close(call, result);
    this.#log(request, result);
    return result;
  }

  /** Refuses new calls, lets the running ones end until `drainMs`, then cancels them. */
  async drain(): Promise<void> {
    const { clock, limits } = this.#deps;
    this.#stopping = true;
    const idle = this.#whenIdle();
    if (await settlesWithin(clock, idle, limits.drainMs)) return;
    this.cancelAll();
    await settlesWithin(clock, idle, limits.abortGraceMs + LAST_WORD_MS);
  }

  /** Cancels every running call, as the server must stop now. */
  cancelAll(): void {
    for (const call of [...this.#active]) {
      call.cancel(new ToolyardError("shutting_down", "The server stopped before the call ended"));
    }
  }

  /** Cancels one running call; does nothing when there is none of that id. */
  cancel(callId: string, reason: ToolyardError): void {
    for (const call of this.#active) if (call.id === callId) call.cancel(reason);
  }

  loggerFor(call: Call): Logger {
    return this.#deps.logger.child({ tool: call.entry.fullName, trace_id: call.traceId, call_id: call.id });
  }

  get services(): SessionServices {
    return this.#deps.services;
  }

  createSession(call: Call, workerId: string, config: Readonly<Record<string, unknown>>) {
    return createSibling(this.#deps.router, call, workerId, config);
  }

  reportProgress(call: Call, data: Readonly<Record<string, unknown>>): void {
    this.#events.progress(call, data);
    call.request.observer?.onProgress?.(data);
  }

  reportOutput(call: Call, stream: "stdout" | "stderr", text: string): void {
    this.#events.output(call, stream, text);
  }

  #whenIdle(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#onIdle = resolve));
  }

  #authorize(entry: CatalogEntry, request: CallRequest): void {
    const { scopes } = request.caller;
    const { resource } = entry.mount;
    if (scopes !== undefined && !scopes.allows("execute", resource)) throw outOfScope("execute", resource);
    const kind = request.callerKind ?? "direct";
    if (entry.tool.definition.allowedCallers.includes(kind)) return;
    throw new ToolyardError("forbidden", `${entry.fullName} may not be called from ${kind}`);
  }

  #open(request: CallRequest, id: string, traceId: string, entry: CatalogEntry): Call {
    const { clock, limits } = this.#deps;
    const wanted = request.timeoutMs || entry.tool.definition.timeoutMs || limits.callTimeoutMs;
    const timeoutMs = Math.min(wanted, limits.maxCallTimeoutMs);
    const call = new Call(request, id, traceId, entry, new Deadline(clock, timeoutMs, entry.fullName, request.parent));
    this.#active.add(call);
    return call;
  }

  async #run(call: Call, params: unknown, startedAt: number): Promise<PlainJson> {
    const { clock, watchdog } = this.#deps;
    let pending = false;
    let work: unknown;
    try {
      // The turn may have come in the same moment as the end.
      if (call.deadline.ended !== undefined) throw call.deadline.ended;
      call.begun = true;
      this.#events.started(call);
      call.request.observer?.onStart?.();
      work = call.entry.tool.invoke(params, new CallContext(call, this, call.lease?.record.view));
      pending = isThenable(work);
      if (!pending) return this.#toPlain(work);
    } finally {
      watchdog.observe(call.entry.fullName, startedAt, clock.now());
      if (!pending) call.leave();
    }
    // A thenable that is no promise may throw or answer twice; a promise made of it does not.
    return this.#await(
      call,
      Promise.resolve(work).then((value) => this.#toPlain(value)),
    );
  }

  /** Copies the result while the call still has its turn, so that no later call changes it. */
  #toPlain(value: unknown): PlainJson {
    const { limits } = this.#deps;
    return toPlainJson(value, { maxBytes: limits.resultBytes, maxDepth: limits.resultDepth });
  }

  /** Waits for a tool's promise; once its signal is aborted the answer no longer waits for more than a last word. */
  #await(call: Call, work: Promise<PlainJson>): Promise<PlainJson> {
    const { clock, limits } = this.#deps;
    const { deadline } = call;
    return new Promise((resolve, reject) => {
      const release: (() => void)[] = [];
      const onEnd = () => {
        release.push(
          clock.after(LAST_WORD_MS, () => reject(deadline.ended)),
          clock.after(limits.abortGraceMs, () => this.#giveUp(call)),
        );
      };
      release.push(deadline.onEnd(onEnd));
      if (deadline.ended !== undefined) onEnd();
      const settle = () => {
        for (const undo of release) undo();
        call.leave();
      };
      work.then(
        (value) => {
          settle();
          if (deadline.ended === undefined) resolve(value);
          else reject(deadline.ended);
        },
        (error: unknown) => {
          settle();
          reject(deadline.ended === undefined ? error : toLastWord(deadline.ended, error));
        },
      );
    });
  }

  /** Frees the session of a tool that ignores its signal, and says so. */
  #giveUp(call: Call): void {
    const { limits, logger } = this.#deps;
    logger.error(
      { tool: call.entry.fullName, trace_id: call.traceId, grace_ms: limits.abortGraceMs },
      "a tool ignores its signal; it is given up and may still be working",
    );
    this.#events.abandoned(call);
    call.leave();
  }

  #close(call: Call, result: ToolResult): void {
    call.deadline.close();
    if (call.lease?.departed !== undefined) this.#deps.router.tell(call.lease.departed);
    this.#deps.watchdog.ended(call.entry.fullName);
    this.#active.delete(call);
    if (this.#active.size === 0) this.#onIdle?.();
    this.#events.ended(call, result);
  }

  #toKnownError(
    error: unknown,
    traceId: string,
    entry: CatalogEntry | undefined,
    call: Call | undefined,
  ): ToolyardError {
    if (ToolyardError.is(error)) return error;
    if (call?.deadline.ended !== undefined) return call.deadline.ended;
    this.#deps.logger.error({ err: error, tool: entry?.fullName, trace_id: traceId }, "a tool failed unexpectedly");
    return toUnexpectedError(entry?.fullName ?? "The call", traceId, error);
  }

  #log(request: CallRequest, result: ToolResult): void {
    const { meta } = result;
    const { logger } = this.#deps;
    const line = {
      tool: meta.tool,
      worker_id: request.caller.workerId,
      session_id: meta.session_id,
      trace_id: meta.trace_id,
      ms: meta.execution_time_ms,
      queued_ms: meta.queued_ms,
      outcome: meta.outcome,
      error: result.ok ? undefined : result.error.error,
      message: result.ok ? undefined : result.error.message,
    };
    if (logger.call === undefined) logger.info(line, "call");
    else logger.call(line);
  }
}

/**
 * A stop that met a call before its tool began turned it away; one that cut the tool short does not know what it did, and must
 * not have the call sent to the next server, unless the tool says that it may run again.
 */
function toCutShort(error: ToolyardError, call: Call | undefined): ToolyardError {
  if (error.error !== "shutting_down" || call?.begun !== true || call.repeatable) return error;
  return new ToolyardError("unknown_outcome", "The server stopped while it ran; it may have had its effect", {
    ...(error.details !== undefined && { details: error.details }),
    cause: error,
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
