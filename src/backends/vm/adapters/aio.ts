import { z } from "zod";
import { type ActionAdapter, parseForeign, toFailure } from "./adapter.ts";
import { toNamedAction } from "./named-actions.ts";

const NAMES = [
  "MOVE_TO",
  "MOVE_REL",
  "CLICK",
  "MOUSE_DOWN",
  "MOUSE_UP",
  "RIGHT_CLICK",
  "DOUBLE_CLICK",
  "DRAG_TO",
  "DRAG_REL",
  "SCROLL",
  "TYPING",
  "PRESS",
  "KEY_DOWN",
  "KEY_UP",
  "HOTKEY",
  "WAIT",
];
const Request = z.looseObject({ action_type: z.string() });

/** AIO Sandbox's actions. In: `{action_type, …}`. Out: `{status, action_performed}`, with a message when it failed. */
export function createAioAdapter(): ActionAdapter {
  const read = (raw: unknown) => parseForeign(Request, raw, "AIO Sandbox");
  return {
    toTurn(raw) {
      const { action_type: type, ...params } = read(raw);
      return { actions: [toNamedAction(type, params, "AIO Sandbox", NAMES)], screenshot: false };
    },
    toAnswer(raw, _turn, done) {
      const failure = toFailure(done);
      const { action_type: performed } = read(raw);
      if (failure === undefined) return { status: "success", action_performed: performed };
      return { status: "error", action_performed: performed, message: failure };
    },
  };
}
