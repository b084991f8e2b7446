import { z } from "zod";
import { type Input, tool } from "../../core/tool.ts";
import type { VmContext } from "./session.ts";

const StartParams = z.strictObject({
  width: z.int().min(320).max(4_096).optional().describe("Of the screen; as it was by default"),
  height: z.int().min(240).max(4_096).optional(),
});
const DesktopStatus = z.strictObject({
  running: z.boolean(),
  sandbox_id: z.string(),
  display: z.string().describe("What programs find it by"),
  resolution: z.string().describe("1280x800"),
  width: z.int(),
  height: z.int(),
  url: z.string().nullable().describe("The path of its WebSocket, which speaks RFB (VNC); null while it is stopped"),
  port: z.int().nullable().describe("Where it can be reached directly; null where it cannot"),
  viewers: z.int(),
  controlled_by: z.string().nullable().describe("The human who has control, if one has"),
});
type DesktopStatus = z.infer<typeof DesktopStatus>;

/** The desktop itself: its display goes off and on again in a session that stays, with its files. */
export class PowerTools {
  @tool({
    description: "Start the desktop's display, if it is stopped, and wait until it shows something.",
    params: StartParams,
    result: DesktopStatus,
    annotations: { title: "Start the desktop", destructiveHint: true, idempotentHint: true },
  })
  async start({ width, height }: Input<typeof StartParams>, context: VmContext): Promise<DesktopStatus> {
    const { desktop, news } = context.session.data;
    if (!news.isUp) {
      const { size } = desktop;
      await desktop.start(context.signal, { ...size, width: width ?? size.width, height: height ?? size.height });
      news.started(desktop.running, desktop.operator.driver.size, context.emit);
    }
    return toStatus(context);
  }

  @tool({
    description: "Stop the desktop's display and every program on it; the session's files stay.",
    result: DesktopStatus,
    annotations: { title: "Stop the desktop", destructiveHint: true, idempotentHint: true },
  })
  async stop(_params: object, context: VmContext): Promise<DesktopStatus> {
    const { desktop, news } = context.session.data;
    if (news.isUp) {
      news.stopped("stopped", context.emit);
      await desktop.halt();
    }
    return toStatus(context);
  }

  @tool({
    description: "Stop the desktop's display and every program on it, and start it again.",
    params: StartParams,
    result: DesktopStatus,
    annotations: { title: "Restart the desktop", destructiveHint: true },
  })
  async restart(params: Input<typeof StartParams>, context: VmContext): Promise<DesktopStatus> {
    await this.stop({}, context);
    return this.start(params, context);
  }

  @tool({
    description: "Tell whether the desktop runs, how large it is, where it is watched, and by whom it is controlled.",
    result: DesktopStatus,
    annotations: { title: "The desktop's state", readOnlyHint: true, idempotentHint: true },
  })
  status(_params: object, context: VmContext): DesktopStatus {
    return toStatus(context);
  }
}

function toStatus({ session, streams, control }: VmContext): DesktopStatus {
  const { desktop, news } = session.data;
  const { width, height } = news.isUp ? desktop.operator.driver.size : desktop.size;
  return {
    running: news.isUp,
    sandbox_id: news.sandboxId(desktop.running),
    display: desktop.running.display ?? "",
    resolution: `${width}x${height}`,
    width,
    height,
    url: news.isUp ? news.url : null,
    port: null,
    viewers: streams?.viewers ?? 0,
    controlled_by: control?.holder?.holder ?? null,
  };
}
