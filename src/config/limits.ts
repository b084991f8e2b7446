import { z } from "zod";
import { type EngineLimits, defaultLimits } from "../engine/limits.ts";
import { type HttpLimits, defaultHttpLimits } from "../server/http-limits.ts";

type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? Head extends Lowercase<Head>
    ? `${Head}${SnakeCase<Tail>}`
    : `_${Lowercase<Head>}${SnakeCase<Tail>}`
  : "";

/** Every limit of the engine and the HTTP door, by its name in a config. */
export type LimitsConfig = {
  readonly [K in keyof (EngineLimits & HttpLimits) as SnakeCase<K>]: number;
};

/** The longest delay that Node's timers take; a longer one fires at once. */
const MAX_TIMER_MS = 2_147_483_647;

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const toConfig = (limits: EngineLimits | HttpLimits): Record<string, number> =>
  Object.fromEntries(Object.entries(limits).map(([name, value]) => [toSnakeCase(name), value]));

// The mapped type above says with types what `toSnakeCase` does with text.
/** What holds when a config says nothing. */
export const defaultLimitsConfig = { ...toConfig(defaultLimits), ...toConfig(defaultHttpLimits) } as LimitsConfig;

const limit = (name: string): z.ZodType =>
  (name.endsWith("_ms") ? z.number().min(0).max(MAX_TIMER_MS) : z.int().min(1)).optional();

/** The `limits` section: every key optional, so that what the operator wrote can be told from a default. */
export const limitsSchema = z.strictObject(
  Object.fromEntries(Object.keys(defaultLimitsConfig).map((name) => [name, limit(name)])),
) as unknown as z.ZodType<Partial<LimitsConfig>>;

/** The names that the `limits` section takes. */
export const limitNames: readonly string[] = Object.keys(defaultLimitsConfig);

function pick<L extends object>(defaults: L, limits: LimitsConfig): L {
  const values = new Map(Object.entries(limits));
  const entries = Object.entries(defaults).map(([name, value]) => [name, values.get(toSnakeCase(name)) ?? value]);
  // The same names as `defaults`, each with a number.
  return Object.fromEntries(entries) as L;
}

/** Turns the `limits` of a config into the engine's and the HTTP door's own. */
export function toLimits(limits: LimitsConfig): { readonly engine: EngineLimits; readonly http: HttpLimits } {
  return { engine: pick(defaultLimits, limits), http: pick(defaultHttpLimits, limits) };
}
