import { createHash } from "node:crypto";
import { loadLibrary } from "../../../documents/load-library.ts";
import type { Figure, FigureLimits } from "../read-parts.ts";
import type { PagePicture, Pixels } from "./page-drawing.ts";
import type { PlacedFigure } from "./page-text.ts";

/** Pixels of a picture that is unpacked at all. */
export const MAX_PIXELS = 32_000_000;
/** Smaller ones are marks and lines. */
const LEAST_PIXELS = 16;
const JPEG_QUALITY = 85;

/** Keeps the pictures of a document as figures, each once, however often it is shown. */
export class FigureShelf {
  readonly figures: Figure[] = [];
  leftOut = 0;
  readonly #limits: FigureLimits;
  readonly #numbers = new Map<string, number>();

  constructor(limits: FigureLimits) {
    this.#limits = limits;
  }

  /** Answers where the picture is to be named; nothing for one that is not kept. */
  async take({ pixels, top }: PagePicture): Promise<PlacedFigure[]> {
    if (pixels !== null && Math.min(pixels.width, pixels.height) < LEAST_PIXELS) return [];
    const digest = pixels === null ? "" : createHash("sha256").update(pixels.data).digest("base64");
    const known = this.#numbers.get(digest);
    if (known !== undefined) return [{ number: known, top }];
    const isFull = this.figures.length >= this.#limits.maxFigures;
    const picture = pixels === null || isFull ? null : await encode(pixels, this.#limits.maxFigureBytes);
    if (picture === null) {
      this.leftOut += 1;
      return [];
    }
    const number = this.figures.length + 1;
    this.figures.push({ number, ...picture });
    this.#numbers.set(digest, number);
    return [{ number, top }];
  }
}

/** Packs a picture as PNG, or as JPEG where that would be too large; `null` where both are. */
async function encode({ data, width, height, channels }: Pixels, maxBytes: number) {
  const { default: sharp } = await loadLibrary("sharp", () => import("sharp"));
  const image = sharp(data, { raw: { width, height, channels }, limitInputPixels: MAX_PIXELS });
  const png = await image.clone().png().toBuffer();
  if (png.length <= maxBytes) return { media_type: "image/png", base64: png.toString("base64") };
  const jpeg = await image.flatten({ background: "white" }).jpeg({ quality: JPEG_QUALITY }).toBuffer();
  return jpeg.length <= maxBytes ? { media_type: "image/jpeg", base64: jpeg.toString("base64") } : null;
}
