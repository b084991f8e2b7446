import { ToolyardError } from "../core/errors.ts";
import type { Lifecycle, LifecycleDeps } from "./lifecycle.ts";
import type { Mount } from "./mount.ts";
import type { SessionCleaner } from "./session-cleaner.ts";
import type { SessionEvents } from "./session-events.ts";
import type { SessionRecord } from "./session-record.ts";

/** Runs the initialize of sessions, after their backend's warmup. */
export class SessionInitializer {
  readonly #lifecycles: ReadonlyMap<string, Lifecycle>;
  readonly #cleaner: SessionCleaner;
  readonly #deps: LifecycleDeps;
  readonly #events: SessionEvents;

  constructor(
    lifecycles: ReadonlyMap<string, Lifecycle>,
    cleaner: SessionCleaner,
    deps: LifecycleDeps,
    events: SessionEvents,
  ) {
    this.#events = events;
    this.#lifecycles = lifecycles;
    this.#cleaner = cleaner;
    this.#deps = deps;
  }

  /**
   * Initializes a session once and keeps what was made in its view; at once where the backend does. Never throws: what it returns
   * rejects with session_init_failed, or with the initialization's own reason when it was cancelled.
   */
  initialize(record: SessionRecord, { backend, resource }: Mount): Promise<void> | void {
    const { id: sessionId, workerId, tenant, config } = record;
    const lifecycle = this.#lifecycles.get(resource);
    if (lifecycle === undefined) return;
    let over = false;
    // What comes within the grace is cleaned with its session, what comes later by itself.
    const onLate = (data: unknown) => {
      if (over) void this.#cleaner.clean({ ...record.view, data });
      else record.keep(data);
    };
    const fail = (error: unknown): never => {
      over = true;
      throw this.#toInitError(record, error);
    };
    const run = () =>
      lifecycle.run(
        "initialize",
        this.#deps.limits.initializeTimeoutMs,
        (context) => backend.initialize?.({ workerId, tenant, sessionId, config }, context),
        { parent: record.initialization, onLate, emit: this.#events.earlyTeller(record) },
      );
    const keep = (data: unknown) => record.keep(data);
    try {
      const made = lifecycle.warm ? run() : lifecycle.warmUp(record.initialization).then(run);
      return made instanceof Promise ? made.then(keep, fail) : keep(made);
    } catch (error) {
      return Promise.reject(error).catch(fail);
    }
  }

  /**
   * Takes over a session that the last server left, and keeps what the backend made of its handle in its view.
   *
   * @throws ToolyardError session_lost
   */
  async adopt(record: SessionRecord, { backend, resource }: Mount, handle: unknown): Promise<void> {
    const lifecycle = this.#lifecycles.get(resource);
    let data: unknown = null;
    // What comes after the deadline belongs to nobody.
    const onLate = (late: unknown) => void this.#cleaner.clean({ ...record.view, data: late });
    try {
      if (lifecycle?.warm === false) await lifecycle.warmUp(record.initialization);
      data = await lifecycle?.run(
        "adopt",
        this.#deps.limits.initializeTimeoutMs,
        (context) => backend.adopt?.({ ...record.view, data: handle }, context) ?? null,
        { parent: record.initialization, onLate, emit: this.#events.earlyTeller(record) },
      );
    } catch (error) {
      this.#deps.logger.error({ err: error, resource, session_id: record.id }, "adopt failed");
    }
    if (data === null) throw new ToolyardError("session_lost", `The session ${record.id} was lost with its server`);
    record.keep(data);
  }

  #toInitError(record: SessionRecord, error: unknown): ToolyardError {
    if (ToolyardError.is(error) && error === record.initialization.ended) return error;
    const { resource } = record;
    const reason = this.#lifecycles.get(resource)?.describeFailure("initialize", error) ?? "";
    const message = `The ${resource} session could not be initialized: ${reason}`;
    const details = { resource_type: resource, details: reason };
    if (ToolyardError.is(error)) {
      const { suggestion, outcome, retryable } = error;
      return new ToolyardError("session_init_failed", message, {
        details: { ...details, error: error.error, ...error.details },
        cause: error,
        suggestion,
        outcome,
        retryable,
      });
    }
    this.#deps.logger.error({ err: error, resource, session_id: record.id }, "initialize failed");
    return new ToolyardError("session_init_failed", message, { details, cause: error });
  }
}
