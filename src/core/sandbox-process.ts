/** What user code wrote to one stream. */
export interface CapturedOutput {
  /** The start and the end, with a note of what was left out between them; bytes that are not UTF-8 stand as U+FFFD. */
  readonly text: string;
  /** All bytes that were written, exactly. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/** A command and what it runs in. */
export interface CommandSpec {
  /** The program and its arguments; no shell is between. */
  readonly command: readonly string[];
  /** The sandbox's working folder by default. */
  readonly cwd?: string;
  /** Over the sandbox's own. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What it reads at first; its input then ends, except for a spawned process with `keepInput`. */
  readonly input?: Uint8Array;
  /** Leaves the input open for {@link SandboxProcess.write}. */
  readonly keepInput?: boolean;
  /** Milliseconds until the whole process tree is killed; unlimited by default for spawned processes. */
  readonly timeoutMs?: number;
  /** Bytes kept of each stream; the sandbox's limit by default. */
  readonly outputBytes?: number;
  /** Gives it a terminal, whose output is all stdout. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
}

/** How a process ended. */
export interface ProcessExit {
  readonly exitCode: number | null;
  /** `SIGKILL` and the like. */
  readonly signal: string | null;
  /** Whether it was killed at its timeout. */
  readonly timedOut: boolean;
}

/** What a command came to. */
export interface CommandResult extends ProcessExit {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  /** A limit that ended it, `memory` say. */
  readonly limit: string | null;
  readonly durationMs: number;
}

/** A stretch of what a process wrote, both streams in the order of their arrival. */
export interface ProcessLog {
  readonly chunks: readonly { readonly stream: "stdout" | "stderr"; readonly data: Uint8Array }[];
  /** Where the next read goes on. */
  readonly cursor: number;
  /** Bytes before the first chunk that the sandbox no longer has, counted from the cursor that was asked for. */
  readonly skipped: number;
  /** Nothing more will come. */
  readonly ended: boolean;
}

/** A process that runs in a sandbox by itself. Its log is kept there, up to a bound, also while nobody is connected. */
export interface SandboxProcess {
  /** Unique in the sandbox. */
  readonly id: string;
  readonly pid: number;
  readonly command: readonly string[];
  /** Wall clock, in milliseconds since 1970. */
  readonly startedAt: number;
  /** `null` while it runs. */
  readonly exit: ProcessExit | null;
  /** Resolves when it has ended, and rejects when the sandbox died first. */
  readonly exited: Promise<ProcessExit>;
  /** Reads its log from a cursor on (0 is the start), and waits up to `waitMs` for something to come. */
  read(options: {
    readonly cursor: number;
    readonly maxBytes?: number;
    readonly waitMs?: number;
    readonly signal: AbortSignal;
  }): Promise<ProcessLog>;
  /** @throws ToolyardError `conflict` when its input was not kept open or it has ended. */
  write(data: Uint8Array): Promise<void>;
  endInput(): Promise<void>;
  /** Sends a signal by name to its process group; `SIGKILL` takes everything that it started. */
  kill(signal?: string): Promise<void>;
  /** Only with a terminal. */
  resize(columns: number, rows: number): Promise<void>;
  /** Kills it if it runs and forgets its log. */
  remove(): Promise<void>;
}
