import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../core/clock.ts";
import type { Logger } from "../core/context.ts";
import type { Store } from "../core/store.ts";
import type { TerminalRecordings } from "../core/terminal-recordings.ts";
import { Admission } from "./admission.ts";
import { EventBus } from "./bus.ts";
import { CallStreams } from "./call-streams.ts";
import { ControlLeases } from "./control-leases.ts";
import { Catalog } from "./catalog.ts";
import { settlesWithin } from "./deadline.ts";
import { Desktops } from "./desktops/desktops.ts";
import { EventLog } from "./event-log.ts";
import { ToolExecutor } from "./executor.ts";
import { Idempotency } from "./idempotency.ts";
import { Jobs } from "./jobs.ts";
import { KeyedCalls } from "./keyed-calls.ts";
import { KeptStreams } from "./kept-streams.ts";
import type { EngineLimits } from "./limits.ts";
import type { Mount } from "./mount.ts";
import { OpenEnds } from "./open-ends.ts";
import { OrphanedCalls } from "./orphaned-calls.ts";
import { HeldBytes } from "./held-bytes.ts";
import { ParamsBudget } from "./params-budget.ts";
import { ResourceRouter } from "./router.ts";
import { SandboxLoans } from "./sandbox-loans.ts";
import { SessionJournal } from "./session-journal.ts";
import { ExposedPorts } from "./session-ports.ts";
import { SessionServices } from "./session-services.ts";
import { SteadyTime } from "./steady-time.ts";
import { Sweeper } from "./sweeper.ts";
import { Terminals } from "./terminals/terminals.ts";
import { LoopWatchdog } from "./watchdog.ts";

export interface EngineOptions {
  readonly mounts: readonly Mount[];
  readonly limits: EngineLimits;
  readonly logger: Logger;
  /** Where what must survive is written; whoever opened it closes it after `stop`. */
  readonly store: Store;
  readonly clock?: Clock;
  /** Keeps what terminals show; whoever made it closes it after `stop`. Nothing of it outlives a session by default. */
  readonly recordings?: TerminalRecordings | undefined;
}

/** How long a stop waits for the store to keep what the last calls and jobs came to. */
const STORE_WAIT_MS = 5_000;
/** How often what is older than its retention is forgotten. */
const PRUNE_INTERVAL_MS = 60_000;

/** The catalogue, the router and the executor, tied together: what every door stands on. */
export class Engine {
  readonly limits: EngineLimits;
  readonly clock: Clock;
  readonly bus = new EventBus();
  /** Empty until `recover`. */
  readonly log: EventLog;
  readonly streams: CallStreams;
  readonly catalog: Catalog;
  readonly router: ResourceRouter;
  readonly admission: Admission;
  readonly executor: ToolExecutor;
  readonly watchdog: LoopWatchdog;
  readonly ports: ExposedPorts;
  readonly terminals: Terminals;
  readonly recordings: TerminalRecordings | undefined;
  readonly desktops: Desktops;
  /** Who controls the desktop and the terminals of a session. */
  readonly leases: ControlLeases;
  /** Lends the sandboxes of sessions to what is no call. */
  readonly loans: SandboxLoans;
  /** Runs calls that carry an idempotency key. */
  readonly calls: KeyedCalls;
  /** Runs calls without a key where the config guesses which of them are repeats. */
  readonly orphans: OrphanedCalls;
  readonly jobs: Jobs;
  /** Room for the params of calls that outlive their request. */
  readonly params: ParamsBudget;
  /** What callers' plain calls hold; those of jobs and streams are counted by `params`. */
  readonly held: HeldBytes;
  /** Names this run of the server in what it stores. */
  readonly instance = randomUUID();
  readonly #idempotency: Idempotency;
  readonly #journal: SessionJournal;
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #sweeper: Sweeper;
  readonly #pruner: Sweeper;
  #stopping: Promise<number> | undefined;

