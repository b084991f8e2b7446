import type { Cursor } from "../rfb/framebuffer.ts";
import type { Picture } from "../rfb/display-connection.ts";
import { loadSharp } from "./load-sharp.ts";
import type { Point, Size } from "./view.ts";

export type PictureFormat = "png" | "jpeg" | "webp";

/** How a picture is made of pixels. */
export interface PictureOptions {
  readonly format: PictureFormat;
  /** 1 to 100, of JPEG and WebP. */
  readonly quality?: number | undefined;
  /** The pixels' own by default. */
  readonly size?: Size | undefined;
}

/** A picture as its file. */
export interface EncodedPicture extends Size {
  readonly format: PictureFormat;
  readonly bytes: Buffer;
}

/**
 * Makes a file of pixels, scaled to a size.
 *
 * @throws ToolyardError `dependency_failed` when the package `sharp` is not there.
 */
export async function encodePicture(picture: Picture, options: PictureOptions): Promise<EncodedPicture> {
  const load = await loadSharp();
  const { format, quality } = options;
  const { width, height } = options.size ?? picture;
  const isScaled = width !== picture.width || height !== picture.height;
  // The byte that means nothing would be opacity while sharp scales, and 0 of it leaves no colour.
  if (isScaled) for (let offset = 3; offset < picture.pixels.length; offset += 4) picture.pixels[offset] = 255;
  const raw = { width: picture.width, height: picture.height, channels: 4 } as const;
  let image = load(picture.pixels, { raw }).removeAlpha();
  if (isScaled) image = image.resize(width, height, { fit: "fill" });
  switch (format) {
    case "png":
      // Effort goes into time and hardly into size: a screen is mostly flat.
      image = image.png({ compressionLevel: 3, adaptiveFiltering: false });
      break;
    case "jpeg":
      image = image.jpeg({ quality: quality ?? 80 });
      break;
    case "webp":
      image = image.webp({ quality: quality ?? 80, effort: 1 });
      break;
    default:
  }
  return { format, width, height, bytes: await image.toBuffer() };
}

/** Draws the pointer into the pixels, its pointing pixel at a place of them; what falls outside is left out. */
export function drawCursor(picture: Picture, cursor: Cursor, at: Point): void {
  const { width, height, pixels } = picture;
  for (let row = 0; row < cursor.height; row += 1) {
    const y = at.y - cursor.hotspot.y + row;
    for (let column = 0; column < cursor.width; column += 1) {
      const x = at.x - cursor.hotspot.x + column;
      const source = (row * cursor.width + column) * 4;
      if (x < 0 || y < 0 || x >= width || y >= height || cursor.pixels[source + 3] === 0) continue;
      cursor.pixels.copy(pixels, (y * width + x) * 4, source, source + 3);
    }
  }
}

/** Whether it shows anything: one colour all over, black say, is what a display has before anything is drawn. */
export function isBlank({ pixels }: Picture): boolean {
  for (let offset = 4; offset < pixels.length; offset += 4) {
    if (pixels[offset] !== pixels[0] || pixels[offset + 1] !== pixels[1] || pixels[offset + 2] !== pixels[2])
      return false;
  }
  return true;
}
