import { z } from "zod";
import { AGENT_ACTION_SCHEMAS } from "./agent-action-schemas.ts";
import { Ref, WindowId } from "./names.ts";

/** What a pixel of a screenshot may count to; no screen is larger. */
const Coordinate = z.number().min(0).max(65_535);
export const ImagePoint = z
  .tuple([Coordinate, Coordinate])
  .describe("[x, y] in pixels of the screenshots as they are shown, from the top left.");
export type ImagePoint = z.infer<typeof ImagePoint>;

export const Region = z
  .tuple([Coordinate, Coordinate, Coordinate, Coordinate])
  .refine(([left, top, right, bottom]) => left < right && top < bottom, "x1 < x2 and y1 < y2 are needed")
  .describe("[x1, y1, x2, y2] in pixels of the screenshots; x2 and y2 lie outside.");

const Offset = z.tuple([z.number().min(-65_535).max(65_535), z.number().min(-65_535).max(65_535)]);
export const MouseButton = z.enum(["left", "right", "middle", "back", "forward"]);
export type MouseButton = z.infer<typeof MouseButton>;

const KeyText = z.string().min(1).max(100);
const Modifiers = z.array(KeyText).max(8).describe('Keys that are held meanwhile: ["ctrl", "shift"].');
const Seconds = z.number().min(0).max(300);
const Point = ImagePoint.optional().describe("Where; the pointer's place by default.");

/** How a screenshot is made. */
export const PictureParams = {
  format: z.enum(["png", "jpeg", "webp"]).optional().describe("The session's by default, png at first."),
  quality: z.int().min(1).max(100).optional().describe("Of jpeg and webp; 80 by default."),
  scale: z.number().min(0.05).max(4).optional(),
  max_long_edge: z
    .int()
    .min(16)
    .max(8_192)
    .optional()
    .describe("Pixels of the longer side; nothing is enlarged to it."),
  show_cursor: z.boolean().optional().describe("Draws the mouse pointer in."),
};

/** How a picture comes to whoever asked for it. */
const As = z
  .enum(["image", "link"])
  .optional()
  .describe("A link is a path of the server that the picture is fetched from; image is empty then.");

export const ZoomFields = { ...PictureParams, as: As, region: Region };

export const ScreenshotFields = {
  ...PictureParams,
  as: As,
  region: Region.optional().describe("Only this part; points of later actions still count on the whole."),
  window_id: WindowId.optional().describe("Only where this window is, with what lies over it."),
  accessibility_tree: z.boolean().optional().describe("Reads the accessibility tree too, as XML."),
};
export const isOnePart = ({ region, window_id: id }: { region?: unknown; window_id?: unknown }) =>
  region === undefined || id === undefined;
export const ONE_PART = { error: "give either region or window_id" };

const MAX_TEXT = 100_000;

export const TypeMethod = z
  .enum(["auto", "keys", "clipboard"])
  .describe(
    "keys; or pasted, after which the clipboard holds what it held; auto pastes what the layout has no keys for.",
  );

export const MoveFields = {
  coordinate: ImagePoint.optional(),
  delta: Offset.optional().describe("[dx, dy] from where the pointer is, instead of a coordinate."),
  duration: Seconds.optional().describe("Seconds; at once by default."),
  modifiers: Modifiers.optional(),
};
export const isOneWay = ({ coordinate, delta }: { coordinate?: unknown; delta?: unknown }) =>
  (coordinate === undefined) !== (delta === undefined);
export const ONE_WAY = { error: "give either coordinate or delta" };

