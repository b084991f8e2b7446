import type { Config } from "../config/schema.ts";
import type { RuntimeSelector, SandboxLimits } from "../core/runtime.ts";
import { createRuntimeSelector } from "../runtimes/selector.ts";

/** Makes the places where sandboxes run, as the config orders them; starts and looks for nothing yet. */
export function openRuntimes({ runtimes }: Pick<Config, "runtimes">): RuntimeSelector {
  const { order, local, quickjs } = runtimes;
  return createRuntimeSelector({
    order,
    local: { limits: toSandboxLimits(local.limits) },
    quickjs: {
      limits: toSandboxLimits(quickjs.limits),
      ...(quickjs.spares !== undefined && { spares: quickjs.spares }),
    },
  });
}

function toSandboxLimits(limits: Config["runtimes"]["local"]["limits"]): SandboxLimits {
  const { memory_mib, pids, disk_mib, output_bytes, result_bytes, calls, calls_in_flight } = limits;
  return {
    ...(memory_mib !== undefined && { memoryMiB: memory_mib }),
    ...(pids !== undefined && { pids }),
    ...(disk_mib !== undefined && { diskMiB: disk_mib }),
    ...(output_bytes !== undefined && { outputBytes: output_bytes }),
    ...(result_bytes !== undefined && { resultBytes: result_bytes }),
    ...(calls !== undefined && { calls }),
    ...(calls_in_flight !== undefined && { callsInFlight: calls_in_flight }),
  };
}
