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

/** @throws ToolyardError `limit_exceeded` when a limit is above its maximum. */
export function assertWithin(limits: Required<SandboxLimits>, maxima: SandboxLimits): void {
  // Object.entries forgets that the keys are those of the record.
  for (const [key, name] of Object.entries(NAMES) as [keyof SandboxLimits, string][]) {
    const maximum = maxima[key];
    if (maximum === undefined || limits[key] <= maximum) continue;
    throw new ToolyardError("limit_exceeded", `${name} may be at most ${maximum} here, not ${limits[key]}`, {
      details: { limit: name, maximum },
      suggestion: `Ask for less, or raise runtimes.docker.max_limits.${name} in the server's config.`,
    });
  }
}
