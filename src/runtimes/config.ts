import { z } from "zod";
import type { RuntimeSelector, SandboxLimits } from "../core/runtime.ts";
import { createRuntimeSelector } from "./selector.ts";

const Positive = z.int().min(1);

const Limits = {
  memory_mib: Positive.optional(),
  pids: Positive.optional(),
  disk_mib: Positive.optional(),
  output_bytes: Positive.optional(),
  result_bytes: Positive.optional(),
  calls: Positive.optional(),
  calls_in_flight: Positive.optional(),
};

/** The parts of the config's `runtimes` section that the built-in runtimes read; other sections are left alone. */
export const RuntimesConfig = z.object({
  order: z.union([z.literal("auto"), z.array(z.string()).min(1)]).default("auto"),
  local: z.strictObject(Limits).prefault({}),
  quickjs: z.strictObject({ ...Limits, spares: z.int().min(0).max(64).optional() }).prefault({}),
});

/** Builds the selector that the config's `runtimes` section describes; starts nothing. */
export function openRuntimeSelector(section: unknown): RuntimeSelector {
  const { order, local, quickjs } = RuntimesConfig.parse(section ?? {});
  const spares = quickjs.spares === undefined ? {} : { spares: quickjs.spares };
  return createRuntimeSelector({
    order,
    local: { limits: toLimits(local) },
    quickjs: { limits: toLimits(quickjs), ...spares },
  });
}

type LimitFields = Partial<Record<keyof typeof Limits, number | undefined>>;

function toLimits(fields: LimitFields): SandboxLimits {
  const named = {
    memoryMiB: fields.memory_mib,
    pids: fields.pids,
    diskMiB: fields.disk_mib,
    outputBytes: fields.output_bytes,
    resultBytes: fields.result_bytes,
    calls: fields.calls,
    callsInFlight: fields.calls_in_flight,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}
