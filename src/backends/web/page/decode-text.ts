const BOMS: readonly (readonly [encoding: string, bytes: readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];
/** How far into a page its own word on its encoding is looked for, as browsers do. */
const PRESCAN = 1_024;
const META = /<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:-]{1,40})/i;

/** Decodes text of the web as a browser would: by its mark, its header, its own word, else as UTF-8 or Windows-1252. */
export function decodeText(bytes: Buffer, contentType: string | undefined): string {
  const byMark = BOMS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0];
  const byHeader = /;\s*charset\s*=\s*"?\s*([a-z0-9_:-]{1,40})/i.exec(contentType ?? "")?.[1];
  const byMeta = META.exec(bytes.subarray(0, PRESCAN).toString("latin1"))?.[1];
  for (const label of [byMark, byHeader, byMeta]) {
    const decoder = label === undefined ? undefined : openDecoder(label);
    if (decoder !== undefined) return decoder.decode(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

function openDecoder(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
