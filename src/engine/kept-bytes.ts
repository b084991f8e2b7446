/** What a record costs beside its answer. */
const RECORD_BYTES = 500;
/** Time is counted in steps, so that a day of records is some thousand numbers. */
const STEP_MS = 1_000;
/** Nothing younger is forgotten: a client that lost its answer is back within this time. */
const LEAST_AGE_MS = 600_000;

/** What there is room for: the answer or only the fact that there was one, and what must be forgotten for it. */
export interface Room {
  readonly keep: boolean;
  /** Everything before this time goes; `undefined` when nothing must. */
  readonly forgetBefore: number | undefined;
}

/** Counts the bytes of what is kept, by when it was kept: the oldest go for the new, but never what may be asked for soon. */
export class KeptBytes {
  readonly #maximum: number;
  readonly #steps: { readonly untilMs: number; bytes: number }[] = [];
  #total = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /** Counts an answer that is to be kept now. */
  add(nowMs: number, answerBytes: number): Room {
    const bytes = answerBytes + RECORD_BYTES;
    let forgetBefore: number | undefined;
    if (this.#total + bytes > this.#maximum) {
      // More than needed, so that not every answer from here on has something forgotten for it.
      while (this.#total + bytes > this.#maximum * 0.75) {
        const [oldest] = this.#steps;
        if (oldest === undefined || oldest.untilMs > nowMs - LEAST_AGE_MS) break;
        this.forgetBefore(oldest.untilMs + 1);
        forgetBefore = oldest.untilMs + 1;
      }
    }
    const keep = this.#total + bytes <= this.#maximum;
    this.#count(nowMs, keep ? bytes : RECORD_BYTES);
    return { keep, forgetBefore };
  }

  /** Forgets what went by its age. */
  forgetBefore(timeMs: number): void {
    while ((this.#steps[0]?.untilMs ?? timeMs) < timeMs) this.#total -= this.#steps.shift()?.bytes ?? 0;
  }

  #count(nowMs: number, bytes: number): void {
    let last = this.#steps.at(-1);
    if (last === undefined || nowMs > last.untilMs) this.#steps.push((last = { untilMs: nowMs + STEP_MS, bytes: 0 }));
    last.bytes += bytes;
    this.#total += bytes;
  }
}
