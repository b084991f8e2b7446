import { z } from "zod";
import { ChatModelConfig } from "../../core/chat-model.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);

/** The backend's entry in the config file. */
export const DsConfig = z
  .strictObject({
    /** Folders that data may be read from; `seed_path` names one of them, or a folder in one. */
    folders: z
      .array(z.string())
      .default([])
      // One that is empty is that of a variable which nobody set.
      .transform((folders) => folders.filter((folder) => folder !== "")),
    /** The name that the code backend is mounted under, in whose sessions python runs. */
    sandbox: z.string().min(1).default("code"),
    /** Files that one inspection describes. */
    ds_max_csv: Limit(10_000).default(100),
    /** Characters of an answer's text. */
    ds_summary_max_chars: Limit(1_000_000).default(12_000),
    /** Whether a model sums up what an inspection found, and which. */
    enable_llm_summary: z.boolean().default(false),
    model: ChatModelConfig.optional(),
    /** Characters that it is shown. */
    content_limit: Limit(1_000_000).default(50_000),
    max_rows: Limit(1_000_000).default(10_000),
    /** Bytes of an answer's rows as JSON. */
    max_bytes: Limit(1 << 28).default(1 << 20),
    /** MiB of one file that is read here, of one from a sandbox, and of all that are copied into one. */
    max_file_mib: Limit(1 << 20).default(1_024),
    max_fetch_mib: Limit(1 << 14).default(64),
    max_copy_mib: Limit(1 << 14).default(64),
    /** Milliseconds of one inspection or query when the call does not say. */
    default_timeout_ms: Limit(3_600_000).default(60_000),
    max_timeout_ms: Limit(3_600_000).default(300_000),
    /** MiB that the process of one call may hold. */
    memory_mib: z
      .int()
      .min(256)
      .max(1 << 20)
      .default(1_024),
    /** Calls that read files at once. */
    processes: Limit(256).default(2),
  })
  .refine(({ enable_llm_summary: enabled, model }) => !enabled || model !== undefined, {
    error: "a summary by a model needs one",
    path: ["model"],
  });
export type DsConfig = z.infer<typeof DsConfig>;
