import type { Language } from "../../core/runtime.ts";

/** How much a pool holds. */
export interface PoolOptions {
  /** Sandboxes of the runtime's own defaults that are held at all times. */
  readonly min: number;
  /** Of all templates together, those that are starting included. */
  readonly max: number;
  /** Started at once; sandboxes that are made on demand count. 4 by default. */
  readonly parallel?: number;
  /** Milliseconds without a miss after which it shrinks back to `min`; five minutes by default. */
  readonly idleMs?: number;
  /** Milliseconds that a member may take to answer before its claim; one second by default. */
  readonly pingMs?: number;
  /** Resets sandboxes that were used and takes them back; by default they end, and the next one is new. */
  readonly reuse?: boolean;
  /** Kernels that every member has started, each under its language's name; none by default. */
  readonly kernels?: readonly Language[];
}
