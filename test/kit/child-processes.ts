import { readdirSync, readFileSync } from "node:fs";

/** Lists the processes whose parent is this one, or another. */
export function listChildren(parent = process.pid): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => readStat(pid)?.parent === parent);
}

/** Says whether a process runs; one that has ended and waits for its parent does not. */
export function isRunning(pid: number): boolean {
  const stat = readStat(pid);
  return stat !== null && stat.state !== "Z";
}

function readStat(pid: number): { state: string; parent: number } | null {
  try {
    const [state = "", parent] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return { state, parent: Number(parent) };
  } catch {
    return null;
  }
}
