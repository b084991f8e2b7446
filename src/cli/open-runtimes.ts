import type { Config } from "../config/schema.ts";
import type { Logger } from "../core/context.ts";
import type { RuntimeSelector } from "../core/runtime.ts";

/** Makes the places where sandboxes run, as the config orders them; starts none. */
export async function openRuntimes(_config: Config, _logger: Logger): Promise<{ readonly runtimes?: RuntimeSelector }> {
  return {};
}
