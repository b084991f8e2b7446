import type { Rectangle } from "./client-messages.ts";

/** Beyond it a region of slivers is taken as still wanting all that it began with, which only makes its owner wait. */
const MAX_PIECES = 4_096;

/** The part of a rectangle that is still missing while others come in. */
export class PixelRegion {
  #pieces: Rectangle[];

  constructor(whole: Rectangle) {
    this.#pieces = isEmpty(whole) ? [] : [whole];
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Takes a rectangle away. */
  subtract(part: Rectangle): void {
    const pieces = this.#pieces.flatMap((piece) => without(piece, part));
    if (pieces.length <= MAX_PIECES) this.#pieces = pieces;
  }
}

function without(piece: Rectangle, part: Rectangle): Rectangle[] {
  const left = Math.max(piece.x, part.x);
  const top = Math.max(piece.y, part.y);
  const right = Math.min(piece.x + piece.width, part.x + part.width);
  const bottom = Math.min(piece.y + piece.height, part.y + part.height);
  if (left >= right || top >= bottom) return [piece];
  return [
    { x: piece.x, y: piece.y, width: piece.width, height: top - piece.y },
    { x: piece.x, y: bottom, width: piece.width, height: piece.y + piece.height - bottom },
    { x: piece.x, y: top, width: left - piece.x, height: bottom - top },
    { x: right, y: top, width: piece.x + piece.width - right, height: bottom - top },
  ].filter((rest) => !isEmpty(rest));
}

function isEmpty({ width, height }: Rectangle): boolean {
  return width <= 0 || height <= 0;
}
