import type { ActionDriver } from "./action-driver.ts";

/** When a screen counts as settled. */
export interface Settling {
  /** Milliseconds without a change. */
  readonly quietMs: number;
  /** Milliseconds after which it is taken as it is: a caret that blinks never ends. */
  readonly maxMs: number;
}

/** What a screen is watched with. */
export type Watching = Pick<ActionDriver, "nextChange" | "sleep" | "now">;

export const DEFAULT_SETTLING: Settling = { quietMs: 150, maxMs: 2_000 };

/**
 * Waits until the screen is quiet; answers whether it became so.
 *
 * @throws the signal's reason.
 */
export async function settle(driver: Watching, { quietMs, maxMs }: Settling, signal: AbortSignal): Promise<boolean> {
  const end = driver.now() + maxMs;
  for (;;) {
    const left = end - driver.now();
    if (left <= 0) return false;
    // oxlint-disable-next-line no-await-in-loop -- each change starts the wait anew
    const changed = await changesWithin(driver, Math.min(quietMs, left), signal);
    if (!changed) return quietMs <= left;
  }
}

async function changesWithin(driver: Watching, ms: number, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const change = driver.nextChange(either).then(() => true);
  const quiet = driver.sleep(ms, either).then(() => false);
  try {
    return await Promise.race([change, quiet]);
  } finally {
    over.abort();
    await Promise.allSettled([change, quiet]);
  }
}
