import type { Clock } from "../../../core/clock.ts";
import type { ToolyardError } from "../../../core/errors.ts";
import { pause } from "./pause.ts";

/** What one attempt came to, and whether the same request may fare better later. */
export type Attempt<T> = ({ readonly value: T } | { readonly failure: ToolyardError }) & {
  readonly again?: boolean;
  /** What the other side asked to be left alone for. */
  readonly afterMs?: number | undefined;
};

/** How often, and after how long. */
export interface RetryOptions {
  readonly retries: number;
  /** Before the second attempt; each further one waits twice as long. */
  readonly retry_delay_ms: number;
  /** Whoever asks for a longer pause is given up at once. */
  readonly max_retry_delay_ms: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Tries until it works, cannot work, or was tried often enough: the last attempt counts. @throws its failure; the signal's reason. */
export async function withRetries<T>(attempt: () => Promise<Attempt<T>>, options: RetryOptions): Promise<T> {
  const { retries, retry_delay_ms: delayMs, max_retry_delay_ms: maxMs, clock, signal } = options;
  for (let tried = 0; ; tried += 1) {
    // One attempt after another is the point.
    // oxlint-disable-next-line no-await-in-loop
    const result = await attempt();
    const { again = false, afterMs } = result;
    if (!again || tried >= retries || (afterMs ?? 0) > maxMs) {
      if ("value" in result) return result.value;
      throw result.failure;
    }
    // oxlint-disable-next-line no-await-in-loop
    await pause(clock, afterMs ?? Math.min(maxMs, delayMs * 2 ** tried), signal);
  }
}

/** Reads a Retry-After header, which holds seconds or a date. */
export function readRetryAfter(header: string | null | undefined, clock: Clock): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // A date has letters; `Date.parse` would take much else.
  const at = /^[a-z]{3}/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.date().getTime());
}

/** Whether a status may be another one a moment later; of those of 4xx only 429, when it says for how long. */
export function mayPass(status: number, retryAfterMs: number | undefined): boolean {
  return status === 429 ? retryAfterMs !== undefined : status >= 500 && status !== 501 && status !== 505;
}
