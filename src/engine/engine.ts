import { type Clock, systemClock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import { Admission } from "./admission.ts";
import { EventBus } from "./bus.ts";
import { Catalog } from "./catalog.ts";
import { ToolExecutor } from "./executor.ts";
import type { EngineLimits } from "./limits.ts";
import type { Mount } from "./mount.ts";
import { ResourceRouter } from "./router.ts";
import { Sweeper } from "./sweeper.ts";
import { LoopWatchdog } from "./watchdog.ts";

export interface EngineOptions {
  readonly mounts: readonly Mount[];
  readonly limits: EngineLimits;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** The catalogue, the router and the executor, tied together: what every door stands on. */
export class Engine {
  readonly limits: EngineLimits;
  readonly clock: Clock;
  readonly bus = new EventBus();
  readonly catalog: Catalog;
  readonly router: ResourceRouter;
  readonly admission: Admission;
  readonly executor: ToolExecutor;
  readonly watchdog: LoopWatchdog;
  readonly #sweeper: Sweeper;
  #stopping: Promise<number> | undefined;

  /** @throws TypeError when two tools or two backends have one name. */
  constructor({ mounts, limits, logger, clock = systemClock }: EngineOptions) {
    this.limits = limits;
    this.clock = clock;
    this.catalog = new Catalog(mounts);
    this.router = new ResourceRouter(this.catalog.mounts, { clock, limits, logger }, this.bus);
    this.admission = new Admission(limits, clock);
    this.watchdog = new LoopWatchdog({
      lagMs: limits.loopLagMs,
      logger,
      bus: this.bus,
      running: () => this.executor.running(),
    });
    this.executor = new ToolExecutor({
      catalog: this.catalog,
      router: this.router,
      admission: this.admission,
      bus: this.bus,
      clock,
      limits,
      logger,
      watchdog: this.watchdog,
    });
    this.#sweeper = new Sweeper(clock, limits.sweepIntervalMs, () => this.router.sweep());
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  start(): void {
    this.#sweeper.start();
    this.watchdog.start();
  }

  /**
   * Lets calls end by the drain deadline, ends every session, shuts the backends down; resolves with the sessions it
   * ended. `force` cancels the calls at once, also when a stop is under way.
   */
  stop(options: { readonly force?: boolean } = {}): Promise<number> {
    this.#stopping ??= this.#stop();
    if (options.force === true) this.executor.cancelAll();
    return this.#stopping;
  }

  async #stop(): Promise<number> {
    this.#sweeper.stop();
    this.router.close();
    await this.executor.drain();
    const ended = await this.router.endAll();
    await Promise.all([...this.catalog.mounts.keys()].map((resource) => this.router.lifecycle(resource)?.shutdown()));
    this.watchdog.stop();
    return ended;
  }
}