/** Every action by its one name; params are units of the wire: pixels of the screenshot, seconds. */
export const ACTION_SCHEMAS = {
  screenshot: z.strictObject({ action: z.literal("screenshot"), ...ScreenshotFields }).refine(isOnePart, ONE_PART),
  zoom: z.strictObject({ action: z.literal("zoom"), ...ZoomFields }),
  cursor_position: z.strictObject({ action: z.literal("cursor_position") }),
  display_info: z.strictObject({ action: z.literal("display_info") }),
  mouse_move: z.strictObject({ action: z.literal("mouse_move"), ...MoveFields }).refine(isOneWay, ONE_WAY),
  click: z
    .strictObject({
      action: z.literal("click"),
      button: MouseButton.default("left"),
      count: z.int().min(1).max(3).default(1),
      coordinate: Point,
      ref: Ref.optional().describe("The middle of this element, scrolled into view, instead of a coordinate."),
      modifiers: Modifiers.optional(),
    })
    .refine(({ coordinate, ref }) => coordinate === undefined || ref === undefined, {
      error: "give either coordinate or ref",
    }),
  mouse_down: z.strictObject({
    action: z.literal("mouse_down"),
    button: MouseButton.default("left"),
    coordinate: Point,
  }),
  mouse_up: z.strictObject({ action: z.literal("mouse_up"), button: MouseButton.default("left"), coordinate: Point }),
  drag: z
    .strictObject({
      action: z.literal("drag"),
      path: z.array(ImagePoint).min(1).max(1_000).optional().describe("Points to pass, the first one too."),
      delta: Offset.optional().describe("[dx, dy] from where the pointer is, instead of a path."),
      from_pointer: z.boolean().default(false).describe("Begins where the pointer is, before the path's first point."),
      button: MouseButton.default("left"),
      duration: Seconds.optional().describe(
        "Seconds for the whole way; 0.1 by default, since programs want to see it.",
      ),
      modifiers: Modifiers.optional(),
    })
    .refine(({ path, delta }) => (path === undefined) !== (delta === undefined), { error: "give either path or delta" })
    .refine(({ path, from_pointer: from }) => path === undefined || from || path.length > 1, {
      error: "a path needs two points, or from_pointer",
    }),
  scroll: z.strictObject({
    action: z.literal("scroll"),
    coordinate: Point,
    dx: z.number().min(-100_000).max(100_000).default(0).describe("To the right."),
    dy: z.number().min(-100_000).max(100_000).default(0).describe("Down."),
    unit: z
      .enum(["clicks", "pixels"])
      .default("clicks")
      .describe("Clicks of the wheel, or pixels of the screen, 120 of which are one, as in Chromium."),
    modifiers: Modifiers.optional(),
  }),
  type: z.strictObject({
    action: z.literal("type"),
    text: z.string().max(MAX_TEXT),
    delay_ms: z.int().min(0).max(1_000).optional().describe("Milliseconds between characters; 0 by default."),
    method: TypeMethod.optional(),
  }),
  key: z.strictObject({
    action: z.literal("key"),
    keys: z.union([KeyText, z.array(KeyText).min(1).max(8)]).describe('"ctrl+shift+s", or the keys as a list.'),
    repeat: z.int().min(1).max(100).default(1),
  }),
  hold_key: z.strictObject({
    action: z.literal("hold_key"),
    keys: z.union([KeyText, z.array(KeyText).min(1).max(8)]),
    duration: Seconds,
  }),
  key_down: z.strictObject({ action: z.literal("key_down"), key: KeyText }),
  key_up: z.strictObject({ action: z.literal("key_up"), key: KeyText }),
  wait: z.strictObject({ action: z.literal("wait"), duration: Seconds.default(1).describe("Seconds.") }),
  ...AGENT_ACTION_SCHEMAS,
} as const;

export const Action = z.discriminatedUnion("action", [
  ACTION_SCHEMAS.screenshot,
  ACTION_SCHEMAS.zoom,
  ACTION_SCHEMAS.cursor_position,
  ACTION_SCHEMAS.display_info,
  ACTION_SCHEMAS.mouse_move,
  ACTION_SCHEMAS.click,
  ACTION_SCHEMAS.mouse_down,
  ACTION_SCHEMAS.mouse_up,
  ACTION_SCHEMAS.drag,
  ACTION_SCHEMAS.scroll,
  ACTION_SCHEMAS.type,
  ACTION_SCHEMAS.key,
  ACTION_SCHEMAS.hold_key,
  ACTION_SCHEMAS.key_down,
  ACTION_SCHEMAS.key_up,
  ACTION_SCHEMAS.wait,
  ACTION_SCHEMAS.accessibility_tree,
  ACTION_SCHEMAS.find_element,
  ACTION_SCHEMAS.focus_element,
  ACTION_SCHEMAS.invoke_element,
  ACTION_SCHEMAS.set_element_value,
  ACTION_SCHEMAS.terminal_text,
  ACTION_SCHEMAS.clipboard_get,
  ACTION_SCHEMAS.clipboard_set,
  ACTION_SCHEMAS.list_windows,
  ACTION_SCHEMAS.active_window,
  ACTION_SCHEMAS.window_info,
  ACTION_SCHEMAS.activate_window,
  ACTION_SCHEMAS.close_window,
  ACTION_SCHEMAS.minimize_window,
  ACTION_SCHEMAS.maximize_window,
  ACTION_SCHEMAS.set_window_size,
  ACTION_SCHEMAS.set_window_position,
  ACTION_SCHEMAS.launch,
  ACTION_SCHEMAS.open,
  ACTION_SCHEMAS.wait_for,
  ACTION_SCHEMAS.pyautogui,
]);
/** One action as it is done. */
export type Action = z.output<typeof Action>;
/** One action as it may be written, defaults left out. */
export type ActionInput = z.input<typeof Action>;
export type ActionName = Action["action"];
export type ActionOf<N extends ActionName> = Extract<Action, { action: N }>;
