import type { ProcessExit } from "./sandbox-process.ts";

/** What a terminal is started with. */
export interface TerminalRequest {
  /** The program and its arguments; an interactive shell by default. */
  readonly command?: readonly string[] | undefined;
  /** The sandbox's working folder by default. */
  readonly cwd?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** @default 80 */
  readonly columns?: number | undefined;
  /** @default 24 */
  readonly rows?: number | undefined;
}

/** A terminal as it is now. */
export interface TerminalStatus {
  /** Unique in its session: `t1`, `t2`, … */
  readonly id: string;
  readonly running: boolean;
  readonly pid: number;
  readonly command: readonly string[];
  readonly columns: number;
  readonly rows: number;
  /** What the program calls its window; empty when it says nothing. */
  readonly title: string;
  readonly startedAt: Date;
  /** `null` while it runs, and when nobody knows how it ended. */
  readonly exit: ProcessExit | null;
  /** Who watches it now. */
  readonly viewers: number;
}

/** A stretch of what a terminal wrote, escape sequences included. */
export interface TerminalText {
  readonly text: string;
  /** Where the next read goes on, in bytes since the start. */
  readonly cursor: number;
  /** Bytes before the text that are no longer held. */
  readonly skippedBytes: number;
  /** Nothing more will come. */
  readonly ended: boolean;
}

/** What a terminal shows. */
export interface TerminalScreen {
  /** One line for each row, without trailing blanks. */
  readonly lines: readonly string[];
  /** 0-based. */
  readonly cursor: { readonly column: number; readonly row: number };
  /** Whether a full-screen program has the screen. */
  readonly alternate: boolean;
  readonly columns: number;
  readonly rows: number;
}

/**
 * The terminals of the session that a call runs in. Without an id the newest one that runs is meant.
 *
 * Every method throws ToolyardError: `unknown_name` when there is no such terminal; `runtime_unavailable` when the sandbox has
 * none; `sandbox_dead`. `write`, `resize` and `stop` are input: they throw `control_taken` while a human has control.
 */
export interface SessionTerminals {
  /** @throws ToolyardError `limit_exceeded` when as many run as may. */
  start(request: TerminalRequest, signal: AbortSignal): Promise<TerminalStatus>;
  /** Hangs up, and kills what does not go; answers how it ended. */
  stop(id: string | undefined, signal: AbortSignal): Promise<TerminalStatus>;
  /** Those that run, and those that ended lately; oldest first. */
  list(): Promise<readonly TerminalStatus[]>;
  /** @throws ToolyardError `conflict` when it has ended; `overloaded` when its program reads nothing. */
  write(id: string | undefined, data: Uint8Array): Promise<TerminalStatus>;
  /** Reads from a cursor on (0 is the start), and waits up to `waitMs` for something to come. */
  read(
    id: string | undefined,
    options: {
      readonly cursor: number;
      readonly maxBytes?: number | undefined;
      readonly waitMs?: number | undefined;
      readonly signal: AbortSignal;
    },
  ): Promise<TerminalText & { readonly id: string }>;
  /** Waits, for a second at most, until what it wrote up to the cursor is shown. */
  screen(id: string | undefined, cursor?: number): Promise<TerminalScreen & { readonly id: string }>;
  resize(id: string | undefined, columns: number, rows: number): Promise<TerminalStatus>;
  /** What was shown so far, as an asciicast of version 2. */
  recording(
    id: string | undefined,
  ): Promise<{ readonly id: string; readonly cast: string; readonly complete: boolean }>;
}

const MARK = "toolyard-terminal";
const SHELL = "if command -v bash >/dev/null 2>&1; then exec bash -i; else exec sh -i; fi";

/** A terminal's process as its sandbox lists it. */
export interface TerminalMark {
  readonly id: string;
  readonly columns: number;
  readonly rows: number;
  /** What was asked for; empty for a shell. */
  readonly command: readonly string[];
}

/**
 * Builds the command of a terminal's process. It carries the terminal's name, so that a server that takes the sandbox over
 * finds it among the processes again.
 */
export function toTerminalCommand({ id, columns, rows, command }: TerminalMark): readonly string[] {
  const script = command.length === 0 ? SHELL : 'exec "$@"';
  return ["sh", "-c", script, `${MARK}:${id}:${columns}x${rows}`, ...command];
}

/** Reads what `toTerminalCommand` wrote; `undefined` for any other command. */
export function parseTerminalCommand(command: readonly string[]): TerminalMark | undefined {
  const [program, flag, , mark = "", ...rest] = command;
  const found = new RegExp(`^${MARK}:(t\\d{1,9}):(\\d{1,4})x(\\d{1,4})$`).exec(mark);
  if (program !== "sh" || flag !== "-c" || found === null) return undefined;
  const [, id = "", columns, rows] = found;
  return { id, columns: Number(columns), rows: Number(rows), command: rest };
}
