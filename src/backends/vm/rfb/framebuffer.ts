import type { Rectangle } from "./client-messages.ts";

/** The mouse pointer as the display draws it. */
export interface Cursor {
  readonly width: number;
  readonly height: number;
  /** The pixel that points, from the picture's top left. */
  readonly hotspot: { readonly x: number; readonly y: number };
  /** Red, green, blue and opacity, a byte each. */
  readonly pixels: Buffer;
}

export const BYTES_PER_PIXEL = 4;

/** A copy of the screen that is moved in step with it. */
export class Framebuffer {
  #width: number;
  #height: number;
  #pixels: Buffer;
  cursor: Cursor | undefined;

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
    this.#pixels = Buffer.alloc(width * height * BYTES_PER_PIXEL);
  }

  get width(): number {
    return this.#width;
  }

  get height(): number {
    return this.#height;
  }

  /** Red, green, blue and a byte that means nothing; changes with the screen. */
  get pixels(): Buffer {
    return this.#pixels;
  }

  holds({ x, y, width, height }: Rectangle): boolean {
    return x + width <= this.#width && y + height <= this.#height;
  }

  resize(width: number, height: number): void {
    if (width === this.#width && height === this.#height) return;
    this.#width = width;
    this.#height = height;
    this.#pixels = Buffer.alloc(width * height * BYTES_PER_PIXEL);
  }

  /** Puts rows of pixels at a place; the rectangle must lie inside. */
  put({ x, y, width, height }: Rectangle, pixels: Buffer): void {
    const rowBytes = width * BYTES_PER_PIXEL;
    if (width === this.#width) {
      pixels.copy(this.#pixels, y * rowBytes, 0, height * rowBytes);
      return;
    }
    for (let row = 0; row < height; row += 1) {
      pixels.copy(this.#pixels, this.#offset(x, y + row), row * rowBytes, (row + 1) * rowBytes);
    }
  }

  /** Moves a part of the screen, which may overlap its new place. */
  copy(from: Pick<Rectangle, "x" | "y">, to: Rectangle): void {
    this.put(to, this.crop({ ...to, ...from }));
  }

  /** A copy of a part. */
  crop({ x, y, width, height }: Rectangle): Buffer {
    const rowBytes = width * BYTES_PER_PIXEL;
    const pixels = Buffer.allocUnsafe(rowBytes * height);
    if (width === this.#width) {
      this.#pixels.copy(pixels, 0, y * rowBytes, (y + height) * rowBytes);
      return pixels;
    }
    for (let row = 0; row < height; row += 1) {
      const start = this.#offset(x, y + row);
      this.#pixels.copy(pixels, row * rowBytes, start, start + rowBytes);
    }
    return pixels;
  }

  #offset(x: number, y: number): number {
    return (y * this.#width + x) * BYTES_PER_PIXEL;
  }
}
