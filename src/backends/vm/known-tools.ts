import { toPicturePath } from "../../core/desktop.ts";
import { type Input, tool } from "../../core/tool.ts";
import type { ActionDone } from "./actions/operator.ts";
import * as schema from "./known-schemas.ts";
import { perform, type VmContext, type VmSession } from "./session.ts";

const NO_TREE = { accessibility_tree: null };
const SEES = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const ACTS = { destructiveHint: true };

/** The desktop tools that agents of the known implementation call, with its fields in their results. */
export class KnownTools {
  @tool({
    description: "Take a screenshot. Points of later calls count in its pixels, from the top left.",
    params: schema.ScreenshotParams,
    result: schema.ScreenshotResult,
    annotations: SEES,
  })
  async screenshot(params: Input<typeof schema.ScreenshotParams>, context: VmContext) {
    return toScreenshot(await perform({ action: "screenshot", ...params }, context), context);
  }

  @tool({
    description: "Click at a point, with any button, as often as asked.",
    params: schema.ClickParams,
    result: schema.ClickResult,
    annotations: ACTS,
  })
  click({ ref, button, count, modifiers, ...place }: Input<typeof schema.ClickParams>, context: VmContext) {
    return click(toPoint(place), { ref, button, count, modifiers }, context);
  }

  @tool({
    description: "Click twice at a point, at the pointer's place by default.",
    params: schema.PointParams,
    result: schema.ClickResult,
    annotations: ACTS,
  })
  doubleClick({ modifiers, ...place }: Input<typeof schema.PointParams>, context: VmContext) {
    return click(toPoint(place), { button: "left", count: 2, modifiers }, context);
  }

  @tool({
    description: "Click with the right button, at the pointer's place by default.",
    params: schema.PointParams,
    result: schema.ClickResult,
    annotations: ACTS,
  })
  rightClick({ modifiers, ...place }: Input<typeof schema.PointParams>, context: VmContext) {
    return click(toPoint(place), { button: "right", count: 1, modifiers }, context);
  }

  @tool({
    description: "Type text of any script by keys; a line end is Enter.",
    params: schema.TypeParams,
    result: schema.TypeResult,
    annotations: ACTS,
  })
  async type({ text, interval = 0, delay_ms, method }: Input<typeof schema.TypeParams>, context: VmContext) {
    await perform({ action: "type", text, delay_ms: delay_ms ?? Math.round(interval * 1_000), method }, context);
    return { typed: text, length: [...text].length, ...NO_TREE };
  }

  @tool({
    description: 'Press a key or a combination: "Return", "ctrl+shift+s".',
    params: schema.KeyParams,
    result: schema.KeyResult,
    annotations: ACTS,
  })
  async key({ key, repeat }: Input<typeof schema.KeyParams>, context: VmContext) {
    await perform({ action: "key", keys: key, repeat }, context);
    return { key, ...NO_TREE };
  }

  @tool({
    description: "Press keys together, in their order.",
    params: schema.HotkeyParams,
    result: schema.HotkeyResult,
    annotations: ACTS,
  })
  async hotkey({ keys }: Input<typeof schema.HotkeyParams>, context: VmContext) {
    await perform({ action: "key", keys }, context);
    return { keys, ...NO_TREE };
  }

  @tool({
    description:
      "Turn the wheel, at a point or where the pointer is: clicks up (or down when negative), a direction, or pixels.",
    params: schema.ScrollParams,
    result: schema.ScrollResult,
    annotations: ACTS,
  })
  async scroll(params: Input<typeof schema.ScrollParams>, context: VmContext) {
    const { clicks, modifiers } = params;
    await perform({ action: "scroll", coordinate: toPoint(params), modifiers, ...toDistance(params) }, context);
    return { position: toPosition(context), clicks, ...NO_TREE };
  }

  @tool({
    description: "Drag from one point to another with a button held.",
    params: schema.DragParams,
    result: schema.DragResult,
    annotations: ACTS,
  })
  async drag(params: Input<typeof schema.DragParams>, context: VmContext) {
    const { start_x, start_y, end_x, end_y, ...how } = params;
    const from: schema.Point = [start_x, start_y];
    const to: schema.Point = [end_x, end_y];
    await perform({ action: "drag", path: [from, to], ...how }, context);
    return { from, to, ...NO_TREE };
  }

  @tool({
    description: "Move the pointer to a point.",
    params: schema.MoveParams,
    result: schema.PositionResult,
    annotations: ACTS,
  })
  async move({ x, y, duration }: Input<typeof schema.MoveParams>, context: VmContext) {
    await perform({ action: "mouse_move", coordinate: [x, y], duration }, context);
    return { position: toPosition(context), ...NO_TREE };
  }

