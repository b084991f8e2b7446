/** What a sandbox uses now, as its own cgroup counts it (or, without one, the sum of its processes). */
export interface SandboxStats {
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number | null;
  readonly memoryPeakBytes: number | null;
  readonly cpuSeconds: number;
  readonly cpus: number | null;
  readonly pids: number;
  readonly pidsLimit: number | null;
  /** Of those, the processes that user code may have left: neither the supervisor nor its own. `null` where nobody can tell them apart. */
  readonly userProcesses: number | null;
  /** Of the folders that can be written to. */
  readonly diskBytes: number;
  readonly diskLimitBytes: number | null;
  readonly uptimeSeconds: number;
  /** Where the numbers come from. */
  readonly source: "cgroup" | "processes";
}
