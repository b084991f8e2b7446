import { z } from "zod";

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
