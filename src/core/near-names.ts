/** Counts the single-character edits between two names (Levenshtein), giving up past `limit`. */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? limit + 1;
}

/** Picks the names that someone who wrote `name` may have meant, nearest first, at most three. */
export function nearNames(name: string, names: Iterable<string>): readonly string[] {
  const limit = Math.max(2, Math.floor(name.length / 3));
  const wanted = name.toLowerCase();
  const scored: { readonly name: string; readonly distance: number }[] = [];
  for (const candidate of names) {
    const lower = candidate.toLowerCase();
    const bare = lower.slice(lower.indexOf(":") + 1);
    const distance = Math.min(editDistance(wanted, lower, limit), editDistance(wanted, bare, limit));
    if (distance <= limit) scored.push({ name: candidate, distance });
  }
  scored.sort((left, right) => left.distance - right.distance || left.name.localeCompare(right.name));
  return scored.slice(0, 3).map((entry) => entry.name);
}
