import type { Clock } from "../core/clock.ts";
import { ToolyardError } from "../core/errors.ts";
import { BackendLoad, Lane, Ticket, WorkerLoad } from "./admission-lane.ts";
import type { CancelSource } from "./deadline.ts";
import { DrainRate } from "./drain-rate.ts";
import type { EngineLimits } from "./limits.ts";
import type { SerialQueue } from "./serial-queue.ts";
import { type Caller, toWorkerKey } from "./session-table.ts";

/** The limits that admission keeps. */
export type AdmissionLimits = Pick<
  EngineLimits,
  | "maxConcurrentCalls"
  | "maxConcurrentPerBackend"
  | "maxConcurrentPerWorker"
  | "maxQueuedCalls"
  | "maxQueuedPerBackend"
  | "maxQueuedPerWorker"
>;

/**
 * Calls that waited and are started in one turn of the event loop. Without a bound all of a worker's calls that end in one
 * moment are followed by as many that start in the same one, and again when these end: everybody else's answers and requests
 * would wait for the whole of it, each time.
 */
const STARTS_PER_TURN = 8;

/** How full a queue is and how fast it drains, for `/ready`. */
export interface LoadReport {
  readonly running: number;
  readonly queued: number;
  /** As last measured while calls waited. */
  readonly drained_per_second: number;
}

