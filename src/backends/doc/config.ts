import { z } from "zod";
import { ChatModelConfig } from "../../core/chat-model.ts";

const Limit = (maximum: number) => z.int().min(1).max(maximum);

/** The backend's entry in the config file. */
export const DocConfig = z.strictObject({
  /** What each worker may have. */
  max_documents: Limit(100_000).default(200),
  max_text_mib: Limit(4_096).default(64),
  /** Of one document as it is sent, and of the pictures that are kept of it. */
  max_document_mib: Limit(1_024).default(32),
  max_figures: z.int().min(0).max(1_000).default(50),
  max_figure_mib: Limit(64).default(4),
  /** Milliseconds that one document may take to be read, MiB that its reader may hold, and how many are read at once. */
  read_timeout_ms: Limit(3_600_000).default(60_000),
  memory_mib: z
    .int()
    .min(256)
    .max(1 << 20)
    .default(1_024),
  processes: Limit(64).default(2),
  /** Sections when the call does not say. */
  max_search_results: Limit(1_000).default(10),
  /** Tokens of text, estimated, and pictures of one read when the call does not say. */
  max_text_token: Limit(1_000_000).default(20_000),
  max_image_num: z.int().min(0).max(100).default(10),
  /** The model that reads for a goal. */
  model: ChatModelConfig.optional(),
  /** Whether that model sees pictures. */
  vision: z.boolean().default(false),
});
export type DocConfig = z.infer<typeof DocConfig>;
