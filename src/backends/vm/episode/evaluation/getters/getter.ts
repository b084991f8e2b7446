import { z } from "zod";
import type { Clock } from "../../../../../core/clock.ts";
import type { Operator } from "../../../actions/operator.ts";
import type { RunningDesktop } from "../../../desktop/provider.ts";
import type { Found } from "../found.ts";

/** What getters look at. */
export interface World {
  readonly running: RunningDesktop;
  readonly operator: Operator;
  readonly clock: Clock;
  /**
   * Asks another tool of the backend, in the same call.
   *
   * @throws ToolyardError `runtime_unavailable` where there is none of that name, and what the tool throws.
   */
  ask(tool: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
}

/** Finds one thing in a desktop; what is not there is found missing, and what cannot be looked at is thrown. */
export interface Getter {
  readonly params: z.ZodType;
  get(params: unknown, world: World, signal: AbortSignal): Promise<Found>;
}

/** Ties a getter to the params that it is written with; params that it does not know are let pass, as harnesses have more. */
export function defineGetter<S extends z.ZodRawShape>(
  shape: S,
  get: (params: z.output<z.ZodObject<S>>, world: World, signal: AbortSignal) => Promise<Found>,
): Getter {
  const params = z.object(shape);
  return { params, get: (given, world, signal) => get(params.parse(given), world, signal) };
}

export function json(value: unknown): Found {
  return { kind: "json", value };
}

export function missing(reason: string): Found {
  return { kind: "missing", reason };
}
