import { z } from "zod";

/** The largest terminal, in either direction. */
export const MAX_TERMINAL_SIDE = 1_000;
/** The most that one call types. */
const MAX_INPUT_CHARACTERS = 65_536;

const Side = z.int().min(1).max(MAX_TERMINAL_SIDE);
const Id = z
  .string()
  .regex(/^t\d{1,9}$/)
  .optional()
  .describe("Which one; the newest that runs by default");
const Variables = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32_768));

export const StartParams = z.strictObject({
  command: z
    .union([z.string().min(1).max(30_000), z.array(z.string().max(30_000)).min(1).max(256)])
    .optional()
    .describe("A program with its arguments, or a line for a shell; an interactive shell by default"),
  columns: Side.default(80),
  rows: Side.default(24),
  cwd: z.string().min(1).max(4_096).optional().describe("The working folder by default"),
  env: Variables.optional(),
});

export const TerminalFacts = z.strictObject({
  terminal_id: z.string(),
  running: z.boolean(),
  pid: z.int(),
  command: z.array(z.string()).describe("Empty for a shell"),
  columns: z.int(),
  rows: z.int(),
  title: z.string(),
  started_at: z.string(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  viewers: z.int(),
  url: z.string().describe("The path of its WebSocket"),
});
export type TerminalFacts = z.infer<typeof TerminalFacts>;

export const IdParams = z.strictObject({ terminal_id: Id });

export const TerminalStatusResult = z.strictObject({
  running: z.int().describe("How many run"),
  terminals: z.array(TerminalFacts),
});
export type TerminalStatusResult = z.infer<typeof TerminalStatusResult>;

export const WriteParams = z.strictObject({
  terminal_id: Id,
  text: z
    .string()
    .max(MAX_INPUT_CHARACTERS)
    .describe("As typed: \\r is the enter key, \\u0003 is ctrl+c, \\u001b[A is the arrow up"),
  enter: z.boolean().default(false).describe("Presses the enter key afterwards"),
});
export const WriteResult = z.strictObject({ terminal_id: z.string(), written_bytes: z.int() });
export type WriteResult = z.infer<typeof WriteResult>;

export const ReadParams = z.strictObject({
  terminal_id: Id,
  cursor: z.int().min(0).default(0).describe("Where the last read ended; 0 is the start"),
  max_bytes: z.int().min(64).max(1_048_576).default(65_536),
  wait_ms: z.int().min(0).max(60_000).default(0).describe("How long to wait for something to come"),
  screen: z.boolean().default(true).describe("Also answers what the terminal shows now"),
});
export const ReadResult = z.strictObject({
  terminal_id: z.string(),
  text: z.string().describe("What it wrote, escape sequences included"),
  cursor: z.int(),
  skipped_bytes: z.int().describe("Bytes before the text that are no longer held"),
  ended: z.boolean(),
  screen: z
    .strictObject({
      lines: z.array(z.string()),
      cursor: z.strictObject({ column: z.int(), row: z.int() }),
      alternate: z.boolean().describe("Whether a full-screen program has the screen"),
    })
    .nullable(),
});
export type ReadResult = z.infer<typeof ReadResult>;

export const ResizeParams = z.strictObject({ terminal_id: Id, columns: Side, rows: Side });

export const RecordingParams = z.strictObject({
  terminal_id: Id,
  path: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe("Where in the sandbox it is written, for a download; it is answered in the result by default"),
});
export const RecordingResult = z.strictObject({
  terminal_id: z.string(),
  format: z.literal("asciicast-v2"),
  complete: z.boolean().describe("Whether all that was shown is in it"),
  size_bytes: z.int(),
  path: z.string().nullable(),
  cast: z.string().nullable(),
});
export type RecordingResult = z.infer<typeof RecordingResult>;
