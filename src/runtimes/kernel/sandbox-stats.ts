import type { SandboxStats } from "../../core/sandbox-stats.ts";
import { amount, count, isFields, nullable, wrong } from "./fields.ts";

/** Checks what a sandbox says that it uses. @throws ProtocolViolation */
export function parseStats(value: unknown): SandboxStats {
  if (!isFields(value)) throw wrong("value");
  const source = value["source"];
  if (source !== "cgroup" && source !== "processes") throw wrong("source");
  return {
    memoryBytes: count(value, "memory_bytes"),
    memoryLimitBytes: nullable(value, "memory_limit_bytes", count),
    memoryPeakBytes: nullable(value, "memory_peak_bytes", count),
    cpuSeconds: amount(value, "cpu_seconds"),
    cpus: nullable(value, "cpus", amount),
    pids: count(value, "pids"),
    pidsLimit: nullable(value, "pids_limit", count),
    userProcesses: nullable(value, "user_processes", count),
    diskBytes: count(value, "disk_bytes"),
    diskLimitBytes: nullable(value, "disk_limit_bytes", count),
    uptimeSeconds: amount(value, "uptime_seconds"),
    source,
  };
}
