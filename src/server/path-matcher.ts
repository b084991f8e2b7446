/** What stands at a path with names in it: `/ws/term/:session_id`. */
interface Placed {
  readonly path: string;
}

/** A place that was found, with the decoded names of its path. */
export interface Found<T> {
  readonly value: T;
  readonly names: Readonly<Record<string, string>>;
}

/** Finds what stands at a path, the first of the list first; a name is never empty and holds no slash. */
export function createPathMatcher<T extends Placed>(places: readonly T[]): (path: string) => Found<T> | undefined {
  const patterns = places.map((value) => ({
    value,
    pattern: new RegExp(`^${value.path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`),
  }));
  return (path) => {
    for (const { value, pattern } of patterns) {
      const found = pattern.exec(path);
      if (found === null) continue;
      const names = decodeAll(found.groups ?? {});
      if (names !== undefined) return { value, names };
    }
    return undefined;
  };
}

function decodeAll(groups: Readonly<Record<string, string>>): Record<string, string> | undefined {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text)]));
  } catch {
    return undefined;
  }
}
