import type { Clock } from "../../../core/clock.ts";

/** Waits, unless the signal ends it. @throws the signal's reason. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", abort);
      resolve();
    });
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** A signal that fires with the reason that `toReason` gives when the time is over, or with the outer signal's. */
export function deadline(
  clock: Clock,
  ms: number,
  outer: AbortSignal,
  toReason: () => Error,
): { readonly signal: AbortSignal; readonly cancel: () => void } {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(toReason()));
  return { signal: AbortSignal.any([outer, late.signal]), cancel };
}
