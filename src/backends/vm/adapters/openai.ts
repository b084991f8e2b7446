import { z } from "zod";
import { type ActionAdapter, parseForeign, toAction, toDataUrl, toPicture } from "./adapter.ts";

const Keys = z.array(z.string()).nullish();
const Point = { x: z.number(), y: z.number() };
const OpenAiAction = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("click"),
    ...Point,
    button: z.enum(["left", "right", "wheel", "back", "forward"]),
    keys: Keys,
  }),
  z.object({ type: z.literal("double_click"), ...Point, keys: Keys }),
  z.object({ type: z.literal("drag"), path: z.array(z.object(Point)).min(2), keys: Keys }),
  z.object({ type: z.literal("keypress"), keys: z.array(z.string()).min(1) }),
  z.object({ type: z.literal("move"), ...Point, keys: Keys }),
  z.object({ type: z.literal("screenshot") }),
  z.object({ type: z.literal("scroll"), ...Point, scroll_x: z.number(), scroll_y: z.number(), keys: Keys }),
  z.object({ type: z.literal("type"), text: z.string() }),
  z.object({ type: z.literal("wait") }),
]);
type OpenAiAction = z.infer<typeof OpenAiAction>;

const Call = z.object({
  call_id: z.string().nullish(),
  action: OpenAiAction.nullish(),
  actions: z.array(OpenAiAction).min(1).max(100).nullish(),
});

/** Seconds that `wait` means, which has no duration of its own. */
const WAIT_SECONDS = 2;

/**
 * OpenAI's computer tools: `computer`, whose calls hold several actions, and `computer_use_preview` with one. In: the
 * `computer_call` item, or one bare action. Out: the `computer_call_output` item, always with the screen after it.
 */
export function createOpenAiAdapter(tool: "computer" | "computer_use_preview"): ActionAdapter {
  const read = (raw: unknown) => {
    const bare = OpenAiAction.safeParse(raw).data;
    const call = parseForeign(
      Call.refine(({ action, actions }) => Boolean(action ?? actions), { error: "it holds no action" }).refine(
        ({ actions }) => tool === "computer" || !actions,
        { error: "only the tool computer has batches", path: ["actions"] },
      ),
      bare === undefined ? raw : { action: bare },
      `OpenAI's ${tool}`,
    );
    return { call, actions: call.actions ?? (call.action ? [call.action] : []) };
  };
  return {
    // The settled screenshot at the end answers those that the model asks for itself.
    toTurn: (raw) => ({
      actions: read(raw)
        .actions.filter(({ type }) => type !== "screenshot")
        .map((action) => toAction(toCanonical(action))),
      screenshot: true,
    }),
    toAnswer(raw, _turn, done) {
      const picture = toPicture(done);
      return {
        type: "computer_call_output",
        // Safety checks are acknowledged by a person, and so by whoever sends this on.
        ...(read(raw).call.call_id ? { call_id: read(raw).call.call_id } : {}),
        output: { type: "computer_screenshot", ...(picture === undefined ? {} : { image_url: toDataUrl(picture) }) },
      };
    },
  };
}

function toCanonical(action: OpenAiAction): Readonly<Record<string, unknown>> {
  switch (action.type) {
    case "click": {
      const button = action.button === "wheel" ? "middle" : action.button;
      return { action: "click", button, coordinate: [action.x, action.y], modifiers: action.keys };
    }
    case "double_click":
      return { action: "click", count: 2, coordinate: [action.x, action.y], modifiers: action.keys };
    case "drag":
      return { action: "drag", path: action.path.map(({ x, y }) => [x, y]), modifiers: action.keys };
    case "keypress":
      return { action: "key", keys: action.keys };
    case "move":
      return { action: "mouse_move", coordinate: [action.x, action.y], modifiers: action.keys };
    case "scroll": {
      const { scroll_x: dx, scroll_y: dy } = action;
      return { action: "scroll", coordinate: [action.x, action.y], dx, dy, unit: "pixels", modifiers: action.keys };
    }
    case "type":
      return { action: "type", text: action.text };
    case "wait":
      return { action: "wait", duration: WAIT_SECONDS };
    default:
      return { action: "screenshot" };
  }
}
