import { z } from "zod";

export const ResolutionParams = z.strictObject({
  width: z.int().min(320).max(4_096),
  height: z.int().min(240).max(4_096),
});
export const ResolutionResult = z.object({
  width: z.int(),
  height: z.int(),
  resolution: z.string().describe("1280x800"),
});
const Program = z.object({
  id: z.string(),
  pid: z.int(),
  command: z.array(z.string()),
  started_at: z.string().describe("ISO 8601, UTC."),
  running: z.boolean(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
});
export const ProcessesResult = z.object({
  processes: z.array(
    z.object({
      name: z.string(),
      running: z.boolean(),
      pid: z.int().nullable(),
      memory_bytes: z.number().nullable(),
      uptime_s: z.int().nullable(),
    }),
  ),
  programs: z.array(Program).describe("What the server started in the desktop, the desktop itself included."),
});
export type ProcessesResult = z.infer<typeof ProcessesResult>;
export const LogsParams = z.strictObject({
  id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe("Of a program that vm:processes lists; the desktop itself by default."),
  max_bytes: z.int().min(1).max(1_048_576).default(65_536).describe("The last so many are answered."),
});
export const LogsResult = z.object({ id: z.string(), text: z.string(), truncated: z.boolean() });
