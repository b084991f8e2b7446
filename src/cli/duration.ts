import { UsageError } from "./command.ts";

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const LONGEST_MS = 10 * 366 * UNITS_MS.d;

/**
 * Reads a span of time from a flag, such as `90s`, `15m`, `1h`, `30d` or `2w`, in milliseconds.
 *
 * @throws UsageError
 */
export function parseDuration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,9}(?:\.\d{1,3})?)([smhdw])$/.exec(text) ?? [];
  // The pattern leaves no other unit.
  const ms = Number(count) * UNITS_MS[(unit ?? "s") as keyof typeof UNITS_MS];
  if (ms <= LONGEST_MS) return ms;
  throw new UsageError(
    `--${flag} takes a time such as 90s, 15m, 1h or 30d, up to ten years, not ${JSON.stringify(text)}`,
  );
}
