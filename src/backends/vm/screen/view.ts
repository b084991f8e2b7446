import { ToolyardError } from "../../../core/errors.ts";

/** A width and a height in pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A pixel, from the top left. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** How a screen is shown to a model: as itself, with its long edge capped, scaled by a factor, or at exactly a size. */
export interface Showing {
  readonly maxLongEdge?: number | undefined;
  readonly scale?: number | undefined;
  readonly size?: Size | undefined;
}

/** The picture's size for a screen that is shown so; nothing is enlarged by a cap. */
export function toShownSize(screen: Size, { maxLongEdge, scale, size }: Showing): Size {
  if (size !== undefined) return size;
  const longEdge = Math.max(screen.width, screen.height);
  const factor = Math.min(scale ?? 1, maxLongEdge === undefined ? Infinity : maxLongEdge / longEdge);
  const scaled = (side: number) => Math.max(1, Math.round(side * factor));
  return { width: scaled(screen.width), height: scaled(screen.height) };
}

/**
 * The screen as a model sees it: pixels of a picture that may be smaller or larger than the screen.
 *
 * A pixel of the picture stands for the stretch of the screen that it covers, and means the middle of it; so each is mapped back
 * exactly onto what is seen in it, also when width and height are scaled differently.
 */
export class View {
  readonly screen: Size;
  readonly image: Size;

  constructor(screen: Size, showing: Showing = {}) {
    this.screen = screen;
    this.image = toShownSize(screen, showing);
  }

  /**
   * The pixel of the screen that is meant by a pixel of the picture.
   *
   * @throws ToolyardError `invalid_input` when it lies outside the picture.
   */
  toScreen({ x, y }: Point): Point {
    const { image, screen } = this;
    if (x < 0 || y < 0 || x >= image.width || y >= image.height) {
      throw new ToolyardError(
        "invalid_input",
        `(${x}, ${y}) is outside the screenshot of ${image.width}x${image.height}`,
        {
          details: { coordinate: [x, y], width: image.width, height: image.height },
          suggestion: "Give a point inside it, counted from 0 at the top left.",
        },
      );
    }
    return { x: toMiddle(x, image.width, screen.width), y: toMiddle(y, image.height, screen.height) };
  }

  /** The pixel of the picture that shows a pixel of the screen. */
  toImage({ x, y }: Point): Point {
    const { image, screen } = this;
    return { x: toMiddle(x, screen.width, image.width), y: toMiddle(y, screen.height, image.height) };
  }

  /** A distance in the picture, in pixels of the screen. */
  toScreenDistance({ x, y }: Point): Point {
    const { image, screen } = this;
    return { x: Math.round((x * screen.width) / image.width), y: Math.round((y * screen.height) / image.height) };
  }
}

function toMiddle(pixel: number, from: number, to: number): number {
  return Math.min(to - 1, Math.floor(((Math.floor(pixel) + 0.5) * to) / from));
}
