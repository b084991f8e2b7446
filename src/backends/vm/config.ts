import { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import { DEFAULT_SETTLING } from "./actions/settle.ts";
import type { OperatorOptions } from "./actions/operator.ts";

const Shown = {
  width: z.int().min(320).max(4_096),
  height: z.int().min(240).max(4_096),
  max_long_edge: z.int().min(16).max(8_192).optional().describe("Of screenshots; the screen's own size by default."),
  format: z.enum(["png", "jpeg", "webp"]),
  quality: z.int().min(1).max(100).optional(),
  show_cursor: z.boolean(),
};

/** The `config` of a vm backend's entry. */
export const VmConfig = z.strictObject({
  provider: z.enum(["local"]).default("local"),
  unsafe: z.boolean().default(false).describe("Allows a provider that isolates nothing; for development."),
  width: Shown.width.default(1_280),
  height: Shown.height.default(800),
  max_long_edge: Shown.max_long_edge,
  format: Shown.format.default("png"),
  quality: Shown.quality,
  show_cursor: Shown.show_cursor.default(false),
  quiet_ms: z.int().min(0).max(10_000).default(DEFAULT_SETTLING.quietMs).describe("When a screen counts as settled."),
  settle_ms: z
    .int()
    .min(0)
    .max(60_000)
    .default(DEFAULT_SETTLING.maxMs)
    .describe("How long that is waited for at most."),
});
export type VmConfig = z.infer<typeof VmConfig>;

/** The session config: how the screen is and is shown, over the backend's own. */
export const VmSessionConfig = z.strictObject({
  width: Shown.width.optional(),
  height: Shown.height.optional(),
  max_long_edge: Shown.max_long_edge,
  format: Shown.format.optional(),
  quality: Shown.quality,
  show_cursor: Shown.show_cursor.optional(),
  instruction: z.string().max(100_000).optional().describe("What the agent is to do, as its observations tell it."),
});
export type VmSessionConfig = z.infer<typeof VmSessionConfig>;

export function toOperatorOptions(config: VmConfig, session: VmSessionConfig): OperatorOptions {
  return {
    showing: { maxLongEdge: session.max_long_edge ?? config.max_long_edge },
    format: session.format ?? config.format,
    quality: session.quality ?? config.quality,
    showCursor: session.show_cursor ?? config.show_cursor,
    settling: { quietMs: config.quiet_ms, maxMs: config.settle_ms },
  };
}

/** @throws ToolyardError `runtime_unavailable` for a provider that isolates nothing, unless the config allows it. */
export function assertAllowed(
  { unsafe }: VmConfig,
  provider: { readonly name: string; readonly isolation: string },
): void {
  if (provider.isolation !== "none" || unsafe) return;
  throw new ToolyardError("runtime_unavailable", `desktops of the provider ${provider.name} are not isolated`, {
    suggestion: 'Set "unsafe": true in the backend\'s config, for development only.',
  });
}
