import { ToolyardError } from "../../core/errors.ts";
import type { SandboxLimits } from "../../core/runtime.ts";

const NAMES: Readonly<Record<keyof SandboxLimits, string>> = {
  memoryMiB: "memory_mib",
  pids: "pids",
  diskMiB: "disk_mib",
  cpus: "cpus",
  outputBytes: "output_bytes",
  resultBytes: "result_bytes",
  calls: "calls",
  callsInFlight: "calls_in_flight",
};

/** @throws ToolyardError `limit_exceeded` when a limit that is asked for is above its maximum. */
export function assertWithin(limits: SandboxLimits, maxima: SandboxLimits): void {
  // Object.entries forgets that the keys are those of the record.
  for (const [key, name] of Object.entries(NAMES) as [keyof SandboxLimits, string][]) {
    const maximum = maxima[key];
    const asked = limits[key];
    if (maximum === undefined || asked === undefined || asked <= maximum) continue;
    throw new ToolyardError("limit_exceeded", `${name} may be at most ${maximum} here, not ${asked}`, {
      details: { limit: name, maximum },
      suggestion: `Ask for less, or raise runtimes.docker.max_limits.${name} in the server's config.`,
    });
  }
}

/** Brings limits that nobody asked for down to their maxima. */
export function lowerTo(maxima: SandboxLimits, limits: Required<SandboxLimits>): Required<SandboxLimits> {
  const lowered = { ...limits };
  // As above.
  for (const key of Object.keys(NAMES) as (keyof SandboxLimits)[]) {
    lowered[key] = Math.min(limits[key], maxima[key] ?? Number.POSITIVE_INFINITY);
  }
  return lowered;
}
