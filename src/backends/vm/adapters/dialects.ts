import type { ActionAdapter } from "./adapter.ts";
import { createAioAdapter } from "./aio.ts";
import { createAnthropicAdapter } from "./anthropic.ts";
import { createOpenAiAdapter } from "./openai.ts";
import { createOsworldAdapter } from "./osworld.ts";

/** The dialects that raw actions come in, by the name that a caller gives. */
export const DIALECTS = {
  anthropic_computer_20241022: createAnthropicAdapter("20241022"),
  anthropic_computer_20250124: createAnthropicAdapter("20250124"),
  anthropic_computer_20251124: createAnthropicAdapter("20251124"),
  anthropic_computer_toolset_20260801: createAnthropicAdapter("toolset_20260801"),
  openai_computer: createOpenAiAdapter("computer"),
  openai_computer_use_preview: createOpenAiAdapter("computer_use_preview"),
  osworld_computer_13: createOsworldAdapter(),
  aio: createAioAdapter(),
} as const satisfies Record<string, ActionAdapter>;

export type Dialect = keyof typeof DIALECTS;
