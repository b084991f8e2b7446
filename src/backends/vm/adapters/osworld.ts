import { z } from "zod";
import { type ActionAdapter, parseForeign, toFailure, toPicture } from "./adapter.ts";
import { toNamedAction } from "./named-actions.ts";

const NAMES = [
  "MOVE_TO",
  "CLICK",
  "MOUSE_DOWN",
  "MOUSE_UP",
  "RIGHT_CLICK",
  "DOUBLE_CLICK",
  "DRAG_TO",
  "SCROLL",
  "TYPING",
  "PRESS",
  "KEY_DOWN",
  "KEY_UP",
  "HOTKEY",
];
const Step = z.union([
  z.enum(["WAIT", "FAIL", "DONE"]).transform((type) => ({ action_type: type, parameters: {} })),
  z.looseObject({ action_type: z.string(), parameters: z.looseObject({}).nullish() }),
]);

/**
 * OSWorld's `computer_13`. In: `{action_type, parameters}`, or `WAIT`, `FAIL`, `DONE` alone. Out: what its `env.step` answers:
 * `{obs: {screenshot, accessibility_tree, terminal, instruction}, reward, done, info}`, the screenshot in base64.
 */
export function createOsworldAdapter(): ActionAdapter {
  const read = (raw: unknown) => {
    const step = parseForeign(Step, raw, "OSWorld's computer_13");
    // Older agents write the parameters beside the type.
    const { action_type: type, parameters, ...beside } = step;
    return { type, parameters: parameters ?? beside };
  };
  return {
    toTurn(raw) {
      const { type, parameters } = read(raw);
      if (type === "DONE" || type === "FAIL") {
        return { actions: [], screenshot: true, ended: type === "DONE" ? "done" : "fail" };
      }
      return {
        actions: [toNamedAction(type, parameters, "OSWorld's computer_13", [...NAMES, "WAIT"])],
        screenshot: true,
      };
    },
    toAnswer(_raw, { ended }, done) {
      const failure = toFailure(done);
      return {
        obs: {
          screenshot: toPicture(done)?.bytes.toString("base64") ?? null,
          accessibility_tree: null,
          terminal: null,
          instruction: null,
        },
        reward: 0,
        done: ended !== undefined,
        info: {
          ...(ended === undefined ? {} : { [ended]: true }),
          ...(failure === undefined ? {} : { error: failure }),
        },
      };
    },
  };
}
