import { type Input, tool } from "../../../core/tool.ts";
import type { VmContext } from "../session.ts";
import * as schema from "./process-schemas.ts";
import { readLog, readProcesses } from "./read-processes.ts";

const ACTS = { destructiveHint: true, idempotentHint: true };
const LOOKS = { readOnlyHint: true, idempotentHint: true };

/** What a session's desktop consists of, what it wrote, and how large its screen is. */
export class ProcessTools {
  @tool({
    description: "Say what of the desktop runs: its parts with their memory, and every program that was started in it.",
    result: schema.ProcessesResult,
    annotations: LOOKS,
  })
  processes(_params: object, { session, signal }: VmContext) {
    return readProcesses(session.data.desktop.running, signal);
  }

  @tool({
    description: "Read what the desktop itself or a program in it wrote last.",
    params: schema.LogsParams,
    result: schema.LogsResult,
    annotations: LOOKS,
  })
  logs({ id, max_bytes: maxBytes }: Input<typeof schema.LogsParams>, { session, signal }: VmContext) {
    return readLog(session.data.desktop.running, { id, maxBytes }, signal);
  }

  @tool({
    description: "Give the screen another size; programs and windows stay.",
    params: schema.ResolutionParams,
    result: schema.ResolutionResult,
    annotations: ACTS,
  })
  async changeResolution(size: Input<typeof schema.ResolutionParams>, context: VmContext) {
    await context.session.data.desktop.resize(size, context.signal);
    const { width, height } = context.session.data.desktop.connection;
    return { width, height, resolution: `${width}x${height}` };
  }
}
