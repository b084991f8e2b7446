import { DrainRate } from "./drain-rate.ts";
import { Line, type Place } from "./line.ts";
import type { SerialQueue } from "./serial-queue.ts";

/** What admission knows of one backend. */
export class BackendLoad {
  readonly resource: string;
  running = 0;
  waiting = 0;
  readonly drain = new DrainRate();
  /** The lanes that may be served, in turn. */
  readonly ready = new Line<Lane>();

  constructor(resource: string) {
    this.resource = resource;
  }
}

/** What admission knows of one worker, while it has calls. */
export class WorkerLoad {
  readonly key: string;
  running = 0;
  waiting = 0;
  readonly lanes: Lane[] = [];

  constructor(key: string) {
    this.key = key;
  }

  lane(backend: BackendLoad, turns: SerialQueue | undefined): Lane | undefined {
    return this.lanes.find((lane) => lane.backend === backend && lane.turns === turns);
  }
}

/** One call's admission: waiting first, perhaps, then running until it leaves. */
export class Ticket {
  readonly worker: WorkerLoad;
  readonly backend: BackendLoad;
  /** How to tell the call that it runs. */
  grant: (() => void) | undefined;
  readonly #release: (ticket: Ticket) => void;

  constructor(worker: WorkerLoad, backend: BackendLoad, release: (ticket: Ticket) => void) {
    this.worker = worker;
    this.backend = backend;
    this.#release = release;
  }

  /** Frees the running call's slot for the next, once. The turn is freed by who holds it, before. */
  leave(): void {
    this.#release(this);
  }
}

/**
 * The calls of one worker on one backend that wait for a slot, first come first served; in a serial session they wait for
 * its turn as well, and are given both at once. It exists while somebody waits in it.
 */
export class Lane {
  readonly worker: WorkerLoad;
  readonly backend: BackendLoad;
  readonly turns: SerialQueue | undefined;
  readonly waiting = new Line<Ticket>();
  /** Its place among the lanes that may be served; none while the worker's own limit or the session's turn holds it up. */
  place: Place<Lane> | undefined;
  /** When it took that place, as a number that only grows. */
  stamp = 0;

  constructor(worker: WorkerLoad, backend: BackendLoad, turns: SerialQueue | undefined) {
    this.worker = worker;
    this.backend = backend;
    this.turns = turns;
  }
}
