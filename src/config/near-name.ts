/** Counts the edits between two names, a swap of neighbours being one; gives up above `limit`. */
function distance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) > limit) return limit + 1;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) cost = Math.min(cost, (beforePrevious[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}

/** Finds the known name that a mistyped one most likely meant; `undefined` when none is near. */
export function nearName(name: string, known: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3));
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_.\s]/g, "");
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of known) {
    const edits = distance(plain(name), plain(candidate), limit);
    if (edits < bestDistance) [best, bestDistance] = [candidate, edits];
  }
  return best;
}

/** Ends an error message: ` (did you mean "port"?)`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearName(name, known);
  return near === undefined ? "" : ` (did you mean "${near}"?)`;
}
