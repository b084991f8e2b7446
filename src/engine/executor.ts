import { randomUUID } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { ToolyardError } from "../core/errors.ts";
import type { EventType } from "../core/events.ts";
import type { ResultMeta, ToolResult } from "../core/result.ts";
import type { EventBus } from "./bus.ts";
import { Call, CallContext, type CallRequest } from "./call.ts";
import type { Catalog, CatalogEntry } from "./catalog.ts";
import { Deadline, settlesWithin } from "./deadline.ts";
import { toFailure, toUnexpectedError } from "./failure.ts";
import type { EngineLimits } from "./limits.ts";
import { parseParams } from "./params.ts";
import { toPlainJson } from "./plain-json.ts";
import type { Lease, ResourceRouter } from "./router.ts";
import type { LoopWatchdog } from "./watchdog.ts";

export interface ExecutorDeps {
  readonly catalog: Catalog;
  readonly router: ResourceRouter;
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly logger: Logger;
  readonly watchdog: LoopWatchdog;
}

/** How long a tool whose signal was aborted may take to say why in its own words, before it is answered for. */
const LAST_WORD_MS = 250;

/** Runs every call of every door: name, params, session, turn, tool, result. */
export class ToolExecutor {
  readonly #deps: ExecutorDeps;
  readonly #active = new Set<Call>();
  readonly #left = new WeakSet<Lease>();
  #onIdle: (() => void) | undefined;
  #stopping = false;

  constructor(deps: ExecutorDeps) {
    this.#deps = deps;
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
    let startedAt = arrivedAt;
    let result: ToolResult;
    try {
      if (this.#stopping) throw new ToolyardError("shutting_down", "The server is stopping");
      entry = catalog.resolve(request.action);
      this.#authorize(entry, request);
      const params = parseParams(entry, request.params);
      call = this.#open(request, traceId, entry);
      await this.#prepare(call);
      startedAt = clock.now();
      const data = await this.#run(call, params);
      result = this.#succeed(call, data, arrivedAt, startedAt);
    } catch (error) {
      result = this.#fail(request, traceId, entry, call, error, arrivedAt, startedAt);
    }
    if (call !== undefined) this.#close(call, result);
    this.#log(request, result);
    return result;
  }

  /** Refuses new calls, lets the running ones end until `drainMs` (at once with `force`), then cancels them. */
  async drain(options: { readonly force?: boolean } = {}): Promise<void> {
    const { clock, limits } = this.#deps;
    this.#stopping = true;
    const idle = this.#whenIdle();
    if (options.force !== true && (await settlesWithin(clock, idle, limits.drainMs))) return;
    for (const call of [...this.#active]) {
      call.cancel(new ToolyardError("shutting_down", "The server stopped before the call ended"));
    }
    await settlesWithin(clock, idle, limits.abortGraceMs + LAST_WORD_MS);
  }

  loggerFor(call: Call): Logger {
    return this.#deps.logger.child({ tool: call.entry.fullName, trace_id: call.traceId, call_id: call.id });
  }

  reportProgress(call: Call, data: Readonly<Record<string, unknown>>): void {
    this.#emit("call.progress", call, data);
  }

  #whenIdle(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#onIdle = resolve));
  }

  #authorize(entry: CatalogEntry, request: CallRequest): void {
    const kind = request.callerKind ?? "direct";
    if (entry.tool.definition.allowedCallers.includes(kind)) return;
    throw new ToolyardError("forbidden", `${entry.fullName} may not be called from ${kind}`);
  }

