import type { Operation } from "./messages.ts";
import { type OperationContext, WorkerThread, type WorkerThreadOptions } from "./worker-thread.ts";

/**
 * Has a worker thread: starts it when it is needed, and another after it ended.
 *
 * A thread that crashes, exits or has to be stopped fails what it was doing with typed errors, and nothing else.
 */
export class ThreadHost {
  readonly #options: WorkerThreadOptions;
  #thread: WorkerThread | undefined;
  #generation = 0;

  constructor(options: WorkerThreadOptions) {
    this.#options = options;
  }

  get running(): boolean {
    return this.#thread !== undefined;
  }

  /** Counts the threads so far; each new one has lost what the one before it held. */
  get generation(): number {
    return this.#generation;
  }

  /** Starts the thread if it does not run. */
  start(): void {
    this.#started();
  }

  /**
   * Runs one operation in the thread.
   *
   * An abort ends at once what has not begun; for what has, it waits until the plugin's code ends, or the thread.
   *
   * @throws what the plugin threw; ToolyardError session_lost or backend_unavailable when the thread ends first, as a
   *   NeverStartedError if that was before the plugin's code began
   */
  run(operation: Operation, context: OperationContext): Promise<unknown> {
    if (context.signal.aborted) return Promise.reject(context.signal.reason);
    return this.#started().run(operation, context);
  }

  /** Ends the thread and whatever still runs in it. */
  async stop(): Promise<void> {
    await this.#thread?.stop();
  }

  /** Whether the thread gives a sign of life within the grace. */
  async responds(): Promise<boolean> {
    return (await this.#thread?.responds()) ?? false;
  }

  #started(): WorkerThread {
    if (this.#thread !== undefined) return this.#thread;
    const thread = new WorkerThread(this.#options, () => (this.#thread = undefined));
    this.#generation += 1;
    this.#thread = thread;
    return thread;
  }
}
