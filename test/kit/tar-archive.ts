/** One entry of a tar file, which need not be an honest one. */
export interface TarEntry {
  readonly name: string;
  /** `0` for a file (the default), `1` hard link, `2` symlink, `3` device, `5` folder, `6` pipe. */
  readonly type?: string;
  readonly link?: string;
  readonly mode?: number;
  readonly content?: Buffer;
  /** What the header says; the content's own by default. */
  readonly size?: number;
}

const BLOCK = 512;

/** Packs a tar file by hand, so that tests can make what no tool would. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ content = Buffer.alloc(0), ...entry }) => {
    const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK);
    return [header(entry, entry.size ?? content.length), content, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header({ name, type = "0", link = "", mode = 0o644 }: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(name, 0, 100);
  block.write(`${octal(mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  block.write(size < 8 ** 11 ? `${octal(size, 11)}\0` : "77777777777\0", 124);
  block.write(`${octal(0, 11)}\0        ${type}`, 136);
  block.write(link, 157, 100);
  block.write("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}
