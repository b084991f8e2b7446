import { parseCombination, toKeysyms } from "../keys/key-combination.ts";
import type { Point } from "../screen/view.ts";
import type { ActionName, ImagePoint } from "./action.ts";
import type { Row } from "./action-row.ts";
import { CLIPBOARD_ROWS } from "./clipboard-rows.ts";
import { ELEMENT_ROWS, locate, readTree } from "./element-rows.ts";
import type { Operator } from "./operator.ts";
import { PROGRAM_ROWS } from "./program-rows.ts";
import { takeScreenshot } from "./screenshot.ts";
import { typeText } from "./type-method.ts";
import { WAIT_ROWS } from "./wait-rows.ts";
import { WINDOW_ROWS } from "./window-rows.ts";

/** How far a click of the wheel scrolls in Chromium, whose pages are what models scroll by pixels; other programs scroll less. */
const PIXELS_PER_CLICK = 120;
const MAX_CLICKS = 1_000;
const DEFAULT_DRAG_MS = 100;

/** How each action is done; the one place that knows. */
export const ACTION_TABLE: { readonly [N in ActionName]: Row<N> } = {
  screenshot: async (action, operator, signal) => {
    const shown = { picture: await takeScreenshot(operator, action, signal), asLink: action.as === "link" };
    if (action.accessibility_tree !== true) return shown;
    return { ...shown, told: { accessibility_tree: await readTree(operator, signal) } };
  },
  zoom: async (action, operator, signal) => ({
    picture: await takeScreenshot(operator, action, signal),
    asLink: action.as === "link",
  }),

  cursor_position: async (_action, operator) => ({ position: operator.view.toImage(operator.driver.position) }),

  display_info: async (_action, { view: { screen, image }, options: { dpi } }) => ({
    display: {
      ...screen,
      screenshot_width: image.width,
      screenshot_height: image.height,
      scale: image.width / screen.width,
      ...(dpi === undefined ? {} : { dpi }),
    },
  }),

  mouse_move: async ({ coordinate, delta, duration, modifiers }, operator, signal) => {
    const target = coordinate ? toPoint(coordinate, operator) : toOffset(delta, operator);
    await operator.hands.holding(toModifiers(modifiers), () =>
      operator.hands.moveAlong([target], (duration ?? 0) * 1_000, signal),
    );
    await operator.flush(signal);
  },

  click: async ({ button, count, coordinate, ref, modifiers }, operator, signal) => {
    const keysyms = toModifiers(modifiers);
    if (ref !== undefined) operator.hands.moveTo(await locate(ref, operator, signal));
    moveIfAsked(coordinate, operator);
    await operator.hands.holding(keysyms, () => operator.hands.click(button, count));
    await operator.flush(signal);
  },

  mouse_down: async ({ button, coordinate }, operator, signal) => {
    moveIfAsked(coordinate, operator);
    operator.hands.button(button, true);
    await operator.flush(signal);
  },

  mouse_up: async ({ button, coordinate }, operator, signal) => {
    moveIfAsked(coordinate, operator);
    operator.hands.button(button, false);
    await operator.flush(signal);
  },

  drag: async ({ path, delta, from_pointer: fromPointer, button, duration, modifiers }, operator, signal) => {
    const points = path?.map((point) => toPoint(point, operator)) ?? [toOffset(delta, operator)];
    const keysyms = toModifiers(modifiers);
    const { hands } = operator;
    if (path !== undefined && !fromPointer) {
      const start = points.shift();
      if (start !== undefined) hands.moveTo(start);
    }
    const durationMs = duration === undefined ? DEFAULT_DRAG_MS : duration * 1_000;
    await hands.holding(keysyms, () => hands.pressing(button, () => hands.moveAlong(points, durationMs, signal)));
    await operator.flush(signal);
  },

  scroll: async ({ coordinate, dx, dy, unit, modifiers }, operator, signal) => {
    const keysyms = toModifiers(modifiers);
    moveIfAsked(coordinate, operator);
    const { x, y } = unit === "pixels" ? operator.view.toScreenDistance({ x: dx, y: dy }) : { x: dx, y: dy };
    await operator.hands.holding(keysyms, () => {
      operator.hands.wheel(y < 0 ? "up" : "down", toClicks(y, unit));
      operator.hands.wheel(x < 0 ? "left" : "right", toClicks(x, unit));
    });
    await operator.flush(signal);
  },

  type: async ({ text, delay_ms: delayMs, method }, operator, signal) => {
    await typeText(text, { method: method ?? "auto", delayMs: delayMs ?? 0 }, operator, signal);
  },

  key: async ({ keys, repeat }, operator, signal) => {
    const keysyms = toCombination(keys);
    const last = keysyms.at(-1);
    if (last === undefined) return;
    await operator.hands.holding(keysyms.slice(0, -1), () => {
      for (let index = 0; index < repeat; index += 1) {
        operator.hands.key(last, true);
        operator.hands.key(last, false);
      }
    });
    await operator.flush(signal);
  },

  hold_key: async ({ keys, duration }, operator, signal) => {
    await operator.hands.holding(toCombination(keys), () => operator.driver.sleep(duration * 1_000, signal));
    await operator.flush(signal);
  },

  key_down: async ({ key }, operator, signal) => {
    for (const keysym of parseCombination(key)) operator.hands.key(keysym, true);
    await operator.flush(signal);
  },

  key_up: async ({ key }, operator, signal) => {
    for (const keysym of parseCombination(key).toReversed()) operator.hands.key(keysym, false);
    await operator.flush(signal);
  },

  wait: async ({ duration }, operator, signal) => operator.driver.sleep(duration * 1_000, signal),

  ...ELEMENT_ROWS,
  ...CLIPBOARD_ROWS,
  ...WINDOW_ROWS,
  ...PROGRAM_ROWS,
  ...WAIT_ROWS,
};

function toPoint([x, y]: ImagePoint, operator: Operator): Point {
  return operator.view.toScreen({ x, y });
}

function toOffset(delta: readonly [number, number] | undefined, operator: Operator): Point {
  const [x, y] = delta ?? [0, 0];
  const moved = operator.view.toScreenDistance({ x, y });
  const { position, size } = operator.driver;
  const into = (value: number, side: number) => Math.min(Math.max(value, 0), side - 1);
  return { x: into(position.x + moved.x, size.width), y: into(position.y + moved.y, size.height) };
}

function moveIfAsked(coordinate: ImagePoint | undefined, operator: Operator): void {
  if (coordinate !== undefined) operator.hands.moveTo(toPoint(coordinate, operator));
}

function toModifiers(modifiers: readonly string[] | undefined): readonly number[] {
  return modifiers === undefined || modifiers.length === 0 ? [] : toKeysyms(modifiers);
}

function toCombination(keys: string | readonly string[]): readonly number[] {
  return typeof keys === "string" ? parseCombination(keys) : toKeysyms(keys);
}

function toClicks(distance: number, unit: "clicks" | "pixels"): number {
  if (distance === 0) return 0;
  const clicks = unit === "pixels" ? Math.abs(distance) / PIXELS_PER_CLICK : Math.abs(distance);
  return Math.min(MAX_CLICKS, Math.max(1, Math.round(clicks)));
}
