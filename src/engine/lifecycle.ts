import type { Clock } from "../core/clock.ts";
import type { LifecycleContext, Logger } from "../core/context.ts";
import { describeError, ToolyardError } from "../core/errors.ts";
import type { Session } from "../core/session.ts";
import { Cancellation, type CancelSource, Deadline, settlesWithin, untilEnded } from "./deadline.ts";
import type { EngineLimits } from "./limits.ts";
import type { Mount } from "./mount.ts";

/** What the lifecycle needs of the engine. */
export interface LifecycleDeps {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  readonly logger: Logger;
}

interface HookOptions<T> {
  readonly parent?: CancelSource;
  /** Takes what the hook made after its deadline. */
  readonly onLate?: (value: T) => void;
  readonly emit?: LifecycleContext["emit"];
}

/** Runs one backend's hooks, each with a deadline. */
export class Lifecycle {
  readonly #mount: Mount;
  readonly #deps: LifecycleDeps;
  readonly #logger: Logger;
  readonly #closing = new Cancellation();
  #warming: Promise<void> | undefined;
  #warm: boolean;
  #failure: string | undefined;

  constructor(mount: Mount, deps: LifecycleDeps) {
    this.#mount = mount;
    this.#deps = deps;
    this.#logger = deps.logger.child({ resource: mount.resource });
    this.#warm = mount.backend.warmup === undefined;
  }

  get warm(): boolean {
    return this.#warm;
  }

  /** Why the last warmup failed, in words that may be shown. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Warms the backend up once; callers that come meanwhile wait for the same run, and a failed run is not kept.
   *
   * @throws ToolyardError backend_unavailable when the hook throws or takes too long.
   */
  async warmUp(source?: CancelSource): Promise<void> {
    if (this.#warm) return;
    if (this.#closing.ended !== undefined) throw this.#closing.ended;
    this.#warming ??= this.#runWarmup().finally(() => (this.#warming = undefined));
    // The run is shared: a caller that gives up stops waiting, the run goes on.
    await (source === undefined ? this.#warming : untilEnded(this.#warming, source));
  }

  async #runWarmup(): Promise<void> {
    const { backend, resource } = this.#mount;
    try {
      await this.run("warmup", this.#deps.limits.warmupTimeoutMs, (context) => backend.warmup?.(context), {
        parent: this.#closing,
      });
      this.#warm = true;
      this.#failure = undefined;
    } catch (error) {
      if (error === this.#closing.ended) throw error;
      this.#logger.error({ err: error }, "warmup failed");
      this.#failure = ToolyardError.is(error) ? error.message : `${resource} could not be warmed up`;
      throw new ToolyardError("backend_unavailable", this.#failure, {
        details: { resource_type: resource },
        cause: error,
        ...(ToolyardError.is(error) && { suggestion: error.suggestion, outcome: error.outcome }),
      });
    }
  }

  /**
   * Runs a hook until its deadline; past it the hook's signal is aborted and the hook has a grace to end. What a hook returns at
   * once is returned at once.
   *
   * @throws whatever the hook throws; ToolyardError timeout past the deadline, once the hook has ended or is given up.
   */
  run<T>(
    hook: string,
    timeoutMs: number,
    body: (context: LifecycleContext) => Promise<T> | T,
    options: HookOptions<T> = {},
  ): Promise<T> | T {
    const { resource } = this.#mount;
    const deadline = new Deadline(this.#deps.clock, timeoutMs, `${resource} ${hook}`, options.parent);
    let running: Promise<T> | T;
    try {
      running = body(new HookContext(resource, this.#logger, deadline, options.emit));
    } catch (error) {
      deadline.close();
      throw error;
    }
    if (isThenable(running)) return this.#await(hook, Promise.resolve(running), deadline, options.onLate);
    deadline.close();
    return running;
  }

  /** By hand and not by `await`, as two hooks run for every call that has a session of its own. */
  #await<T>(hook: string, work: Promise<T>, deadline: Deadline, onLate?: (value: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const onEnd = () => {
        void this.#waitOut(hook, work, onLate).then(() => reject(deadline.ended));
      };
      if (deadline.ended === undefined) deadline.onEnd(onEnd);
      else onEnd();
      work.then(
        (value) => {
          if (deadline.ended !== undefined) return;
          deadline.close();
          resolve(value);
        },
        (error: unknown) => {
          if (deadline.ended !== undefined) return;
          deadline.close();
          reject(error);
        },
      );
    });
  }

  /** Gives a hook whose deadline is over time to end by itself; whatever it made by then must not leak. */
  async #waitOut<T>(hook: string, work: Promise<T>, onLate?: (value: T) => void): Promise<void> {
    const { clock, limits } = this.#deps;
    if (!(await settlesWithin(clock, work, limits.abortGraceMs)))
      this.#logger.error({ hook, grace_ms: limits.abortGraceMs }, "a hook ignores its signal; it is given up");
    work.then(onLate, () => undefined);
  }

  /**
   * Runs a session's cleanup once.
   *
   * @throws whatever the hook throws; ToolyardError timeout past the deadline.
   */
  cleanUp(session: Session<unknown>, emit?: LifecycleContext["emit"]): Promise<void> | void {
    const { backend } = this.#mount;
    if (backend.cleanup === undefined) return;
    const { cleanupTimeoutMs } = this.#deps.limits;
    return this.run("cleanup", cleanupTimeoutMs, (context) => backend.cleanup?.(session, context), { emit });
  }

  /** Ends a warmup that still runs, then shuts the backend down; never rejects. */
  async shutdown(): Promise<void> {
    const { backend } = this.#mount;
    this.#closing.cancel(new ToolyardError("shutting_down", "The server is stopping"));
    await this.#warming?.catch(() => undefined);
    if (backend.shutdown === undefined) return;
    try {
      await this.run("shutdown", this.#deps.limits.cleanupTimeoutMs, (context) => backend.shutdown?.(context));
    } catch (error) {
      this.#logger.error({ err: error, reason: describeError(error) }, "shutdown failed");
    }
  }

  /** Says in words why a hook failed, without showing an unexpected error's text. */
  describeFailure(hook: string, error: unknown): string {
    if (ToolyardError.is(error)) return error.message;
    return `${this.#mount.resource} ${hook} failed`;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** What a hook is given; its signal is made only if the hook asks for it. */
class HookContext implements LifecycleContext {
  readonly resource: string;
  readonly logger: Logger;
  readonly emit: LifecycleContext["emit"];
  readonly #deadline: Deadline;

  constructor(resource: string, logger: Logger, deadline: Deadline, emit: LifecycleContext["emit"]) {
    this.emit = emit;
    this.resource = resource;
    this.logger = logger;
    this.#deadline = deadline;
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }
}
