import type { Rectangle } from "../rfb/client-messages.ts";
import { drawCursor, type EncodedPicture, encodePicture } from "../screen/picture.ts";
import { type Showing, toShownSize, type View } from "../screen/view.ts";
import type { ActionOf } from "./action.ts";
import type { Operator } from "./operator.ts";
import { windowPart } from "./window-rows.ts";

type Params = Omit<ActionOf<"screenshot">, "action"> | Omit<ActionOf<"zoom">, "action">;

/** Shows the whole screen, whose pixels later points are counted in, or a part of it, which changes nothing. */
export async function takeScreenshot(
  operator: Operator,
  { region, ...params }: Params & { action?: string },
  signal: AbortSignal,
): Promise<EncodedPicture> {
  const { driver } = operator;
  const own = toShowing(params);
  const id = "window_id" in params ? params.window_id : undefined;
  const part = id === undefined ? region && toPart(operator.view, region) : await windowPart(id, operator, signal);
  const picture = await driver.capture(signal, part);
  if ((params.show_cursor ?? operator.options.showCursor) && driver.cursor !== undefined) {
    const { x, y } = driver.position;
    drawCursor(picture, driver.cursor, { x: x - (part?.x ?? 0), y: y - (part?.y ?? 0) });
  }
  if (part === undefined && own !== undefined) operator.show(own);
  // A part is shown in full resolution unless the action itself says how.
  const size = part === undefined ? operator.view.image : toShownSize(picture, own ?? {});
  return encodePicture(picture, {
    format: params.format ?? operator.options.format ?? "png",
    quality: params.quality ?? operator.options.quality,
    size,
  });
}

function toShowing({
  scale,
  max_long_edge: maxLongEdge,
}: Pick<Params, "scale" | "max_long_edge">): Showing | undefined {
  return scale === undefined && maxLongEdge === undefined ? undefined : { scale, maxLongEdge };
}

/** From the first to the last pixel that the region shows. */
function toPart(view: View, [left, top, right, bottom]: readonly [number, number, number, number]): Rectangle {
  const { screen, image } = view;
  const x = Math.min(screen.width - 1, Math.floor((left * screen.width) / image.width));
  const y = Math.min(screen.height - 1, Math.floor((top * screen.height) / image.height));
  const endX = Math.min(screen.width, Math.ceil((right * screen.width) / image.width));
  const endY = Math.min(screen.height, Math.ceil((bottom * screen.height) / image.height));
  return { x, y, width: Math.max(1, endX - x), height: Math.max(1, endY - y) };
}
