import type { ByteReader } from "./byte-reader.ts";
import { ENCODINGS, type Rectangle } from "./client-messages.ts";
import { BYTES_PER_PIXEL, type Cursor, type Framebuffer } from "./framebuffer.ts";
import { assertScreenSize } from "./handshake.ts";
import { RfbViolation } from "./rfb-violation.ts";

const MAX_CLIPBOARD_BYTES = 1024 * 1024;
const MAX_CURSOR_SIDE = 512;
/** Read at once of a picture, so that its bytes are copied once and never all held twice. */
const BAND_BYTES = 128 * 1024;

/** What a message of the display came to, after the copy of the screen has followed it. */
export interface ScreenNews {
  /** Whose pixels were sent. */
  readonly parts: readonly Rectangle[];
  readonly resized: boolean;
  /** Where something in the display has put the pointer. */
  readonly pointer: { readonly x: number; readonly y: number } | undefined;
}

const NO_NEWS: ScreenNews = { parts: [], resized: false, pointer: undefined };

/**
 * Reads one message and does to the copy of the screen what it says.
 *
 * @throws RfbViolation when it breaks the protocol; Error when the stream ends in it.
 */
export async function readServerMessage(reader: ByteReader, screen: Framebuffer): Promise<ScreenNews> {
  const type = await reader.u8();
  switch (type) {
    case 0:
      return readUpdate(reader, screen);
    case 1:
      // Colours of a palette, which our pixel format has no use for.
      await reader.bytes(3);
      await reader.bytes((await reader.u16()) * 6);
      return NO_NEWS;
    case 2:
      // A bell.
      return NO_NEWS;
    case 3: {
      await reader.bytes(3);
      const length = await reader.u32();
      if (length > MAX_CLIPBOARD_BYTES) throw new RfbViolation("a clipboard text is over the cap");
      await reader.bytes(length);
      return NO_NEWS;
    }
    default:
      throw new RfbViolation(`a message of the unknown type ${type}`);
  }
}

async function readUpdate(reader: ByteReader, screen: Framebuffer): Promise<ScreenNews> {
  await reader.bytes(1);
  const count = await reader.u16();
  const { width, height } = screen;
  const parts: Rectangle[] = [];
  let pointer: ScreenNews["pointer"];
  for (let index = 0; index < count; index += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one rectangle after another
    const { part, encoding } = await readHeader(reader);
    if (encoding === ENCODINGS.cursorPosition) {
      pointer = { x: part.x, y: part.y };
      continue;
    }
    // oxlint-disable-next-line no-await-in-loop -- one rectangle after another
    if (await readRectangle(reader, screen, part, encoding)) parts.push(part);
  }
  return { parts, resized: width !== screen.width || height !== screen.height, pointer };
}

async function readHeader(reader: ByteReader): Promise<{ part: Rectangle; encoding: number }> {
  const header = await reader.bytes(12);
  const [x, y, width, height] = [0, 2, 4, 6].map((offset) => header.readUInt16BE(offset));
  const part = { x: x ?? 0, y: y ?? 0, width: width ?? 0, height: height ?? 0 };
  return { part, encoding: header.readInt32BE(8) };
}

/** Answers whether it brought pixels. */
async function readRectangle(
  reader: ByteReader,
  screen: Framebuffer,
  part: Rectangle,
  encoding: number,
): Promise<boolean> {
  switch (encoding) {
    case ENCODINGS.raw:
      assertInside(screen, part);
      await readPixels(reader, screen, part);
      return true;
    case ENCODINGS.copyRect: {
      const from = { x: await reader.u16(), y: await reader.u16() };
      assertInside(screen, part);
      assertInside(screen, { ...part, ...from });
      screen.copy(from, part);
      return true;
    }
    case ENCODINGS.cursor:
      screen.cursor = await readCursor(reader, part);
      return false;
    case ENCODINGS.desktopSize:
      resize(screen, part);
      return false;
    default:
      throw new RfbViolation(`the encoding ${encoding}, which was not asked for`);
  }
}

async function readPixels(reader: ByteReader, screen: Framebuffer, part: Rectangle): Promise<void> {
  const rowBytes = part.width * BYTES_PER_PIXEL;
  const bandRows = Math.max(1, Math.floor(BAND_BYTES / Math.max(1, rowBytes)));
  for (let row = 0; row < part.height; row += bandRows) {
    const height = Math.min(bandRows, part.height - row);
    // oxlint-disable-next-line no-await-in-loop -- the stream has them one after another
    screen.put({ x: part.x, y: part.y + row, width: part.width, height }, await reader.bytes(rowBytes * height));
  }
}

async function readCursor(reader: ByteReader, { x, y, width, height }: Rectangle): Promise<Cursor | undefined> {
  if (width > MAX_CURSOR_SIDE || height > MAX_CURSOR_SIDE) throw new RfbViolation("a pointer is over the cap");
  const pixels = Buffer.from(await reader.bytes(width * height * BYTES_PER_PIXEL));
  const rowBytes = Math.ceil(width / 8);
  const mask = await reader.bytes(rowBytes * height);
  if (width === 0 || height === 0) return undefined;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const bit = (mask[row * rowBytes + (column >> 3)] ?? 0) & (0x80 >> (column & 7));
      pixels[(row * width + column) * BYTES_PER_PIXEL + 3] = bit === 0 ? 0 : 255;
    }
  }
  return { width, height, hotspot: { x, y }, pixels };
}

function resize(screen: Framebuffer, { width, height }: Rectangle): void {
  assertScreenSize(width, height);
  screen.resize(width, height);
}

function assertInside(screen: Framebuffer, part: Rectangle): void {
  if (!screen.holds(part)) throw new RfbViolation("a rectangle outside the screen");
}
