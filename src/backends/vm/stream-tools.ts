import { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { VmContext } from "./session.ts";

const StreamParams = z.strictObject({
  mode: z.enum(["view", "control"]).default("view").describe("Whether its viewer may only watch, or also work at it"),
  ttl_ms: z.int().min(1_000).max(3_600_000).optional().describe("How long it waits for its viewer"),
  resize: z.boolean().default(false).describe("Whether its viewer may give the screen another size; with control only"),
});
const StreamResult = z.strictObject({
  url: z.string().describe("A WebSocket that speaks RFB (VNC); opens once"),
  path: z.string(),
  ticket: z.string(),
  mode: z.enum(["view", "control"]),
  expires_at: z.string(),
});

/** Lets others watch a session's desktop. */
export class StreamTools {
  @tool({
    description: "Make a URL at which one viewer (noVNC, say) watches the desktop live, or works at it.",
    params: StreamParams,
    result: StreamResult,
    annotations: { title: "A live view", readOnlyHint: true, openWorldHint: false },
  })
  async streamUrl({ mode, ttl_ms: ttlMs, resize }: Input<typeof StreamParams>, { streams }: VmContext) {
    if (streams === undefined)
      throw new ToolyardError("runtime_unavailable", "This desktop cannot be watched from here");
    const { url, path, ticket, viewOnly, expiresAt } = streams.open({ viewOnly: mode === "view", ttlMs, resize });
    return { url, path, ticket, mode: viewOnly ? "view" : "control", expires_at: expiresAt.toISOString() };
  }
}
