import { z } from "zod";
import { PictureParams } from "../actions/action.ts";
import { Evaluator } from "./evaluation/evaluator.ts";

export const HistoryParams = z.strictObject({
  after: z.int().min(0).default(0).describe("Only what came after the action of this index."),
  limit: z.int().min(1).max(1_000).default(100),
});
export const HistoryResult = z.object({
  actions: z.array(
    z.object({
      index: z.int().describe("Counts from 1 since the session began."),
      at: z.string().describe("ISO 8601, UTC."),
      actor: z.enum(["agent", "human", "system"]),
      action: z.string().describe("An action of the table, or the tool that did something else."),
      params: z.record(z.string(), z.unknown()).describe("Long texts are cut at 1,000 characters."),
      outcome: z.string().describe("ok, or the outcome of its error."),
      error: z.string().nullable(),
      duration_ms: z.number(),
      screenshot: z.string().nullable().describe("The SHA-256 of the settled screen after it, where it was recorded."),
    }),
  ),
  total: z.int().describe("How many there have been since the session began; the latest 1,000 are kept."),
  ended: z.enum(["done", "fail"]).nullable().describe("What the agent said last of its task."),
});

export const ObserveParams = z.strictObject({
  ...PictureParams,
  screenshot: z.boolean().default(true),
  accessibility_tree: z.boolean().default(false),
  terminal: z.boolean().default(false).describe("The text of the terminal in front."),
});
export const ObserveResult = z.object({
  screenshot: z.string().nullable().describe("Base64, of the screen once it is quiet."),
  format: z.enum(["png", "jpeg", "webp"]).nullable(),
  size: z.tuple([z.number(), z.number()]).nullable().describe("Width and height."),
  accessibility_tree: z.unknown().describe("null unless it was asked for."),
  terminal: z.string().nullable(),
  instruction: z.string().nullable(),
  steps: z.int().describe("Actions so far in this session."),
  ended: z.enum(["done", "fail"]).nullable(),
});

export const EvaluateParams = z.strictObject({
  evaluator: Evaluator.optional().describe("How it is judged; the task's own by default, as reset was told."),
});
export const EvaluateResult = z.object({
  score: z.number().min(0).max(1),
  results: z.array(z.number()).describe("Of each metric, in their order."),
  details: z.array(
    z.object({ func: z.string(), score: z.number(), reason: z.string().nullable().describe("Why it is not 1.") }),
  ),
  evaluator: z.record(z.string(), z.unknown()).describe("What was asked for; long texts are cut."),
  last_action_failed: z.boolean().describe("The agent's last word was that the task cannot be done."),
});

export const ResetParams = z.strictObject({
  snapshot: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Goes back to this one, as vm:restore does, in place of a fresh desktop with the session's setup."),
  instruction: z.string().max(100_000).optional().describe("What the agent is to do; the session's own by default."),
  evaluator: Evaluator.optional().describe("How evaluate judges it when it is told nothing else."),
  config: z
    .array(z.record(z.string(), z.unknown()))
    .max(256)
    .default([])
    .describe("Setup steps of this task, after the session's own; also in OSWorld's words."),
});
export const ResetResult = z.object({
  reset: z.literal(true),
  instruction: z.string().nullable(),
  resolution: z.string(),
});
