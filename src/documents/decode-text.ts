import { ToolyardError } from "../core/errors.ts";
import { charsetOfMark, charsetOfMarkup, charsetOfType, FALLBACK_CHARSET, openDecoder } from "./charset.ts";

/** Text, and the name of the encoding that it was read by, as the Encoding Standard writes it. */
export interface DecodedText {
  readonly text: string;
  /** `null` for what was sent as text. */
  readonly charset: string | null;
}

/** What is known of the bytes of a text. */
export interface TextFacts {
  /** As it was sent; its `charset` is taken at its word. */
  readonly mediaType?: string | undefined;
  /** Whether the text may name its encoding in itself, as HTML and XML do. */
  readonly markup?: boolean;
}

/** Control characters that no text has but where it is damaged, or ends as DOS ended it; bytes that Windows-1252 leaves free are read as such, too. */
// oxlint-disable-next-line no-control-regex
const ODD = /[\x00-\x06\x0e-\x19\x1c-\x1f\x7f\x81\x8d\x8f\x90\x9d]|\x1a(?!$)/g;
/** Of so many characters one may be odd. */
const CHARACTERS_PER_ODD = 1_000;

/**
 * Decodes a document's text: by its byte order mark, by the charset of its media type, by its own word, else as UTF-8, and what
 * is none as Windows-1252, unless it looks like no text.
 *
 * @throws ToolyardError `invalid_input` for what is no text, or not of the charset that its mark or its media type names
 */
export function decodeText(content: string | Uint8Array, { mediaType, markup = false }: TextFacts = {}): DecodedText {
  if (typeof content === "string") return { text: content.toWellFormed(), charset: null };
  const [mark, named] = [charsetOfMark(content), charsetOfType(mediaType)];
  if (mark === undefined && named !== undefined && openDecoder(named) === undefined) {
    throw new ToolyardError("invalid_input", `the media_type names a charset that is not known: ${named}`, {
      suggestion: "Send a label of the Encoding Standard, such as utf-8, windows-1252 or shift_jis.",
    });
  }
  const told = mark ?? named;
  if (told !== undefined) return tryDecode(content, told) ?? refuse(`it is not in ${told}, which it is said to be in`);
  const own = markup ? charsetOfMarkup(content) : undefined;
  const decoded = (own === undefined ? undefined : tryDecode(content, own)) ?? tryDecode(content, "utf-8");
  if (decoded !== undefined) return decoded;
  const guessed = tryDecode(content, FALLBACK_CHARSET);
  const odd = guessed?.text.match(ODD)?.length ?? 0;
  if (guessed === undefined || odd > content.length / CHARACTERS_PER_ODD) return refuse("it is binary");
  return guessed;
}

/** `undefined` for bytes that mean nothing in it, or a label that nobody knows. @throws ToolyardError for text with NUL in it */
function tryDecode(content: Uint8Array, label: string): DecodedText | undefined {
  const decoder = openDecoder(label, { fatal: true });
  let text: string | undefined;
  try {
    text = decoder?.decode(content);
  } catch {
    return undefined;
  }
  if (decoder === undefined || text === undefined) return undefined;
  if (text.includes("\0")) return refuse("it has NUL characters, as binary files have and UTF-16 without its mark");
  return { text: text.toWellFormed(), charset: decoder.encoding };
}

function refuse(why: string): never {
  throw new ToolyardError("invalid_input", `the document is not text: ${why}`, {
    suggestion:
      "Say its media_type, if it is of a type that can be read, with its charset: text/plain; charset=utf-16le.",
  });
}
