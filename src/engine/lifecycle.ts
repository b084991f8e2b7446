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
   * Runs a hook until its deadline; past it the hook's signal is aborted and the hook has a grace to end.
   *
   * @throws whatever the hook throws; ToolyardError timeout past the deadline, once the hook has ended or is given up.
   */
  async run<T>(
    hook: string,
    timeoutMs: number,
    body: (context: LifecycleContext) => Promise<T> | T,
    options: {
      readonly parent?: CancelSource;
      readonly onLate?: (value: T) => void;
      readonly emit?: LifecycleContext["emit"];
    } = {},
  ): Promise<T> {
    const { clock, limits } = this.#deps;
    const deadline = new Deadline(clock, timeoutMs, `${this.#mount.resource} ${hook}`, options.parent);
    const context = new HookContext(this.#mount.resource, this.#logger, deadline, options.emit);
    let work: Promise<T> | undefined;
    try {
      const running = body(context);
      if (!isThenable(running)) return running;
      work = Promise.resolve(running);
      return await untilEnded(work, deadline);
    } catch (error) {
      if (deadline.ended === undefined || work === undefined) throw error;
      const settled = await settlesWithin(clock, work, limits.abortGraceMs);
      if (!settled)
        this.#logger.error({ hook, grace_ms: limits.abortGraceMs }, "a hook ignores its signal; it is given up");
      // Whatever it made after its deadline must not leak.
      work.then(options.onLate, () => undefined);
      throw error;
    } finally {
      deadline.close();
    }
  }

  /**
   * Runs a session's cleanup once.
   *
   * @throws whatever the hook throws; ToolyardError timeout past the deadline.
   */
  async cleanUp(session: Session<unknown>, emit?: LifecycleContext["emit"]): Promise<void> {
    const { backend } = this.#mount;
    if (backend.cleanup === undefined) return;
    const { cleanupTimeoutMs } = this.#deps.limits;
    await this.run("cleanup", cleanupTimeoutMs, (context) => backend.cleanup?.(session, context), { emit });
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