  /** @throws TypeError when two tools or two backends have one name. */
  constructor({ mounts, limits, logger, store, clock = systemClock, recordings }: EngineOptions) {
    this.recordings = recordings;
    this.limits = limits;
    this.clock = clock;
    this.#store = store;
    this.#logger = logger;
    this.log = new EventLog({ store: store.events, bus: this.bus, clock, logger, limits });
    this.catalog = new Catalog(mounts);
    const kept = { instance: this.instance, clock, time: new SteadyTime(clock), limits, logger };
    const journal = new SessionJournal({ ...kept, store: store.sessions });
    this.#journal = journal;
    this.router = new ResourceRouter(this.catalog.mounts, { clock, limits, logger }, this.bus, journal);
    this.admission = new Admission(limits, clock);
    this.watchdog = new LoopWatchdog({
      lagMs: limits.loopLagMs,
      logger,
      bus: this.bus,
      running: () => this.executor.running(),
    });
    this.loans = new SandboxLoans(this.router, clock);
    const beside = { clock, limits, bus: this.bus };
    this.ports = new ExposedPorts(beside);
    this.terminals = new Terminals({ ...beside, recordings });
    const desktops = new Desktops(beside);
    this.desktops = desktops;
    // Their own keys would stay down under the human's, and a button that is held keeps other pointers out.
    this.leases = new ControlLeases(beside, (record, refusal) => desktops.releaseInput(record, refusal));
    this.executor = new ToolExecutor({
      catalog: this.catalog,
      router: this.router,
      admission: this.admission,
      bus: this.bus,
      clock,
      limits,
      logger,
      watchdog: this.watchdog,
      services: new SessionServices({
        ...beside,
        desktops,
        ports: this.ports,
        terminals: this.terminals,
        leases: this.leases,
      }),
    });
    const { catalog, executor } = this;
    const idempotency = new Idempotency({ ...kept, store: store.idempotency });
    this.#idempotency = idempotency;
    this.streams = new CallStreams({ bus: this.bus, clock, limits, kept: new KeptStreams(idempotency) });
    this.calls = new KeyedCalls(executor, catalog, idempotency);
    this.orphans = new OrphanedCalls(executor, clock, limits.dedupeUnkeyedMs);
    this.held = new HeldBytes(limits);
    this.params = new ParamsBudget(limits.heldParamsBytes, this.held);
    const { calls, params } = this;
    this.jobs = new Jobs({ ...kept, executor, catalog, calls, params, idempotency, store: store.jobs });
    this.#sweeper = new Sweeper(clock, limits.sweepIntervalMs, () => this.router.sweep());
    this.#pruner = new Sweeper(clock, PRUNE_INTERVAL_MS, () => void this.#prune());
  }

  /** Takes over what the last server on the same store left; to be awaited before `start`. */
  async recover(): Promise<void> {
    // First, so that it holds what the others tell.
    const leftIds = new Set((await this.#store.sessions.live()).map(({ id }) => id));
    const ends = await OpenEnds.find(this.#store.events);
    await this.log.open([...leftIds.union(new Set(ends.sessionIds))]);
    ends.tell(this.bus, this.clock, leftIds);
    this.router.recovery.sandboxes = ends.sandboxes;
    await Promise.all([this.#idempotency.recover(), this.jobs.recover(), this.router.recovery.run()]);
  }

  /** The background end of sessions whose time is over; nobody meets such a session while it is stopped, either. */
  get cleanup(): Pick<Sweeper, "running" | "start" | "stop"> {
    return this.#sweeper;
  }

  /** Whose a live session, a job under way or a held stream is, by its id; for the audit, never for an answer. */
  tenantOf(id: string): string | undefined {
    return this.router.tenantOf(id) ?? this.jobs.tenantOf(id) ?? this.streams.tenantOf(id);
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  start(): void {
    this.#sweeper.start();
    this.#pruner.start();
    this.watchdog.start();
  }

  /**
   * Lets calls end by the drain deadline, ends every session, shuts the backends down; resolves with the sessions it
   * ended. `force` cancels the calls at once, also when a stop is under way.
   */
  stop(options: { readonly force?: boolean } = {}): Promise<number> {
    this.#stopping ??= this.#stop();
    if (options.force === true) {
      this.executor.cancelAll();
      this.loans.cancelAll();
    }
    return this.#stopping;
  }

  async #stop(): Promise<number> {
    this.#sweeper.stop();
    this.#pruner.stop();
    this.router.close();
    this.jobs.close();
    await Promise.all([this.executor.drain(), this.loans.drain(this.limits.drainMs)]);
    const written = Promise.all([this.#idempotency.settled(), this.jobs.settled()]);
    if (!(await settlesWithin(this.clock, written, STORE_WAIT_MS))) {
      this.#logger.error({ wait_ms: STORE_WAIT_MS }, "the store did not write the ends of all calls and jobs in time");
    }
    const ended = await this.router.endAll();
    await Promise.all([...this.catalog.mounts.keys()].map((resource) => this.router.lifecycle(resource)?.shutdown()));
    this.watchdog.stop();
    await this.log.stop();
    return ended;
  }

  async #prune(): Promise<void> {
    try {
      await Promise.all([
        this.#idempotency.prune(),
        this.jobs.prune(),
        this.#journal.prune(),
        this.recordings?.prune(),
      ]);
    } catch (error) {
      this.#logger.error({ err: error }, "old records could not be removed");
    }
  }
}
