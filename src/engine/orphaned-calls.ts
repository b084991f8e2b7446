import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallRequest } from "./call.ts";
import type { CancelSource } from "./deadline.ts";
import type { ToolExecutor } from "./executor.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Kept } from "./idempotency.ts";
import { SharedWait } from "./shared-wait.ts";

interface Orphan {
  readonly wait: SharedWait;
  readonly result: Promise<ToolResult>;
}

/**
 * Gives the answer of a call whose client went away to the next equal call without a key, for a while.
 *
 * For clients that know no keys and repeat a POST that took too long: the repeat finds the call that still runs in place of
 * running it again. Equal calls whose clients wait are all meant, and all run. A guess, so it is off unless configured.
 */
export class OrphanedCalls {
  readonly #executor: ToolExecutor;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #orphans = new Map<string, Orphan>();

  constructor(executor: ToolExecutor, clock: Clock, keepMs: number) {
    this.#executor = executor;
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  /** Calls that wait for a repeat. */
  get count(): number {
    return this.#orphans.size;
  }

  get enabled(): boolean {
    return this.#keepMs > 0;
  }

  /** Runs a call, or takes over an orphaned one; never rejects. A call without `parent` goes on by itself, and is not kept. */
  async execute(request: CallRequest): Promise<Kept<ToolResult>> {
    const { caller, action, params, sessionId, parent } = request;
    if (parent === undefined) return { value: await this.#executor.execute(request), replayed: false };
    const print = fingerprint(caller.tenant, caller.workerId, action, params, sessionId ?? null);
    const orphan = this.#orphans.get(print);
    if (orphan !== undefined) {
      this.#orphans.delete(print);
      orphan.wait.join(parent);
      this.#watch(print, orphan, parent);
      return { value: await orphan.result, replayed: true };
    }
    const wait = new SharedWait(this.#clock, this.#keepMs);
    wait.join(parent);
    const result = this.#executor.execute({ ...request, parent: wait }).finally(() => wait.close());
    this.#watch(print, { wait, result }, parent);
    return { value: await result, replayed: false };
  }

  /** Keeps the call for a while from when its client goes away. */
  #watch(print: string, orphan: Orphan, parent: CancelSource): void {
    parent.onEnd(() => {
      this.#orphans.set(print, orphan);
      this.#clock.after(this.#keepMs, () => {
        if (this.#orphans.get(print) === orphan) this.#orphans.delete(print);
      });
    });
  }
}