  #open(request: CallRequest, traceId: string, entry: CatalogEntry): Call {
    const { clock, limits } = this.#deps;
    const wanted = request.timeoutMs || entry.tool.definition.timeoutMs || limits.callTimeoutMs;
    const timeoutMs = Math.min(wanted, limits.maxCallTimeoutMs);
    const call = new Call(request, traceId, entry, new Deadline(clock, timeoutMs, entry.fullName, request.parent));
    this.#active.add(call);
    this.#emit("call.started", call, { action: entry.fullName });
    return call;
  }

  /** Warms the backend, leases the session and waits for its turn; on the hot path none of it waits. */
  async #prepare(call: Call): Promise<void> {
    const { mount, sessions } = call.entry;
    const { deadline } = call;
    if (deadline.ended !== undefined) throw deadline.ended;
    const { router } = this.#deps;
    if (!sessions) {
      const lifecycle = router.lifecycle(mount.resource);
      if (lifecycle?.warm === false) await lifecycle.warmUp(deadline);
      return;
    }
    const leasing = router.acquire(mount, call.request.caller, call, { deadline, sessionId: call.request.sessionId });
    const lease = leasing instanceof Promise ? await leasing : leasing;
    call.lease = lease;
    const { turns } = lease.record;
    if (turns === undefined || call.request.within === lease.record || turns.tryEnter()) return;
    try {
      await turns.enter(deadline);
    } catch (error) {
      // It never had the turn, so there is none to hand on.
      call.lease = undefined;
      lease.release();
      throw error;
    }
  }

  async #run(call: Call, params: unknown): Promise<unknown> {
    const { clock, watchdog } = this.#deps;
    const context = new CallContext(call, this, call.lease?.record.view);
    const before = clock.now();
    let work: unknown;
    try {
      work = call.entry.tool.invoke(params, context);
    } catch (error) {
      this.#leave(call);
      throw error;
    } finally {
      watchdog.observe(call.entry.fullName, before, clock.now());
    }
    if (!isThenable(work)) {
      this.#leave(call);
      return work;
    }
    return this.#await(call, work);
  }

  /** Waits for a tool's promise; once its signal is aborted the answer no longer waits for more than a last word. */
  #await(call: Call, work: PromiseLike<unknown>): Promise<unknown> {
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
        this.#leave(call);
      };
      work.then(
        (value) => {
          settle();
          if (deadline.ended === undefined) resolve(value);
          else reject(deadline.ended);
        },
        (error: unknown) => {
          settle();
          // A tool's own typed error may hold more than the deadline's: what it had printed, what it had lost.
          reject(ToolyardError.is(error) ? error : (deadline.ended ?? error));
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
    this.#emit("call.abandoned", call, {});
    this.#leave(call);
  }

  /** Hands the turn and the lease on; further calls change nothing. */
  #leave(call: Call): void {
    const lease = call.lease;
    if (lease === undefined || this.#left.has(lease)) return;
    this.#left.add(lease);
    if (call.request.within !== lease.record) lease.record.turns?.leave();
    lease.release();
  }

  #close(call: Call, result: ToolResult): void {
    call.deadline.close();
    this.#deps.watchdog.ended(call.entry.fullName);
    this.#active.delete(call);
    if (this.#active.size === 0) this.#onIdle?.();
    if (!this.#deps.bus.watched) return;
    const failed = !result.ok;
    const type = !failed ? "call.completed" : result.error.error === "cancelled" ? "call.cancelled" : "call.failed";
    this.#emit(type, call, {
      outcome: result.meta.outcome,
      execution_time_ms: result.meta.execution_time_ms,
      ...(failed && { error: result.error.error, message: result.error.message }),
    });
  }

  #succeed(call: Call, data: unknown, arrivedAt: number, startedAt: number): ToolResult {
    const { clock, limits } = this.#deps;
    const plain = toPlainJson(data, { maxBytes: limits.resultBytes, maxDepth: limits.resultDepth });
    const lease = call.lease;
    return {
      ok: true,
      data: plain.value,
      meta: {
        tool: call.entry.fullName,
        execution_time_ms: round(clock.now() - startedAt),
        resource_type: call.entry.resourceType,
        session_id: lease?.record.id ?? null,
        trace_id: call.traceId,
        outcome: call.outcome,
        queued_ms: round(startedAt - arrivedAt),
        ...(lease?.record.temporary === true && { temporary_session: true }),
        ...(lease?.expiredSession !== undefined && { expired_session: lease.expiredSession }),
        ...(plain.lossy.length > 0 && { lossy: plain.lossy }),
      },
    };
  }

  #fail(
    request: CallRequest,
    traceId: string,
    entry: CatalogEntry | undefined,
    call: Call | undefined,
    error: unknown,
    arrivedAt: number,
    startedAt: number,
  ): ToolResult {
    const known = this.#toKnownError(error, traceId, entry, call);
    const failure = toFailure(known);
    const meta: ResultMeta = {
      tool: entry?.fullName ?? request.action.slice(0, 256),
      execution_time_ms: round(this.#deps.clock.now() - startedAt),
      resource_type: entry?.resourceType ?? null,
      session_id: call?.lease?.record.id ?? null,
      trace_id: traceId,
      outcome: failure.outcome,
      queued_ms: round(startedAt - arrivedAt),
      error: failure.error,
      retryable: failure.retryable,
      suggestion: failure.suggestion,
    };
    return { ok: false, error: failure, meta };
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
    this.#deps.logger.info(
      {
        tool: meta.tool,
        worker_id: request.caller.workerId,
        session_id: meta.session_id,
        trace_id: meta.trace_id,
        ms: meta.execution_time_ms,
        queued_ms: meta.queued_ms,
        outcome: meta.outcome,
        ...(!result.ok && { error: result.error.error, message: result.error.message }),
      },
      "call",
    );
  }

  #emit(type: EventType, call: Call, data: Readonly<Record<string, unknown>>): void {
    const { bus, clock } = this.#deps;
    if (!bus.watched) return;
    bus.emit({
      type,
      ts: clock.date().toISOString(),
      tenant: call.request.caller.tenant,
      worker_id: call.request.caller.workerId,
      ...(call.lease !== undefined && { session_id: call.lease.record.id }),
      ...(call.entry.resourceType !== null && { resource: call.entry.resourceType }),
      call_id: call.id,
      trace_id: call.traceId,
      data,
    });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function round(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
