const MAX_CELLS = 50_000_000;

/**
 * How alike two sequences are: twice the length of their longest common subsequence by their lengths together, as rapidfuzz's
 * `ratio` and difflib have it in the main. 1 for two empty ones.
 *
 * @throws RangeError when comparing them would take too long
 */
export function similarity<T>(left: readonly T[], right: readonly T[]): number {
  const total = left.length + right.length;
  if (total === 0) return 1;
  let start = 0;
  while (start < Math.min(left.length, right.length) && left[start] === right[start]) start += 1;
  let end = 0;
  const most = Math.min(left.length, right.length) - start;
  while (end < most && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const [a, b] = [left.slice(start, left.length - end), right.slice(start, right.length - end)];
  if (a.length * b.length > MAX_CELLS) throw new RangeError("the texts are too long to be compared");
  return (2 * (start + end + commonLength(a, b))) / total;
}

function commonLength<T>(left: readonly T[], right: readonly T[]): number {
  let row = new Uint32Array(right.length + 1);
  for (const item of left) {
    const next = new Uint32Array(right.length + 1);
    for (let index = 0; index < right.length; index += 1) {
      next[index + 1] = right[index] === item ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0);
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** The similarity of two texts by their characters. */
export function textSimilarity(left: string, right: string): number {
  return left === right ? 1 : similarity([...left], [...right]);
}
