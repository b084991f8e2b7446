import { ToolyardError } from "../../../core/errors.ts";
import { agentOf } from "../desktop-agent/agent-port.ts";
import type { AgentAnswer, AgentOp, AgentWindow } from "../desktop-agent/agent-answers.ts";
import { toToldWindow } from "../desktop-agent/image-box.ts";
import type { Rectangle } from "../rfb/client-messages.ts";
import type { Rows } from "./action-row.ts";
import type { Operator } from "./operator.ts";

const TIMEOUT_MS = 5_000;

/** Windows, as the window manager has them. */
export const WINDOW_ROWS: Rows<
  | "list_windows"
  | "active_window"
  | "window_info"
  | "activate_window"
  | "close_window"
  | "minimize_window"
  | "maximize_window"
  | "set_window_size"
  | "set_window_position"
> = {
  list_windows: async (_action, operator, signal) => {
    const windows = await listWindows(operator, signal);
    return { told: { windows: windows.map((window) => toToldWindow(window, operator.view)) } };
  },
  active_window: async (_action, operator, signal) => {
    const { window } = await ask("active_window", {}, operator, signal);
    return { told: { window: window && toToldWindow(window, operator.view) } };
  },
  window_info: async ({ id }, operator, signal) => toDone(await windowInfo(id, operator, signal), operator),
  activate_window: async ({ id }, operator, signal) =>
    toDone(await ask("activate_window", { id }, operator, signal), operator),
  minimize_window: async ({ id }, operator, signal) =>
    toDone(await ask("minimize_window", { id }, operator, signal), operator),
  maximize_window: async ({ id }, operator, signal) =>
    toDone(await ask("maximize_window", { id }, operator, signal), operator),
  close_window: async ({ id }, operator, signal) => {
    const { closed } = await ask("close_window", { id }, operator, signal);
    // A program may ask first whether to save, which is not for the caller to be told as a failure.
    return { told: { closed } };
  },
  set_window_size: async ({ id, width, height }, operator, signal) => {
    const size = operator.view.toScreenDistance({ x: width, y: height });
    return toDone(await ask("place_window", { id, width: size.x, height: size.y }, operator, signal), operator);
  },
  set_window_position: async ({ id, x, y }, operator, signal) => {
    const corner = operator.view.toScreenDistance({ x, y });
    return toDone(await ask("place_window", { id, ...corner }, operator, signal), operator);
  },
};

/** From the one at the back to the one in front. */
export async function listWindows(operator: Operator, signal: AbortSignal): Promise<readonly AgentWindow[]> {
  const { windows } = await ask("list_windows", {}, operator, signal);
  return windows;
}

export function windowInfo(id: number, operator: Operator, signal: AbortSignal): Promise<AgentWindow> {
  return ask("window_info", { id }, operator, signal);
}

/**
 * The part of the screen that a window is on.
 *
 * @throws ToolyardError `business_failure` when none of it is on the screen.
 */
export async function windowPart(id: number, operator: Operator, signal: AbortSignal): Promise<Rectangle> {
  const { box, states } = await windowInfo(id, operator, signal);
  const { width, height } = operator.driver.size;
  const x = Math.max(0, box.x);
  const y = Math.max(0, box.y);
  const part = {
    x,
    y,
    width: Math.min(width, box.x + box.width) - x,
    height: Math.min(height, box.y + box.height) - y,
  };
  if (part.width > 0 && part.height > 0 && !states.includes("minimized")) return part;
  throw new ToolyardError("business_failure", `the window ${id} is not on the screen`, {
    suggestion: "Activate it first.",
  });
}

function ask<O extends AgentOp>(
  op: O,
  args: Readonly<Record<string, unknown>>,
  { driver }: Operator,
  signal: AbortSignal,
): Promise<AgentAnswer<O>> {
  return agentOf(driver).ask(op, args, { timeoutMs: TIMEOUT_MS, signal });
}

function toDone(window: AgentWindow, { view }: Operator) {
  return { told: { window: toToldWindow(window, view) } };
}
