import { z } from "zod";
import { ImagePoint, isOnePart, MouseButton, ONE_PART, ScreenshotFields, TypeMethod } from "./actions/action.ts";
import { Ref } from "./actions/names.ts";

// The tools of the known implementation under its params, with more params of ours that are all optional.
const X = z.number().min(0).max(65_535);
const Modifiers = z.array(z.string().min(1).max(100)).max(8).optional();
const Key = z.string().min(1).max(100);

export const ScreenshotParams = z.strictObject(ScreenshotFields).refine(isOnePart, ONE_PART);
const PLACE = {
  x: X.optional(),
  y: X.optional(),
  coordinate: ImagePoint.optional().describe("[x, y], instead of x and y."),
};
export interface Place {
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly coordinate?: ImagePoint | undefined;
}
const isOnePlace = ({ x, y, coordinate }: Place) =>
  (x === undefined) === (y === undefined) && (x === undefined || coordinate === undefined);
const ONE_PLACE = { error: "give x and y together, or a coordinate" };
export const ClickParams = z
  .strictObject({
    ...PLACE,
    ref: Ref.optional().describe("The middle of this element, instead of x and y."),
    button: MouseButton.default("left"),
    count: z.int().min(1).max(3).default(1),
    modifiers: Modifiers,
  })
  .refine(
    (given) =>
      isOnePlace(given) && (given.ref === undefined) === (given.x !== undefined || given.coordinate !== undefined),
    { error: "give x and y, or a coordinate, or a ref" },
  );
export const PointParams = z.strictObject({ ...PLACE, modifiers: Modifiers }).refine(isOnePlace, ONE_PLACE);
export const MoveParams = z.strictObject({ x: X, y: X, duration: z.number().min(0).max(300).optional() });
export const TypeParams = z.strictObject({
  text: z.string().max(100_000),
  interval: z.number().min(0).max(1).optional().describe("Seconds between characters."),
  delay_ms: z.int().min(0).max(1_000).optional().describe("The same in milliseconds."),
  method: TypeMethod.optional(),
});
export const KeyParams = z.strictObject({ key: Key, repeat: z.int().min(1).max(100).default(1) });
export const HotkeyParams = z.strictObject({ keys: z.array(Key).min(1).max(8) });
export const OneKeyParams = z.strictObject({ key: Key });
export const ButtonParams = z
  .strictObject({ button: MouseButton.default("left"), ...PLACE })
  .refine(isOnePlace, ONE_PLACE);
export const ScrollParams = z
  .strictObject({
    ...PLACE,
    clicks: z.int().min(-1_000).max(1_000).default(0).describe("Of the wheel; up is positive, as pyautogui has it."),
    direction: z.enum(["up", "down", "left", "right"]).optional().describe("Then clicks is how many."),
    scroll_x: z.number().optional().describe("Pixels to the right, instead of clicks."),
    scroll_y: z.number().optional().describe("Pixels down, instead of clicks."),
    dx: z.number().optional().describe("Clicks of the wheel to the right, instead of clicks."),
    dy: z.number().optional().describe("Clicks of the wheel down, instead of clicks."),
    modifiers: Modifiers,
  })
  .refine(isOnePlace, ONE_PLACE);
export const DragParams = z.strictObject({
  start_x: X,
  start_y: X,
  end_x: X,
  end_y: X,
  button: MouseButton.default("left"),
  duration: z.number().min(0).max(300).optional(),
  modifiers: Modifiers,
});
export const WaitParams = z.strictObject({ seconds: z.number().min(0).max(300).default(1) });
export const FailParams = z.strictObject({ reason: z.string().max(10_000).default("") });

const Pair = z.tuple([z.number(), z.number()]);
const Tree = {
  accessibility_tree: z
    .string()
    .nullable()
    .describe("As XML, where the call or the session config asks for it with accessibility_tree."),
};
export const ScreenshotResult = z.object({
  image: z.string().describe("Base64; empty where a link was asked for."),
  link: z
    .string()
    .optional()
    .describe("A path of this server to GET the picture from, while it is one of the latest 16."),
  format: z.enum(["png", "jpeg", "webp"]),
  size: Pair.describe("Width and height."),
  session: z.string(),
  ...Tree,
});
export type ScreenshotResult = z.infer<typeof ScreenshotResult>;
export const ClickResult = z.object({ clicked: Pair, button: MouseButton, ...Tree });
export const TypeResult = z.object({ typed: z.string(), length: z.int(), ...Tree });
export const KeyResult = z.object({ key: z.string(), ...Tree });
export const HotkeyResult = z.object({ keys: z.array(z.string()), ...Tree });
export const ScrollResult = z.object({ position: Pair, clicks: z.int(), ...Tree });
export const DragResult = z.object({ from: Pair, to: Pair, ...Tree });
export const PositionResult = z.object({ position: Pair, ...Tree });
export const ButtonResult = z.object({ button: MouseButton, ...Tree });
export const WaitResult = z.object({ waited: z.number(), ...Tree });
export const DoneResult = z.object({ done: z.literal(true) });
export const FailResult = z.object({ fail: z.literal(true), reason: z.string() });
export type Point = ImagePoint;
