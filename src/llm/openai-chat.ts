import type * as Library from "openai";
import type { OpenAI } from "openai";
import type { ChatAnswer, ChatModel, ChatModelConfig, ChatQuestion } from "../core/chat-model.ts";
import { ToolyardError } from "../core/errors.ts";

/** Asks a model behind an endpoint that speaks as OpenAI's does; the client library is loaded by the first question. */
export function createChatModel(config: ChatModelConfig): ChatModel {
  let client: Promise<{ readonly library: typeof Library; readonly openai: OpenAI }> | undefined;
  return {
    async ask(question) {
      client ??= openClient(config);
      const { library, openai } = await client;
      try {
        return await complete(openai, config, question);
      } catch (error) {
        question.signal.throwIfAborted();
        throw toToolyardError(error, library, config);
      }
    },
  };
}

async function openClient({ url, api_key: apiKey, timeout_ms: timeout, retries }: ChatModelConfig) {
  const library = await import("openai").catch((cause: unknown) => {
    throw new ToolyardError("dependency_failed", "The package openai cannot be loaded", {
      suggestion: "Install it with `npm install openai`.",
      cause,
    });
  });
  // Of the environment it takes nothing: the config says all.
  const openai = new library.OpenAI({
    baseURL: url,
    apiKey: apiKey ?? "none",
    organization: null,
    project: null,
    webhookSecret: null,
    timeout,
    maxRetries: retries,
    logLevel: "off",
  });
  return { library, openai };
}

async function complete(openai: OpenAI, config: ChatModelConfig, question: ChatQuestion): Promise<ChatAnswer> {
  const answer = await openai.chat.completions.create(
    {
      model: config.model,
      messages: [
        { role: "system", content: question.system },
        { role: "user", content: toContent(question) },
      ],
      max_tokens: config.max_tokens,
      temperature: config.temperature,
    },
    { signal: question.signal },
  );
  // What is at the other end may send anything, whatever the library's types say.
  const text: unknown = answer.choices?.[0]?.message?.content;
  if (typeof text !== "string") {
    throw new ToolyardError("upstream_unreadable", "The model's endpoint answered something else than a completion");
  }
  const { usage } = answer;
  return {
    text,
    model: String(answer.model ?? config.model),
    usage: usage ? { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens } : null,
  };
}

function toContent({ user, images = [] }: ChatQuestion) {
  if (images.length === 0) return user;
  const pictures = images.map(({ mediaType, base64 }) => ({
    type: "image_url" as const,
    image_url: { url: `data:${mediaType};base64,${base64}` },
  }));
  return [{ type: "text" as const, text: user }, ...pictures];
}

function toToolyardError(error: unknown, { APIError }: typeof Library, { model }: ChatModelConfig): ToolyardError {
  if (ToolyardError.is(error)) return error;
  const status = error instanceof APIError && typeof error.status === "number" ? error.status : undefined;
  const what = status === undefined ? "did not answer" : `answered ${status}`;
  return new ToolyardError("upstream_failed", `The endpoint of the model ${model} ${what}`, {
    retryable: status === undefined || status === 429 || status >= 500,
    details: { model, ...(status !== undefined && { status }) },
    cause: error,
  });
}
