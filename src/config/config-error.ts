/** Where in a config something is wrong. */
export interface ConfigPlace {
  /** The config file, as the operator named it. */
  readonly file: string;
  /** The dotted path of the key, when the mistake has one. */
  readonly key?: string;
  /** Both count from 1. */
  readonly line?: number;
  readonly column?: number;
}

/**
 * A mistake in a config file or in a backend that it names: the server does not start.
 *
 * The message is for the operator's terminal and names files; it never goes to a client.
 */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly place: ConfigPlace;

  constructor(place: ConfigPlace, problem: string, cause?: unknown) {
    super(`${toPrefix(place)}: ${problem}`, cause === undefined ? undefined : { cause });
    this.place = place;
  }
}

function toPrefix({ file, key, line, column }: ConfigPlace): string {
  const position = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return key === undefined || key === "" ? position : `${position}: ${key}`;
}

/** Writes a path of keys as people write it: `resources.code.config.limits[0]`. */
export function toKey(path: readonly PropertyKey[]): string {
  return path.reduce<string>((key, part) => {
    if (typeof part === "number") return `${key}[${part}]`;
    return key === "" ? String(part) : `${key}.${String(part)}`;
  }, "");
}
