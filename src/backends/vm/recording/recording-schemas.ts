import { z } from "zod";

const Id = z.string().min(1).max(64);

/** What the backend's config says of recordings. */
export const RecordingConfig = z.strictObject({
  max_count: z.int().min(1).max(100_000).default(200).describe("Of one tenant."),
  max_total_mib: z.int().min(1).max(1_048_576).default(8_192).describe("Of one tenant's together."),
  max_mib: z.int().min(1).max(1_048_576).default(1_024).describe("Of one, which ends at it."),
  max_duration_s: z.int().min(1).max(86_400).default(3_600).describe("Of one, which ends at it."),
  keep_hours: z
    .number()
    .min(0.01)
    .max(87_600)
    .default(168)
    .describe("How long they are kept; older ones go at warm-up and when another begins."),
  keep_after_session: z.boolean().default(true).describe("Whether they outlive their session."),
});
export type RecordingConfig = z.infer<typeof RecordingConfig>;

export const RecordingRecord = z.object({
  id: z.string(),
  kind: z.enum(["video", "actions"]),
  label: z.string().nullable(),
  status: z.enum(["recording", "finished", "failed"]),
  session_id: z.string(),
  worker_id: z.string(),
  started_at: z.string().describe("ISO 8601, UTC."),
  ended_at: z.string().nullable(),
  duration_ms: z.number().nullable(),
  size_bytes: z.number().describe("So far, or in all."),
  reason: z.string().nullable().describe("stopped, max_duration, size_limit, session_ended, server_ended or failed."),
  error: z.string().nullable(),
});
export type RecordingRecord = z.infer<typeof RecordingRecord>;

export const StartParams = z.strictObject({
  kind: z
    .enum(["video", "actions"])
    .default("video")
    .describe("A video of the screen, or each action with the settled screen after it, without any loss."),
  label: z.string().max(200).optional(),
  fps: z.number().min(0.1).max(60).default(10).describe("Of a video."),
  crf: z.int().min(0).max(51).default(23).describe("Of a video: 0 is without loss, 51 the smallest."),
  max_duration: z.number().min(0.1).max(86_400).optional().describe("Seconds; the config's maximum by default."),
});
export const StopParams = z.strictObject({ id: Id.optional().describe("All that run in this session by default.") });
export const RecordingsResult = z.object({ recordings: z.array(RecordingRecord) });
export const StatusParams = z.strictObject({
  id: Id.optional().describe("Those that run in this session by default."),
});
export const ListParams = z.strictObject({
  session_id: z.string().max(300).optional(),
  limit: z.int().min(1).max(1_000).default(100).describe("The latest so many."),
});
const FileName = z
  .string()
  .regex(/^(?:video\.mp4|actions\.jsonl|screens\/[0-9a-f]{64}\.png)$/)
  .describe("video.mp4, actions.jsonl or screens/SHA256.png");
export const DownloadParams = z.strictObject({
  id: Id,
  file: FileName.optional().describe("The video or the log by default."),
  offset: z.int().min(0).default(0),
  length: z.int().min(1).max(4_194_304).default(1_048_576),
});
export const DownloadResult = z.object({
  id: z.string(),
  file: z.string(),
  content: z.string().describe("Base64."),
  offset: z.number(),
  length: z.number(),
  size_bytes: z.number().describe("Of the whole file."),
  ended: z.boolean().describe("Whether this is its end."),
  files: z.array(z.object({ name: z.string(), size_bytes: z.number() })).describe("All that belong to it."),
});
export const ExportParams = z.strictObject({
  id: Id,
  path: z.string().min(1).max(4_096).describe("The folder of the desktop that its files are put in."),
});
export const ExportResult = z.object({
  id: z.string(),
  path: z.string(),
  files: z.array(z.string()),
  size_bytes: z.number(),
});
export const DeleteParams = z.strictObject({ id: Id });
export const DeleteResult = z.object({ id: z.string(), deleted: z.boolean() });
