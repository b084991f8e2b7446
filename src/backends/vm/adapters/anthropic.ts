import { z } from "zod";
import type { ActionDone, BatchDone } from "../actions/operator.ts";
import type { EncodedPicture } from "../screen/picture.ts";
import { type ActionAdapter, type ForeignTurn, parseForeign, toAction, toFailure } from "./adapter.ts";

export type AnthropicVersion = "20241022" | "20250124" | "20251124" | "toolset_20260801";

const Point = z.tuple([z.number(), z.number()]).nullish();
const Input = z.object({
  action: z.string(),
  coordinate: Point,
  start_coordinate: Point,
  text: z.string().nullish(),
  key: z.string().nullish(),
  repeat: z.number().nullish(),
  duration: z.number().nullish(),
  scroll_direction: z.enum(["up", "down", "left", "right"]).nullish(),
  scroll_amount: z.number().nullish(),
  region: z.tuple([z.number(), z.number(), z.number(), z.number()]).nullish(),
});
type Input = z.infer<typeof Input>;

/** A member's own block: `{type: "tool_use", toolset_name: "computer", name, input}`. */
const ToolUse = z.object({ name: z.string(), input: z.looseObject({}).nullish() });

const FIRST = [
  "key",
  "type",
  "mouse_move",
  "left_click",
  "left_click_drag",
  "right_click",
  "middle_click",
  "double_click",
  "screenshot",
  "cursor_position",
];
const SECOND = [...FIRST, "left_mouse_down", "left_mouse_up", "scroll", "hold_key", "wait", "triple_click"];
const THIRD = [...SECOND, "zoom"];
const MEMBERS: Readonly<Record<AnthropicVersion, readonly string[]>> = {
  "20241022": FIRST,
  "20250124": SECOND,
  "20251124": THIRD,
  toolset_20260801: THIRD,
};

const CLICKS: Readonly<Record<string, { button: "left" | "right" | "middle"; count: number; told: string }>> = {
  left_click: { button: "left", count: 1, told: "Clicked." },
  right_click: { button: "right", count: 1, told: "Right-clicked." },
  middle_click: { button: "middle", count: 1, told: "Middle-clicked." },
  double_click: { button: "left", count: 2, told: "Double-clicked." },
  triple_click: { button: "left", count: 3, told: "Triple-clicked." },
};

/**
 * Anthropic's computer tool in one of its versions. In: the `input` of a tool_use block, or the whole block; of the toolset
 * a member's block. Out: the `content` and `is_error` of the tool_result.
 */
export function createAnthropicAdapter(version: AnthropicVersion): ActionAdapter {
  const read = (raw: unknown): Input => {
    const block = ToolUse.safeParse(raw).data;
    const input =
      block === undefined ? raw : version === "toolset_20260801" ? { ...block.input, action: block.name } : block.input;
    return parseForeign(
      Input.refine(({ action }) => MEMBERS[version].includes(action), {
        error: "the version does not have it",
        path: ["action"],
      }),
      input,
      `Anthropic's computer tool ${version}`,
    );
  };
  return {
    toTurn: (raw) => ({ actions: [toAction(toCanonical(read(raw)))], screenshot: false }),
    toAnswer: (raw, _turn: ForeignTurn, done) => toContent(read(raw), done),
  };
}

function toCanonical(input: Input): Readonly<Record<string, unknown>> {
  const { action, coordinate, text, duration } = input;
  const modifiers = text === undefined || text === null || text === "" ? undefined : text.split("+");
  const click = CLICKS[action];
  if (click !== undefined) {
    const held = modifiers ?? (input.key ? input.key.split("+") : undefined);
    return { action: "click", button: click.button, count: click.count, coordinate, modifiers: held };
  }
  switch (action) {
    case "key":
      return { action, keys: text ?? "", repeat: input.repeat };
    case "hold_key":
      return { action, keys: text ?? "", duration };
    case "left_mouse_down":
    case "left_mouse_up":
      return { action: action.slice("left_".length), button: "left", coordinate };
    case "left_click_drag":
      return input.start_coordinate
        ? { action: "drag", path: [input.start_coordinate, coordinate], modifiers }
        : { action: "drag", path: [coordinate], from_pointer: true, modifiers };
    case "scroll":
      return { action, coordinate, modifiers, ...toDistance(input) };
    case "mouse_move":
      return { action, coordinate };
    case "type":
      return { action, text };
    case "wait":
      return { action, duration };
    case "zoom":
      return { action, region: input.region };
    default:
      return { action };
  }
}

function toDistance({ scroll_direction: direction, scroll_amount: amount }: Input): { dx: number; dy: number } {
  const clicks = amount ?? 1;
  if (direction === "left" || direction === "right") return { dx: direction === "left" ? -clicks : clicks, dy: 0 };
  return { dx: 0, dy: direction === "up" ? -clicks : clicks };
}

function toContent(input: Input, done: BatchDone): Readonly<Record<string, unknown>> {
  const failure = toFailure(done);
  if (failure !== undefined) return { content: [{ type: "text", text: failure }], is_error: true };
  const [item] = done.items;
  const own = item?.ok ? item.done : undefined;
  const picture = done.picture ?? own?.picture;
  const text = toText(input, own);
  return {
    content: [
      ...(text === undefined ? [] : [{ type: "text", text }]),
      ...(picture === undefined ? [] : [toImage(picture)]),
    ],
    is_error: false,
  };
}

/** What the API's own clients tell the model of an action that shows nothing. */
const TOLD: Readonly<Record<string, (input: Input, own: ActionDone | undefined) => string>> = {
  key: ({ text }) => `Pressed ${text ?? ""}.`,
  hold_key: ({ text, duration }) => `Held ${text ?? ""} for ${duration ?? 0}s.`,
  type: () => "Typed.",
  cursor_position: (_input, own) => `X=${own?.position?.x ?? 0},Y=${own?.position?.y ?? 0}`,
  mouse_move: () => "Moved the mouse.",
  left_mouse_down: () => "Left mouse button pressed.",
  left_mouse_up: () => "Left mouse button released.",
  left_click_drag: () => "Dragged.",
  scroll: ({ scroll_direction: direction }) => `Scrolled ${direction ?? "down"}.`,
  wait: ({ duration }) => `Waited ${duration ?? 1}s.`,
};

function toText(input: Input, own: ActionDone | undefined): string | undefined {
  return CLICKS[input.action]?.told ?? TOLD[input.action]?.(input, own);
}

function toImage({ format, bytes }: EncodedPicture): object {
  return { type: "image", source: { type: "base64", media_type: `image/${format}`, data: bytes.toString("base64") } };
}
