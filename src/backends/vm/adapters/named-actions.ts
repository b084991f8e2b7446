import { z } from "zod";
import { parseForeign, toAction } from "./adapter.ts";
import type { Action } from "../actions/action.ts";

// The actions that OSWorld's computer_13 and AIO Sandbox have in common: pyautogui's, in capitals.
const Amount = z.number().nullish();
const Params = z.object({
  x: Amount,
  y: Amount,
  x_offset: Amount,
  y_offset: Amount,
  dx: Amount,
  dy: Amount,
  button: z.string().nullish(),
  num_clicks: Amount,
  text: z.string().nullish(),
  key: z.string().nullish(),
  keys: z.array(z.string()).nullish(),
  duration: Amount,
});
type Params = z.infer<typeof Params>;

const point = ({ x, y }: Params): readonly [number, number] | undefined =>
  typeof x === "number" && typeof y === "number" ? [x, y] : undefined;
const offset = ({ x_offset: x, y_offset: y }: Params): readonly [number, number] => [x ?? 0, y ?? 0];

const ROWS: Readonly<Record<string, (params: Params) => Readonly<Record<string, unknown>>>> = {
  MOVE_TO: (params) => ({ action: "mouse_move", coordinate: point(params), duration: params.duration }),
  MOVE_REL: (params) => ({ action: "mouse_move", delta: offset(params) }),
  CLICK: (params) => ({ action: "click", button: params.button, count: params.num_clicks, coordinate: point(params) }),
  RIGHT_CLICK: (params) => ({ action: "click", button: "right", coordinate: point(params) }),
  DOUBLE_CLICK: (params) => ({ action: "click", button: params.button, count: 2, coordinate: point(params) }),
  MOUSE_DOWN: ({ button }) => ({ action: "mouse_down", button }),
  MOUSE_UP: ({ button }) => ({ action: "mouse_up", button }),
  DRAG_TO: (params) => ({
    action: "drag",
    path: [point(params)],
    from_pointer: true,
    button: params.button,
    duration: params.duration,
  }),
  DRAG_REL: (params) => ({ action: "drag", delta: offset(params), button: params.button }),
  // pyautogui's wheel: up and to the right are positive.
  SCROLL: ({ dx, dy }) => ({ action: "scroll", dx: dx ?? 0, dy: dy ? -dy : 0 }),
  TYPING: ({ text }) => ({ action: "type", text }),
  PRESS: ({ key }) => ({ action: "key", keys: key }),
  KEY_DOWN: ({ key }) => ({ action: "key_down", key }),
  KEY_UP: ({ key }) => ({ action: "key_up", key }),
  HOTKEY: ({ keys }) => ({ action: "key", keys }),
  WAIT: ({ duration }) => ({ action: "wait", duration: duration ?? 1 }),
};

/** @throws ToolyardError `invalid_input` when the dialect has no such action or its params are wrong. */
export function toNamedAction(type: string, params: unknown, dialect: string, names: readonly string[]): Action {
  const row = names.includes(type) ? ROWS[type] : undefined;
  if (row === undefined) {
    return parseForeign(z.never({ error: `${JSON.stringify(type.slice(0, 40))} is not known` }), type, dialect);
  }
  return toAction(row(parseForeign(Params, params ?? {}, dialect)));
}