/**
 * Decides which call runs next: bounded in all, per backend and per worker, and fair across workers.
 *
 * Each worker's calls on a backend stand in a lane of their own, and lanes are served in turn. A lane whose worker is at its
 * limit or whose serial session is busy is left out until that ends, and so is a whole backend that is full: nobody stands
 * behind those who cannot go. Whoever may run is started at once, or in the next turn of the event loop where this one has started its share.
 *
 * A slot and a serial session's turn are given together. A call that waits for its turn holds no slot that others could use,
 * and one that holds a turn never waits for a slot, so no circle can close. Every step is O(1) in the number of waiting calls.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #clock: Clock;
  readonly #workers = new Map<string, WorkerLoad>();
  readonly #backends = new Map<string, BackendLoad>();
  readonly #drain = new DrainRate();
  #running = 0;
  #queued = 0;
  #workersWaiting = 0;
  #stamps = 0;
  /** Calls that waited and were started in this turn of the event loop. */
  #started = 0;
  /** Whether there are calls that only wait for the next turn of the event loop. */
  #held = false;

  constructor(limits: AdmissionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  readonly #leave = ({ worker, backend }: Ticket): void => {
    this.#running -= 1;
    backend.running -= 1;
    worker.running -= 1;
    if (this.#queued > 0) {
      const now = this.#clock.now();
      this.#drain.add(now);
      if (backend.waiting > 0) backend.drain.add(now);
      for (const lane of worker.lanes) this.#offer(lane);
      this.#dispatch();
    }
    this.#forget(worker);
  };

  /** How many workers have calls that run or wait. */
  get workerCount(): number {
    return this.#workers.size;
  }

  /** Takes a slot, and the turn in a serial session, if nothing is in the way; nothing is taken otherwise. */
  tryEnter(caller: Caller, resource: string, turns?: SerialQueue): Ticket | undefined {
    // While others wait for the next turn of the event loop, nobody starts before them.
    if (this.#held || this.#running >= this.#limits.maxConcurrentCalls) return undefined;
    const backend = this.#backendOf(resource);
    if (backend.running >= this.#limits.maxConcurrentPerBackend) return undefined;
    const key = toWorkerKey(caller);
    let worker = this.#workers.get(key);
    if (worker === undefined) {
      if (turns?.tryEnter() === false) return undefined;
      this.#workers.set(key, (worker = new WorkerLoad(key)));
    } else {
      if (worker.running >= this.#limits.maxConcurrentPerWorker) return undefined;
      if (worker.waiting > 0 && worker.lane(backend, turns) !== undefined) return undefined;
      if (turns?.tryEnter() === false) return undefined;
    }
    const ticket = new Ticket(worker, backend, this.#leave);
    this.#start(ticket);
    return ticket;
  }

  /**
   * Counts a call among those that wait, before it is known for what: `enter` or `withdraw` must follow.
   *
   * @throws ToolyardError overloaded when a queue is full, with the limit's name and when to try again.
   */
  queue(caller: Caller, resource: string): Ticket {
    const { maxQueuedCalls, maxQueuedPerBackend, maxQueuedPerWorker } = this.#limits;
    const backend = this.#backendOf(resource);
    const key = toWorkerKey(caller);
    const known = this.#workers.get(key);
    const waiting = known?.waiting ?? 0;
    if (waiting >= maxQueuedPerWorker) {
      // Lanes are served in turn: the others that wait are served in between.
      const count = waiting * this.#workersWaiting;
      throw this.#refuse("max_queued_per_worker", maxQueuedPerWorker, waiting, this.#drain, count);
    }
    if (backend.waiting >= maxQueuedPerBackend)
      throw this.#refuse("max_queued_per_backend", maxQueuedPerBackend, backend.waiting, backend.drain);
    if (this.#queued >= maxQueuedCalls)
      throw this.#refuse("max_queued_calls", maxQueuedCalls, this.#queued, this.#drain);
    const worker = known ?? new WorkerLoad(key);
    if (known === undefined) this.#workers.set(key, worker);
    if (this.#queued === 0) this.#drain.begin(this.#clock.now());
    if (backend.waiting === 0) backend.drain.begin(this.#clock.now());
    if (worker.waiting === 0) this.#workersWaiting += 1;
    this.#queued += 1;
    backend.waiting += 1;
    worker.waiting += 1;
    return new Ticket(worker, backend, this.#leave);
  }

  /** Waits for a slot, and for the turn in a serial session. Rejects with the wait's reason, and has left the queue then. */
  enter(ticket: Ticket, turns: SerialQueue | undefined, wait: CancelSource): Promise<void> {
    if (wait.ended !== undefined) {
      this.withdraw(ticket);
      return Promise.reject(wait.ended);
    }
    return new Promise((resolve, reject) => {
      const lane = this.#laneOf(ticket, turns);
      const place = lane.waiting.push(ticket);
      const stopWaiting = wait.onEnd(() => {
        lane.waiting.remove(place);
        if (lane.waiting.empty) this.#drop(lane);
        this.withdraw(ticket);
        reject(wait.ended);
      });
      ticket.grant = () => {
        stopWaiting();
        resolve();
      };
      this.#offer(lane);
      this.#dispatch();
    });
  }

  /** Takes a call back that was counted and has not entered. */
  withdraw(ticket: Ticket): void {
    this.#unqueue(ticket);
    this.#forget(ticket.worker);
  }

  report(): LoadReport & { readonly backends: Readonly<Record<string, LoadReport>> } {
    const backends = [...this.#backends.values()].map(
      ({ resource, running, waiting, drain }) => [resource, toReport(running, waiting, drain)] as const,
    );
    return { ...toReport(this.#running, this.#queued, this.#drain), backends: Object.fromEntries(backends) };
  }

  /** Serves lanes until there is no slot or no lane that may go, or until this turn of the event loop has had its share. */
  #dispatch(): void {
    while (this.#running < this.#limits.maxConcurrentCalls) {
      const lane = this.#nextLane();
      if (lane === undefined) return;
      if (this.#started >= STARTS_PER_TURN) {
        this.#held = true;
        return;
      }
      this.#serve(lane);
    }
  }

  /** Counts a call that waited and starts now, until the next turn of the event loop. */
  #countStart(): void {
    if (this.#started === 0) setImmediate(this.#nextTurn);
    this.#started += 1;
  }

  readonly #nextTurn = (): void => {
    this.#started = 0;
    if (!this.#held) return;
    this.#held = false;
    this.#dispatch();
  };

  /** Finds the lane that has waited longest for its turn, over the backends that are not full. */
  #nextLane(): Lane | undefined {
    let next: Lane | undefined;
    for (const { running, ready } of this.#backends.values()) {
      const lane = ready.first;
      if (lane === undefined || running >= this.#limits.maxConcurrentPerBackend) continue;
      if (next === undefined || lane.stamp < next.stamp) next = lane;
    }
    return next;
  }

  #serve(lane: Lane): void {
    const { worker, backend, turns, waiting } = lane;
    backend.ready.shift();
    lane.place = undefined;
    // Offered again when one of the worker's calls leaves.
    if (worker.running >= this.#limits.maxConcurrentPerWorker) return;
    if (turns?.tryEnter() === false) {
      turns.onFree = () => {
        this.#offer(lane);
        this.#dispatch();
      };
      return;
    }
    const ticket = waiting.shift();
    if (ticket === undefined) return;
    this.#countStart();
    this.#unqueue(ticket);
    this.#start(ticket);
    if (waiting.empty) this.#drop(lane);
    else this.#offer(lane);
    ticket.grant?.();
  }

  #start({ worker, backend }: Ticket): void {
    this.#running += 1;
    backend.running += 1;
    worker.running += 1;
  }

  #unqueue({ worker, backend }: Ticket): void {
    this.#queued -= 1;
    backend.waiting -= 1;
    worker.waiting -= 1;
    if (worker.waiting === 0) this.#workersWaiting -= 1;
  }

  /** Puts a lane at the end of those that may be served; whether it really may is seen when its turn comes. */
  #offer(lane: Lane): void {
    if (lane.place !== undefined || lane.waiting.empty) return;
    this.#stamps += 1;
    lane.stamp = this.#stamps;
    lane.place = lane.backend.ready.push(lane);
  }

  #laneOf({ worker, backend }: Ticket, turns: SerialQueue | undefined): Lane {
    let lane = worker.lane(backend, turns);
    if (lane === undefined) worker.lanes.push((lane = new Lane(worker, backend, turns)));
    return lane;
  }

  #drop(lane: Lane): void {
    if (lane.place !== undefined) lane.backend.ready.remove(lane.place);
    lane.place = undefined;
    const { lanes } = lane.worker;
    lanes.splice(lanes.indexOf(lane), 1);
  }

  #forget(worker: WorkerLoad): void {
    if (worker.running === 0 && worker.waiting === 0) this.#workers.delete(worker.key);
  }

  #backendOf(resource: string): BackendLoad {
    let backend = this.#backends.get(resource);
    if (backend === undefined) this.#backends.set(resource, (backend = new BackendLoad(resource)));
    return backend;
  }

  #refuse(limit: string, maximum: number, queued: number, drain: DrainRate, count = queued): ToolyardError {
    const details = { limit, maximum, queued, retry_after_ms: drain.retryAfterMs(count, this.#clock.now()) };
    return new ToolyardError("overloaded", `${queued} calls wait, as many as limits.${limit} allows`, { details });
  }
}

function toReport(running: number, queued: number, drain: DrainRate): LoadReport {
  return { running, queued, drained_per_second: Math.round(drain.perSecond() * 10) / 10 };
}
