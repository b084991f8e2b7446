import { ToolyardError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import { Cancellation, untilEnded } from "./deadline.ts";
import type { Lifecycle, LifecycleDeps } from "./lifecycle.ts";
import type { SessionEvents } from "./session-events.ts";

const RETRIES_MS = [1_000, 10_000] as const;
const NOTHING_TO_DO = Promise.resolve();

/** Runs the cleanups of sessions, again when one fails. */
export class SessionCleaner {
  readonly #lifecycles: ReadonlyMap<string, Lifecycle>;
  readonly #deps: LifecycleDeps;
  readonly #events: SessionEvents;
  #running = 0;
  #onIdle: (() => void)[] = [];
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
    const lifecycle = this.#lifecycles.get(session.resource);
    if (lifecycle === undefined) return NOTHING_TO_DO;
    this.#running += 1;
    return this.#tryOnce(lifecycle, session).then(
      () => this.#over(),
      (error: unknown) => this.#tryAgain(lifecycle, session, error).finally(() => this.#over()),
    );
  }

  /** Waits until no cleanup runs; those that fail are tried again without delay from now on. */
  async finish(): Promise<void> {
    this.#hurry.cancel(new ToolyardError("shutting_down", "The server is stopping"));
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  #tryOnce(lifecycle: Lifecycle, session: Session<unknown>): Promise<void> {
    try {
      const cleaning = lifecycle.cleanUp(session, this.#events.teller(session));
      // One that is over at once, whatever it returned, is told of no sooner than another: the call that it follows comes first.
      return cleaning instanceof Promise ? cleaning : NOTHING_TO_DO.then(() => undefined);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #tryAgain(lifecycle: Lifecycle, session: Session<unknown>, failure: unknown): Promise<void> {
    let error = failure;
    for (const delayMs of RETRIES_MS) {
      this.#tell(session, error, delayMs);
      await this.#pause(delayMs);
      try {
        return await this.#tryOnce(lifecycle, session);
      } catch (next) {
        error = next;
      }
    }
    this.#tell(session, error, undefined);
    this.leaked += 1;
  }

  #tell({ resource, id }: Session<unknown>, error: unknown, retryMs: number | undefined): void {
    const facts = { err: error, resource, session_id: id, retry_ms: retryMs };
    this.#deps.logger.error(facts, "cleanup failed");
  }

  #over(): void {
    this.#running -= 1;
    if (this.#running === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  async #pause(ms: number): Promise<void> {
    let cancelTimer: () => void = () => undefined;
    const timer = new Promise<void>((resolve) => (cancelTimer = this.#deps.clock.after(ms, resolve)));
    await untilEnded(timer, this.#hurry).catch(cancelTimer);
  }
}
