import { type Input, tool } from "../../core/tool.ts";
import * as schema from "./agent-schemas.ts";
import { told } from "./agent-tools.ts";
import type { VmContext } from "./session.ts";

const SEES = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const ACTS = { destructiveHint: true };

/** The desktop's windows, boxes in screenshot pixels with their frames. */
export class WindowTools {
  @tool({ description: "List the windows, the one in front last.", result: schema.WindowsResult, annotations: SEES })
  listWindows(_params: object, context: VmContext) {
    return told({ action: "list_windows" }, context);
  }

  @tool({ description: "Say which window is active.", result: schema.ActiveWindowResult, annotations: SEES })
  activeWindow(_params: object, context: VmContext) {
    return told({ action: "active_window" }, context);
  }

  @tool({
    description: "Say where a window is, of which program, and in what state.",
    params: schema.WindowParams,
    result: schema.WindowResult,
    annotations: SEES,
  })
  windowInfo(params: Input<typeof schema.WindowParams>, context: VmContext) {
    return told({ action: "window_info", ...params }, context);
  }

  @tool({
    description: "Bring a window to the front and give it the focus.",
    params: schema.WindowParams,
    result: schema.WindowResult,
    annotations: ACTS,
  })
  activateWindow(params: Input<typeof schema.WindowParams>, context: VmContext) {
    return told({ action: "activate_window", ...params }, context);
  }

  @tool({
    description: "Ask a window's program to close it; it may ask back first.",
    params: schema.WindowParams,
    result: schema.CloseResult,
    annotations: ACTS,
  })
  closeWindow(params: Input<typeof schema.WindowParams>, context: VmContext) {
    return told({ action: "close_window", ...params }, context);
  }

  @tool({
    description: "Minimize a window; activate_window brings it back.",
    params: schema.WindowParams,
    result: schema.WindowResult,
    annotations: ACTS,
  })
  minimizeWindow(params: Input<typeof schema.WindowParams>, context: VmContext) {
    return told({ action: "minimize_window", ...params }, context);
  }

  @tool({
    description: "Maximize a window.",
    params: schema.WindowParams,
    result: schema.WindowResult,
    annotations: ACTS,
  })
  maximizeWindow(params: Input<typeof schema.WindowParams>, context: VmContext) {
    return told({ action: "maximize_window", ...params }, context);
  }

  @tool({
    description: "Give a window a size; a program may insist on its own, and the answer says what it became.",
    params: schema.WindowSizeParams,
    result: schema.WindowResult,
    annotations: ACTS,
  })
  setWindowSize(params: Input<typeof schema.WindowSizeParams>, context: VmContext) {
    return told({ action: "set_window_size", ...params }, context);
  }

  @tool({
    description: "Move a window.",
    params: schema.WindowPositionParams,
    result: schema.WindowResult,
    annotations: ACTS,
  })
  setWindowPosition(params: Input<typeof schema.WindowPositionParams>, context: VmContext) {
    return told({ action: "set_window_position", ...params }, context);
  }
}
