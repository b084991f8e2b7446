import { z } from "zod";
import { Action, ACTION_SCHEMAS, ZoomFields } from "./actions/action.ts";
import { DIALECTS } from "./adapters/dialects.ts";
import { ScreenshotResult } from "./known-schemas.ts";
export { ScreenshotResult } from "./known-schemas.ts";

export const ZoomParams = z.strictObject(ZoomFields);
export const HoldKeyParams = ACTION_SCHEMAS.hold_key.omit({ action: true });

export const CursorResult = z.object({ x: z.int(), y: z.int() });
export const DisplayResult = z.object({
  width: z.int(),
  height: z.int(),
  screenshot_width: z.int(),
  screenshot_height: z.int(),
  scale: z.number().describe("Pixels of the screenshot for one of the screen."),
  dpi: z.number().optional(),
});

const Told = z
  .record(z.string(), z.unknown())
  .describe("What the tool of the same name answers: windows, elements, the clipboard …");

export const ActParams = z.strictObject({ action: Action });
export const ActResult = z.object({
  action: z.string(),
  position: CursorResult.optional(),
  screenshot: ScreenshotResult.optional(),
  told: Told.optional(),
});

export const BatchParams = z.strictObject({
  actions: z.array(Action).min(1).max(100),
  screenshot: z.boolean().default(true).describe("Shows the screen after them, when it has become quiet."),
});
export const BatchResult = z.object({
  results: z.array(
    z.object({
      ok: z.boolean(),
      executed: z.boolean(),
      action: z.string(),
      message: z.string().optional(),
      position: CursorResult.optional(),
      screenshot: ScreenshotResult.optional(),
      told: Told.optional(),
    }),
  ),
  screenshot: ScreenshotResult.optional(),
});

// Object.keys forgets that the keys are those of the table.
const names = Object.keys(DIALECTS) as [keyof typeof DIALECTS, ...(keyof typeof DIALECTS)[]];
export const ModelActionParams = z.strictObject({
  dialect: z.enum(names),
  action: z.unknown().describe("As the model's API or the harness gave it."),
});
export const ModelActionResult = z.object({
  answer: z.record(z.string(), z.unknown()).describe("As the model's API or the harness wants it back."),
  error: z.string().nullable(),
  ended: z.enum(["done", "fail"]).nullable(),
});

export const RunCommandParams = z.strictObject({
  command: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .describe("A line for a shell, or a program and its arguments."),
  timeout_ms: z.int().min(1).max(600_000).default(60_000),
});
export const RunCommandResult = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean(),
});
