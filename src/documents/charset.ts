/** Marks at the beginning of a text that say how it is encoded. */
const MARKS: readonly (readonly [label: string, bytes: readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16le", [0xff, 0xfe]],
  ["utf-16be", [0xfe, 0xff]],
];
/** How far into a document its own word on its encoding is looked for, as browsers do. */
const PRESCAN = 1_024;
const META = /<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:-]{1,40})/i;
const XML = /^\s*<\?xml[^>]{1,200}encoding\s*=\s*["']\s*([a-z0-9_:-]{1,40})/i;

/** What a text is taken for that says nothing and is no UTF-8: every byte has a meaning in it. */
export const FALLBACK_CHARSET = "windows-1252";

/** The label that a byte order mark stands for. */
export function charsetOfMark(bytes: Uint8Array): string | undefined {
  return MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0];
}

/** The label that a media type names: `text/html; charset=latin1`. */
export function charsetOfType(mediaType: string | undefined): string | undefined {
  return /;\s*charset\s*=\s*"?\s*([a-z0-9_:-]{1,40})/i.exec(mediaType ?? "")?.[1];
}

/** The label that HTML or XML says of itself near its beginning. */
export function charsetOfMarkup(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, PRESCAN)).toString("latin1");
  const label = (XML.exec(head) ?? META.exec(head))?.[1];
  // That it could be read as it was shows that this is not so; browsers take it for UTF-8, too.
  return label !== undefined && /^(?:utf-?16|ucs-?2|unicode$|iso-10646-ucs-2)/i.test(label) ? "utf-8" : label;
}

/** What decodes a label; `undefined` for a label that nobody knows. */
export function openDecoder(
  label: string,
  { fatal = false }: { readonly fatal?: boolean } = {},
): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label, { fatal });
  } catch {
    return undefined;
  }
}
