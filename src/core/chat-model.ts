import { z } from "zod";

/** Where a language model is asked: an endpoint that speaks as OpenAI's `/v1/chat/completions` does. */
export const ChatModelConfig = z.strictObject({
  /** The base, such as `http://127.0.0.1:8000/v1`. */
  url: z.url({ protocol: /^https?$/ }),
  model: z.string().min(1).max(256),
  api_key: z.string().max(4_096).optional(),
  /** Tokens of an answer at most. */
  max_tokens: z.int().min(1).max(1_000_000).default(2_048),
  temperature: z.number().min(0).max(2).default(0),
  /** Of one attempt. */
  timeout_ms: z.int().min(1).max(600_000).default(120_000),
  retries: z.int().min(0).max(10).default(2),
});
export type ChatModelConfig = z.infer<typeof ChatModelConfig>;

/** A picture as a model is shown it. */
export interface ChatImage {
  readonly mediaType: string;
  readonly base64: string;
}

/** One question. */
export interface ChatQuestion {
  readonly system: string;
  readonly user: string;
  /** What the model is shown beside the words, where it can see. */
  readonly images?: readonly ChatImage[];
  readonly signal: AbortSignal;
}

/** What the model said, and what that cost where the endpoint tells. */
export interface ChatAnswer {
  readonly text: string;
  readonly model: string;
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
}

/** A language model. */
export interface ChatModel {
  /** @throws ToolyardError `upstream_failed`, `upstream_unreadable`, `dependency_failed`; the signal's reason. */
  ask(question: ChatQuestion): Promise<ChatAnswer>;
}

/** Does no I/O before the first question. */
export type OpenChatModel = (config: ChatModelConfig) => ChatModel;
