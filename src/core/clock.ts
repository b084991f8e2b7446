import { setYoungTimer } from "./young-timers.ts";

/** Tells time and wakes the caller; injected everywhere, so that tests need no sleeps. */
export interface Clock {
  /** Monotonic milliseconds from an arbitrary origin. A wall-clock jump does not move it. */
  now(): number;
  /** Wall-clock time, for timestamps that people and clients read. */
  date(): Date;
  /** Runs `callback` once after `delayMs` and returns a function that cancels it; never keeps the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Reads the machine's own clocks. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after: setYoungTimer,
};
