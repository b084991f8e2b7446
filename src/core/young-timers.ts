/** The longest delay that Node's timers take; a longer one would fire at once. */
export const MAX_DELAY_MS = 2_147_483_647;

/** How long a timer waits for being taken back before it becomes one of Node's. */
const YOUTH_MS = 10;
/** From here on a timer may be late by its youth, which saves the look at the clock. */
const LONG_MS = 1_000;

interface Waiting {
  readonly delayMs: number;
  /** By the monotonic clock; `undefined` for a long one, whose time begins when it is set. */
  readonly dueAt: number | undefined;
  callback: (() => void) | undefined;
  timer: NodeJS.Timeout | undefined;
}

let young: Waiting[] = [];

/**
 * Runs `callback` once after `delayMs` and returns a function that cancels it.
 *
 * Nearly every timer of a server is a deadline that is taken back in the same moment, and to set and clear one of Node's costs ten
 * times what it costs to note it: so each is only noted, and those that are left after a few milliseconds are set. A delay of a
 * second or more may take those few milliseconds longer.
 */
export function setYoungTimer(delayMs: number, callback: () => void): () => void {
  const dueAt = delayMs < LONG_MS ? performance.now() + delayMs : undefined;
  const waiting: Waiting = { delayMs, dueAt, callback, timer: undefined };
  if (delayMs < 2 * YOUTH_MS) start(waiting, delayMs);
  else {
    if (young.length === 0) setTimeout(grow, YOUTH_MS).unref();
    young.push(waiting);
  }
  return () => {
    waiting.callback = undefined;
    clearTimeout(waiting.timer);
  };
}

function grow(): void {
  const grown = young;
  young = [];
  const now = performance.now();
  // What a held-up loop made overdue is set for the same moment, and woken in the order in which it is set.
  if (grown.some(({ dueAt }) => dueAt !== undefined && dueAt <= now)) {
    grown.sort((one, other) => (one.dueAt ?? MAX_DELAY_MS + now) - (other.dueAt ?? MAX_DELAY_MS + now));
  }
  for (const waiting of grown) {
    if (waiting.callback === undefined) continue;
    const { delayMs, dueAt } = waiting;
    start(waiting, dueAt === undefined ? delayMs : Math.max(0, Math.ceil(dueAt - now)));
  }
}

function start(waiting: Waiting, delayMs: number): void {
  waiting.timer = setTimeout(() => waiting.callback?.(), Math.min(delayMs, MAX_DELAY_MS));
  waiting.timer.unref();
}
