import type { Clock } from "../../../core/clock.ts";

/** Calls back once nothing has moved for a while: between once and twice the time. Returns what stops the watch. */
export function whenQuiet(clock: Clock, quietMs: number, moved: () => number, onQuiet: () => void): () => void {
  let last = -1;
  let cancel: () => void = () => undefined;
  const look = () => {
    const now = moved();
    if (now === last) return onQuiet();
    last = now;
    cancel = clock.after(quietMs, look);
  };
  look();
  return () => cancel();
}