  @tool({
    description: "Press a mouse button and keep it down.",
    params: schema.ButtonParams,
    result: schema.ButtonResult,
    annotations: ACTS,
  })
  async mouseDown({ button, ...place }: Input<typeof schema.ButtonParams>, context: VmContext) {
    await perform({ action: "mouse_down", button, coordinate: toPoint(place) }, context);
    return { button, ...NO_TREE };
  }

  @tool({
    description: "Release a mouse button.",
    params: schema.ButtonParams,
    result: schema.ButtonResult,
    annotations: ACTS,
  })
  async mouseUp({ button, ...place }: Input<typeof schema.ButtonParams>, context: VmContext) {
    await perform({ action: "mouse_up", button, coordinate: toPoint(place) }, context);
    return { button, ...NO_TREE };
  }

  @tool({
    description: "Press a key and keep it down.",
    params: schema.OneKeyParams,
    result: schema.KeyResult,
    annotations: ACTS,
  })
  async keyDown({ key }: Input<typeof schema.OneKeyParams>, context: VmContext) {
    await perform({ action: "key_down", key }, context);
    return { key, ...NO_TREE };
  }

  @tool({
    description: "Release a key.",
    params: schema.OneKeyParams,
    result: schema.KeyResult,
    annotations: ACTS,
  })
  async keyUp({ key }: Input<typeof schema.OneKeyParams>, context: VmContext) {
    await perform({ action: "key_up", key }, context);
    return { key, ...NO_TREE };
  }

  @tool({
    description: "Wait so many seconds, at most 300.",
    params: schema.WaitParams,
    result: schema.WaitResult,
    annotations: SEES,
  })
  async wait({ seconds }: Input<typeof schema.WaitParams>, context: VmContext) {
    await perform({ action: "wait", duration: seconds }, context);
    return { waited: seconds, ...NO_TREE };
  }

  @tool({ description: "Say that the task is done.", result: schema.DoneResult, annotations: SEES })
  async done(_params: object, context: VmContext) {
    const { desktop, episode } = context.session.data;
    await episode.end("done", {}, desktop.operator, context);
    return { done: true };
  }

  @tool({
    description: "Say that the task cannot be done.",
    params: schema.FailParams,
    result: schema.FailResult,
    annotations: SEES,
  })
  async fail({ reason }: Input<typeof schema.FailParams>, context: VmContext) {
    const { desktop, episode } = context.session.data;
    await episode.end("fail", { reason }, desktop.operator, context);
    return { fail: true, reason };
  }
}

export function toScreenshot(
  { picture, told, asLink = false }: ActionDone,
  { session }: { session: { id: string; name: string; data: VmSession } },
) {
  if (picture === undefined) throw new TypeError("a screenshot without a picture");
  const found = told?.["accessibility_tree"];
  const tree = typeof found === "string" ? { accessibility_tree: found } : NO_TREE;
  const { format, width, height, bytes } = picture;
  const shown = asLink
    ? { image: "", link: toPicturePath(session.id, session.data.pictures.keep(picture)) }
    : { image: bytes.toString("base64") };
  return { ...shown, format, size: [width, height] as const, session: session.name, ...tree };
}

interface How {
  readonly ref?: string | undefined;
  readonly button: "left" | "right" | "middle" | "back" | "forward";
  readonly count: number;
  readonly modifiers: string[] | undefined;
}

async function click(coordinate: schema.Point | undefined, how: How, context: VmContext) {
  await perform({ action: "click", coordinate, ...how }, context);
  return { clicked: toPosition(context), button: how.button, ...NO_TREE };
}

function toPosition({ session }: VmContext): schema.Point {
  const { view, driver } = session.data.desktop.operator;
  const { x, y } = view.toImage(driver.position);
  return [x, y];
}

function toPoint({ x, y, coordinate }: schema.Place): schema.Point | undefined {
  return x === undefined || y === undefined ? coordinate : [x, y];
}

function toDistance({ clicks, direction, scroll_x: right, scroll_y: down, dx, dy }: Input<typeof schema.ScrollParams>) {
  if (right !== undefined || down !== undefined) return { dx: right ?? 0, dy: down ?? 0, unit: "pixels" } as const;
  if (dx !== undefined || dy !== undefined) return { dx: dx ?? 0, dy: dy ?? 0 };
  const many = Math.abs(clicks);
  if (direction === "left" || direction === "right") return { dx: direction === "left" ? -many : many };
  if (direction !== undefined) return { dy: direction === "up" ? -many : many };
  return { dy: -clicks };
}
