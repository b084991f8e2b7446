import type { SandboxLimits } from "../../core/runtime.ts";
import type { WireLimits } from "./messages.ts";

/** What holds where neither the config nor the session says otherwise. */
export const DEFAULT_LIMITS: Required<SandboxLimits> = {
  memoryMiB: 1024,
  pids: 128,
  // The usual packages of data analysis, installed, and some data. What is written counts as memory, where that is bounded.
  diskMiB: 512,
  cpus: 1,
  outputBytes: 64 * 1024,
  resultBytes: 1024 * 1024,
  calls: 1000,
  callsInFlight: 256,
};

/** The largest code of one execution, in UTF-16 units; a frame holds it with every character escaped. */
export const MAX_CODE_LENGTH = 1024 * 1024;

/** Puts the limits that were given over the defaults of the runtime, and those over {@link DEFAULT_LIMITS}. */
export function mergeLimits(given: SandboxLimits | undefined, defaults?: SandboxLimits): Required<SandboxLimits> {
  return { ...DEFAULT_LIMITS, ...defaults, ...given };
}

/** Names limits as the wire does. */
export function toWireLimits(limits: Required<SandboxLimits>): WireLimits {
  return {
    memory_mib: limits.memoryMiB,
    pids: limits.pids,
    output_bytes: limits.outputBytes,
    result_bytes: limits.resultBytes,
    calls: limits.calls,
    calls_in_flight: limits.callsInFlight,
  };
}
