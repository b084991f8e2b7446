import { readFileSync } from "node:fs";

// Time of its own, not of the machine's, that an engine may take to stop.
const OWN_MS = 150;
// After which it has had its time, whatever kept it waiting.
const AT_LAST_MS = 3_000;
const TICK_MS = 10;

/**
 * Says from now on whether an engine would run, but has not had its time because others do; one that waits has had it, and so has
 * every engine where the system does not tell.
 */
export function startPatience(pid: number | undefined): () => boolean {
  const since = performance.now();
  const first = readTimes(pid);
  return () => {
    const now = readTimes(pid);
    if (first === null || now === null || !now.wouldRun) return false;
    return now.ownMs - first.ownMs < OWN_MS && performance.now() - since < AT_LAST_MS;
  };
}

function readTimes(pid: number | undefined): { readonly wouldRun: boolean; readonly ownMs: number } | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
    return { wouldRun: fields[0] === "R" || fields[0] === "D", ownMs: (userTicks + systemTicks) * TICK_MS };
  } catch {
    return null;
  }
}
