import {
  charsetOfMark,
  charsetOfMarkup,
  charsetOfType,
  FALLBACK_CHARSET,
  openDecoder,
} from "../../../documents/charset.ts";

/** Decodes text of the web as a browser would: by its mark, its header, its own word, else as UTF-8 or Windows-1252. */
export function decodeText(bytes: Buffer, contentType: string | undefined): string {
  for (const label of [charsetOfMark(bytes), charsetOfType(contentType), charsetOfMarkup(bytes)]) {
    const decoder = label === undefined ? undefined : openDecoder(label);
    if (decoder !== undefined) return decoder.decode(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder(FALLBACK_CHARSET).decode(bytes);
  }
}
