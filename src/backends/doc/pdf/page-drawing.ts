import type { getDocumentProxy, getResolvedPDFJS } from "unpdf";
import { type Matrix, multiply, UNIT } from "./matrix.ts";
import { linesOf, type Ruling } from "./path-lines.ts";

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof getDocumentProxy>>["getPage"]>>;
type Operators = Awaited<ReturnType<typeof getResolvedPDFJS>>["OPS"];

/** The pixels of a picture. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3 | 4;
}

/** A picture where a page shows it. */
export interface PagePicture {
  /** `null` for what the library cannot decode. */
  readonly pixels: Pixels | null;
  /** The height of its upper edge. */
  readonly top: number;
}

/** As pdf.js numbers the ways in which pixels are packed. */
const KINDS: Readonly<Record<number, Pixels["channels"]>> = { 1: 1, 2: 3, 3: 4 };
const BITS = 1;
/** What the library failed on may never come. */
const WAIT_MS = 5_000;

/** What a page shows beside text. */
export interface PageDrawing {
  /** In the order in which it shows them. */
  readonly pictures: readonly PagePicture[];
  readonly rulings: readonly Ruling[];
}

/** Finds the pictures and the lines of a page. */
export async function readDrawing(page: Page, operators: Operators): Promise<PageDrawing> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const pictures: PagePicture[] = [];
  const rulings: Ruling[] = [];
  const kept: Matrix[] = [];
  let matrix: Matrix = UNIT;
  for (const [index, operator] of fnArray.entries()) {
    const args: unknown = argsArray[index];
    const [first, second]: unknown[] = Array.isArray(args) ? args : [];
    switch (operator) {
      case operators.save:
        kept.push(matrix);
        break;
      case operators.paintFormXObjectBegin:
        kept.push(matrix);
        matrix = multiply(matrix, first);
        break;
      case operators.restore:
      case operators.paintFormXObjectEnd:
        matrix = kept.pop() ?? UNIT;
        break;
      case operators.transform:
        matrix = multiply(matrix, args);
        break;
      case operators.constructPath:
        // A path that only bounds what follows is not seen.
        if (first === operators.endPath || !Array.isArray(second)) break;
        for (const path of second) if (path instanceof Float32Array) rulings.push(...linesOf(path, matrix));
        break;
      case operators.paintImageXObject:
      case operators.paintInlineImageXObject: {
        // One after another, so that only one of them is unpacked for us at a time.
        // oxlint-disable-next-line no-await-in-loop
        const pixels = toPixels(typeof first === "string" ? await resolve(page, first) : first);
        const [, b, , d, , f] = matrix;
        pictures.push({ pixels, top: f + Math.max(0, b) + Math.max(0, d) });
        break;
      }
    }
  }
  return { pictures, rulings };
}

async function resolve(page: Page, name: string): Promise<unknown> {
  const objects = name.startsWith("g_") ? page.commonObjs : page.objs;
  const { promise: late, resolve: giveUp } = Promise.withResolvers<null>();
  const timer = setTimeout(giveUp, WAIT_MS, null);
  try {
    return await Promise.race([new Promise((found) => void objects.get(name, found)), late]);
  } finally {
    clearTimeout(timer);
  }
}

function toPixels(image: unknown): Pixels | null {
  if (typeof image !== "object" || image === null || !("data" in image)) return null;
  const { data, width, height, kind } = image as Record<string, unknown>; // checked here
  if (!(data instanceof Uint8Array || data instanceof Uint8ClampedArray)) return null;
  if (typeof width !== "number" || typeof height !== "number" || typeof kind !== "number") return null;
  const channels = KINDS[kind];
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (kind === BITS) return { data: unpackBits(bytes, width, height), width, height, channels: 1 };
  if (channels === undefined || bytes.length !== width * height * channels) return null;
  return { data: bytes, width, height, channels };
}

/** A picture of black and white has eight of its pixels in a byte, and its lines begin with one. */
function unpackBits(packed: Uint8Array, width: number, height: number): Uint8Array {
  const pixels = new Uint8Array(width * height);
  const bytesPerLine = Math.ceil(width / 8);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const byte = packed[y * bytesPerLine + (x >> 3)] ?? 0;
      pixels[y * width + x] = (byte >> (7 - (x & 7))) & 1 ? 255 : 0;
    }
  }
  return pixels;
}
