import { type Matrix, move } from "./matrix.ts";

/** A straight line of a page, from left to right or from top to bottom. */
export interface Ruling {
  readonly direction: "across" | "down";
  /** Of the line itself: the height of one across, the distance from the left of one down. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

/** As pdf.js numbers the steps of a path, with how many coordinates each has. */
const STEPS: Readonly<Record<number, number>> = { 0: 2, 1: 2, 2: 6, 3: 4, 4: 0 };
const MOVE = 0;
const LINE = 1;
const CLOSE = 4;
/** A line may be off by so much over its whole length. */
const SKEW = 0.5;
const SHORTEST = 4;

/** The lines across and down in a path; a thin rectangle that is filled is two, beside each other. */
export function linesOf(path: ArrayLike<number>, matrix: Matrix): Ruling[] {
  const lines: Ruling[] = [];
  let start: readonly [number, number] = [0, 0];
  let last = start;
  for (let index = 0; index < path.length; ) {
    const step = path[index] ?? CLOSE;
    const count = STEPS[step];
    // What is unknown cannot be passed over.
    if (count === undefined) break;
    const end = index + 1 + count;
    const point = count === 0 ? start : move(matrix, path[end - 2] ?? 0, path[end - 1] ?? 0);
    if (step === LINE || step === CLOSE) lines.push(...toRuling(last, point));
    if (step === MOVE) start = point;
    last = point;
    index = end;
  }
  return lines;
}

function toRuling([x0, y0]: readonly [number, number], [x1, y1]: readonly [number, number]): Ruling[] {
  const [width, height] = [Math.abs(x1 - x0), Math.abs(y1 - y0)];
  if (height <= SKEW && width >= SHORTEST) {
    return [{ direction: "across", at: (y0 + y1) / 2, from: Math.min(x0, x1), to: Math.max(x0, x1) }];
  }
  if (width <= SKEW && height >= SHORTEST) {
    return [{ direction: "down", at: (x0 + x1) / 2, from: Math.min(y0, y1), to: Math.max(y0, y1) }];
  }
  return [];
}
