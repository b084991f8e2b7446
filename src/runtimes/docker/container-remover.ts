import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/context.ts";
import { describeError } from "../../core/errors.ts";
import { type EngineClient, DEADLINES_MS } from "./engine-client.ts";
import { StartGate } from "../kernel/start-gate.ts";
import { isConflict, isMissing } from "./engine-failure.ts";

const REMOVALS_AT_ONCE = 8;
/** Milliseconds before each further attempt that the caller waits for. */
const PATIENCE_MS = [200, 800];
const MAX_DELAY_MS = 60_000;
const FIRST_DELAY_MS = 2_000;

/** A container that could not be removed yet. */
export interface Leak {
  readonly container: string;
  readonly attempts: number;
  readonly since: Date;
  /** For the log. */
  readonly lastError: string;
}

/** What remains to be done for a container that is gone. */
export type OnGone = () => Promise<void>;

/** Removes containers, and goes on trying when the engine fails to. */
export class ContainerRemover {
  readonly #engine: EngineClient;
  readonly #clock: Clock;
  readonly #logger: Logger | undefined;
  // A hundred at once, as at a server's end, are no sooner gone, and the last ones would miss their deadlines.
  readonly #removing = new StartGate(REMOVALS_AT_ONCE);
  readonly #leaks = new Map<string, Leak>();
  readonly #timers = new Set<() => void>();
  #closed = false;

  constructor(options: { readonly engine: EngineClient; readonly clock: Clock; readonly logger?: Logger }) {
    this.#engine = options.engine;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** What is left over and still tried for. */
  get leaks(): readonly Leak[] {
    return [...this.#leaks.values()];
  }

  /**
   * Removes a container by its id or name, running or not. Never throws: after a few attempts it counts as leaked, which is
   * logged and listed, and is tried for from time to time.
   *
   * @param onGone called once it is gone, sooner or later, and waited for; that it fails is nobody's concern.
   * @returns whether it is gone.
   */
  async remove(container: string, onGone: OnGone = async () => {}): Promise<boolean> {
    let failure: unknown;
    for (const delayMs of [0, ...PATIENCE_MS]) {
      // One attempt after another is the point.
      // oxlint-disable-next-line no-await-in-loop
      if (delayMs > 0) await new Promise<void>((resolve) => void this.#clock.after(delayMs, resolve));
      // oxlint-disable-next-line no-await-in-loop
      failure = await this.#attempt(container);
      if (failure === undefined) {
        // oxlint-disable-next-line no-await-in-loop
        await onGone().catch(() => {});
        return true;
      }
    }
    this.#leak({ container, attempts: 1 + PATIENCE_MS.length, since: this.#clock.date() }, failure, onGone);
    return false;
  }

  /** Stops trying: the next server of the deployment reaps what is left. */
  close(): void {
    this.#closed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #leak(leak: Omit<Leak, "lastError">, failure: unknown, onGone: OnGone): void {
    const { container, attempts } = leak;
    const lastError = describeError(failure);
    this.#leaks.set(container, { ...leak, lastError });
    this.#logger?.error({ container, attempts, err: failure }, "a container could not be removed; it is tried again");
    if (this.#closed) return;
    const tries = attempts - PATIENCE_MS.length - 1;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** tries, MAX_DELAY_MS);
    const cancel = this.#clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      void this.#attempt(container).then((again) => {
        if (again !== undefined) return this.#leak({ ...leak, attempts: attempts + 1 }, again, onGone);
        this.#leaks.delete(container);
        this.#logger?.info({ container }, "a leaked container is gone");
        return onGone().catch(() => {});
      });
    });
    this.#timers.add(cancel);
  }

  /** @returns what went wrong; `undefined` when it is gone. */
  async #attempt(container: string): Promise<unknown> {
    const call = { what: `removing the container ${container}`, deadlineMs: DEADLINES_MS.remove };
    try {
      // The deadline begins with the attempt, not with the wait for those before it.
      await this.#removing.run(new AbortController().signal, () =>
        this.#engine.call(call, (docker, abortSignal) =>
          docker.getContainer(container).remove({ force: true, v: true, abortSignal }),
        ),
      );
      return undefined;
    } catch (error) {
      if (isMissing(error)) return undefined;
      // Somebody else is removing it: it is gone once that is done.
      return isConflict(error) ? this.#awaitRemoval(container) : error;
    }
  }

  async #awaitRemoval(container: string): Promise<unknown> {
    const call = { what: `waiting for the removal of ${container}`, deadlineMs: DEADLINES_MS.remove };
    try {
      await this.#engine.call(call, (docker, abortSignal) =>
        docker.getContainer(container).wait({ condition: "removed", abortSignal }),
      );
      return undefined;
    } catch (error) {
      return isMissing(error) ? undefined : error;
    }
  }
}
