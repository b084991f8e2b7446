import { ToolyardError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import { Cancellation, untilEnded } from "./deadline.ts";
import type { Lifecycle, LifecycleDeps } from "./lifecycle.ts";
import type { SessionEvents } from "./session-events.ts";

const RETRIES_MS = [1_000, 10_000] as const;

/** Runs the cleanups of sessions, again when one fails. */
export class SessionCleaner {
  readonly #lifecycles: ReadonlyMap<string, Lifecycle>;
  readonly #deps: LifecycleDeps;
  readonly #events: SessionEvents;
  readonly #running = new Set<Promise<void>>();
  readonly #hurry = new Cancellation();
  /** Sessions whose cleanup failed for good. */
  leaked = 0;

  constructor(lifecycles: ReadonlyMap<string, Lifecycle>, deps: LifecycleDeps, events: SessionEvents) {
    this.#events = events;
    this.#lifecycles = lifecycles;
    this.#deps = deps;
  }

  /** Cleans a session up; never rejects. */
  clean(session: Session<unknown>): Promise<void> {
    const cleaning = this.#clean(session).finally(() => this.#running.delete(cleaning));
    this.#running.add(cleaning);
    return cleaning;
  }

  /** Waits until no cleanup runs; those that fail are tried again without delay from now on. */
  async finish(): Promise<void> {
    this.#hurry.cancel(new ToolyardError("shutting_down", "The server is stopping"));
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #clean(session: Session<unknown>): Promise<void> {
    const lifecycle = this.#lifecycles.get(session.resource);
    if (lifecycle === undefined) return;
    for (const delayMs of [...RETRIES_MS, undefined]) {
      try {
        await lifecycle.cleanUp(session, this.#events.teller(session));
        return;
      } catch (error) {
        const facts = { err: error, resource: session.resource, session_id: session.id, retry_ms: delayMs };
        this.#deps.logger.error(facts, "cleanup failed");
        if (delayMs !== undefined) await this.#pause(delayMs);
      }
    }
    this.leaked += 1;
  }

  async #pause(ms: number): Promise<void> {
    let cancelTimer: () => void = () => undefined;
    const timer = new Promise<void>((resolve) => (cancelTimer = this.#deps.clock.after(ms, resolve)));
    await untilEnded(timer, this.#hurry).catch(cancelTimer);
  }
}
