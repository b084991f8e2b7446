/** The place in a text that is most like what was looked for. */
export interface NearText {
  /** 1-based. */
  readonly line: number;
  readonly text: string;
  /** From 0 to 1. */
  readonly similarity: number;
  /** Only spaces, tabs and line ends differ. */
  readonly whitespaceOnly: boolean;
}

/** Below this a place is not worth showing. */
const LEAST_SIMILARITY = 0.5;
/** Places looked at closely; further ones are chosen by their lines alone. */
const CLOSE_LOOKS = 50;
const MAX_LINES = 20_000;

/** Finds the lines of a text that are most like a text that is not in it; `null` when none is much like it. */
export function nearestText(wanted: string, text: string): NearText | null {
  const wantedLines = wanted.replace(/\r?\n$/, "").split("\n");
  const lines = text.split("\n", MAX_LINES);
  const height = wantedLines.length;
  const known = new Set(wantedLines.map(squeeze));
  const squeezedLines = lines.map(squeeze);
  const hits = squeezedLines.map((line) => (known.has(line) ? 1 : 0));
  const firstPairs = pairsOf(squeeze(wantedLines[0] ?? ""));
  const scored: { readonly start: number; readonly shared: number }[] = [];
  let window = sum(hits.slice(0, height));
  for (let start = 0; start + height <= lines.length; start += 1) {
    scored.push({ start, shared: window + likeness(firstPairs, pairsOf((squeezedLines[start] ?? "").slice(0, 200))) });
    window += (hits[start + height] ?? 0) - (hits[start] ?? 0);
  }
  scored.sort((left, right) => right.shared - left.shared || left.start - right.start);
  const pairs = pairsOf(squeeze(wanted));
  let best: NearText | null = null;
  for (const { start } of scored.slice(0, CLOSE_LOOKS)) {
    const place = lines.slice(start, start + height).join("\n");
    const squeezed = squeeze(place);
    const similarity = likeness(pairs, pairsOf(squeezed));
    if (similarity < LEAST_SIMILARITY || similarity <= (best?.similarity ?? 0)) continue;
    best = { line: start + 1, text: place, similarity, whitespaceOnly: squeezed.includes(squeeze(wanted)) };
  }
  return best;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Counts the pairs of neighbouring characters, of the first few thousand. */
function pairsOf(text: string): Map<string, number> {
  const pairs = new Map<string, number>();
  const end = Math.min(text.length, 4000);
  for (let at = 0; at + 1 < end; at += 1) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** Sørensen and Dice's coefficient. */
function likeness(left: Map<string, number>, right: Map<string, number>): number {
  let [shared, total] = [0, 0];
  for (const [pair, count] of left) {
    shared += Math.min(count, right.get(pair) ?? 0);
    total += count;
  }
  for (const count of right.values()) total += count;
  return total === 0 ? 0 : (2 * shared) / total;
}
