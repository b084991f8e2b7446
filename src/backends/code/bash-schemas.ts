import { z } from "zod";
import { KernelName } from "./code-schemas.ts";

const Id = z.string().min(1).max(128).describe("Of the command in the background, as bash:run answered it.");

/** The environment of one command. */
export const Environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768));

export const BashParams = z.strictObject({
  command: z
    .string()
    .min(1)
    .max(1024 * 1024),
  cwd: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe("Where this command runs; the shell is where it was afterwards."),
  env: Environment.optional().describe("Environment variables of this command alone."),
  timeout_ms: z.int().min(1).optional().describe("Milliseconds; the command and all that it started are killed then."),
  background: z.boolean().default(false).describe("Answers at once with an id; the command runs on by itself."),
  shell: KernelName.default("bash").describe("Shells share nothing but the files of the sandbox."),
});

const Ended = {
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
};

export const CommandDone = z.object({
  background: z.literal(false),
  ...Ended,
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.object({
    stdout: z.boolean(),
    stderr: z.boolean(),
    stdout_bytes: z.int(),
    stderr_bytes: z.int(),
  }),
  duration_ms: z.number(),
  state_lost: z.boolean().describe("The shell was replaced: its variables, functions and folder are gone."),
});

export const CommandStarted = z.object({
  background: z.literal(true),
  id: z.string(),
  pid: z.int(),
  started_at: z.string().describe("ISO 8601, UTC."),
});

export const BashResult = z.discriminatedUnion("background", [CommandDone, CommandStarted]);
export type BashResult = z.infer<typeof BashResult>;

export const IdParams = z.strictObject({ id: Id });

export const LogsParams = z.strictObject({
  id: Id,
  cursor: z.int().min(0).default(0).describe("Where to read on; 0 is the start."),
  max_bytes: z
    .int()
    .min(1)
    .max(4 << 20)
    .default(256 << 10),
  wait_ms: z.int().min(0).max(60_000).default(0).describe("Waits so long for something to come."),
});
export const LogsResult = z.object({
  id: z.string(),
  chunks: z.array(z.object({ stream: z.enum(["stdout", "stderr"]), text: z.string() })),
  cursor: z.int().describe("Where the next read goes on."),
  skipped_bytes: z.int().describe("Bytes before the first chunk that are kept no more."),
  ended: z.boolean().describe("Nothing more will come."),
});
export type LogsResult = z.infer<typeof LogsResult>;

export const CommandStatus = z.object({
  id: z.string(),
  pid: z.int(),
  command: z.string(),
  running: z.boolean(),
  started_at: z.string(),
  timed_out: z.boolean(),
  ...Ended,
});
export type CommandStatus = z.infer<typeof CommandStatus>;

export const StatusParams = z.strictObject({
  id: Id,
  wait_ms: z.int().min(0).max(60_000).default(0).describe("Waits so long for its end."),
});

export const ListCommandsResult = z.object({ commands: z.array(CommandStatus) });
export type ListCommandsResult = z.infer<typeof ListCommandsResult>;

export const InputParams = z.strictObject({
  id: Id,
  text: z
    .string()
    .max(1024 * 1024)
    .default(""),
  end: z.boolean().default(false).describe("Ends its input after the text."),
});
export const InputResult = z.object({ id: z.string(), written_bytes: z.int(), ended: z.boolean() });
export type InputResult = z.infer<typeof InputResult>;

export const SignalParams = z.strictObject({
  id: Id,
  signal: z.enum(["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGSTOP", "SIGCONT"]),
});
export const SignalResult = z.object({ id: z.string(), signal: z.string() });
export type SignalResult = z.infer<typeof SignalResult>;

export const KillResult = z.object({ id: z.string(), killed: z.boolean().describe("Whether it was still running.") });
export type KillResult = z.infer<typeof KillResult>;
