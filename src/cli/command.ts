import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { didYouMean } from "../config/near-name.ts";

/** What a command reads and writes. */
export interface Terminal {
  /** Writes a line to standard output. */
  print(text: string): void;
  /** Writes a line to standard error. */
  warn(text: string): void;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** One command of the CLI. */
export interface Command {
  /** What `--help` shows. */
  readonly help: string;
  /** Resolves with the exit code. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/** The command line is wrong: one line on standard error, and exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command could not do it: one line on standard error, and exit code 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/**
 * Reads the flags of a command.
 *
 * @throws UsageError that names the flag, and the one that was meant
 */
export function parseFlags<const O extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: O,
  maxPositionals = 0,
) {
  const parsed = tryParse(args, options);
  const extra = parsed.positionals[maxPositionals];
  if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`);
  return parsed;
}

function tryParse<const O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const unknown = /^Unknown option '(-+)([^']+)'/.exec(error.message);
    if (unknown === null) throw new UsageError(error.message.split("\n")[0]?.replace(/\. .*$/, ""));
    const [, dashes = "", flag = ""] = unknown;
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new UsageError(`unknown flag ${dashes}${flag}${didYouMean(`--${flag}`, names)}`);
  }
}

/**
 * Reads a number from a flag.
 *
 * @throws UsageError when it is not one, or outside its bounds
 */
export function parseNumber(
  flag: string,
  text: string | undefined,
  { min, max, integer = false }: { readonly min: number; readonly max: number; readonly integer?: boolean },
): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= min && value <= max && (!integer || Number.isInteger(value))) return value;
  throw new UsageError(`--${flag} takes a number from ${min} to ${max}, not ${JSON.stringify(text)}`);
}
