import type { Actor } from "../../../core/events.ts";

/** One thing that was done in an episode. */
export interface HistoryEntry {
  /** Counts from 1 since the session began. */
  readonly index: number;
  /** When it began. ISO 8601, UTC. */
  readonly at: string;
  readonly actor: Actor;
  /** An action of the table, or the name of a tool that did something else. */
  readonly action: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** `ok`, or the outcome of its error. */
  readonly outcome: string;
  readonly error: string | null;
  readonly duration_ms: number;
  /** The SHA-256 of the settled screen after it, where a recording keeps them. */
  readonly screenshot: string | null;
}

/** How many entries are kept. */
export const MAX_ENTRIES = 1_000;
const MAX_TEXT = 1_000;
const MAX_PARAMS_BYTES = 8_192;

/** What was done in a session, the latest {@link MAX_ENTRIES} of it. */
export class ActionHistory {
  readonly #entries: HistoryEntry[] = [];
  #total = 0;

  /** How many there have been, those that are no longer kept included. */
  get total(): number {
    return this.#total;
  }

  add(entry: Omit<HistoryEntry, "index">): HistoryEntry {
    this.#total += 1;
    const added = { index: this.#total, ...entry, params: cutDown(entry.params) };
    this.#entries.push(added);
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
    return added;
  }

  /** Those after an index, oldest first. */
  since(index: number, limit: number): readonly HistoryEntry[] {
    return this.#entries.filter((entry) => entry.index > index).slice(0, limit);
  }

  get last(): HistoryEntry | undefined {
    return this.#entries.at(-1);
  }

  /** Forgets the entries; numbers go on. */
  clear(): void {
    this.#entries.length = 0;
  }
}

/** Facts as they are kept: long texts cut, and nothing of what is too large even so. */
export function cutDown(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  try {
    const json = JSON.stringify(params, (_key, value: unknown) =>
      typeof value === "string" && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value,
    );
    if (json.length <= MAX_PARAMS_BYTES) return JSON.parse(json) as Record<string, unknown>; // an object was written
  } catch {
    // It is no JSON.
  }
  return { left_out: "too large" };
}
