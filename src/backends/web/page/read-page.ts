import { ToolyardError } from "../../../core/errors.ts";
import { mediaTypeOf, sniffMediaType } from "../../../documents/media-type.ts";
import { readDocument } from "../../../documents/read-document.ts";
import type { FetchedPage } from "../http/fetch-page.ts";
import { decodeText } from "./decode-text.ts";
import { readArticleApart } from "./article-pool.ts";
import type { Article } from "./read-article.ts";

/** A page as text, however it came. */
export interface PageText extends Article {
  readonly url: string;
  readonly status: number;
  readonly content_type: string | null;
}

const MIB = 1024 * 1024;
/** HTML is parsed into many times its size. */
const MAX_HTML = 8 * MIB;
/** Headers that say nothing: what the content is is for its name and its first bytes to tell. */
const VAGUE = /^(?:application\/octet-stream|binary\/octet-stream|application\/x-download|text\/plain)?$/;

/** For whom a page is read. */
interface ReadPageFor {
  readonly signal: AbortSignal;
  /** Who waits for it; readers are shared fairly among them. */
  readonly owner: string;
}

/**
 * Reads what was fetched: HTML as Markdown, PDF, DOCX and XLSX by their own readers, text as it is.
 *
 * @throws ToolyardError `business_failure` for what cannot be read, `limit_exceeded` for a file that did not come whole;
 *   `timeout` and `limit_exceeded` for what takes too much to be read.
 */
export async function readPage(
  fetched: FetchedPage,
  { whole, signal, owner }: ReadPageFor & { readonly whole: boolean },
): Promise<PageText> {
  const header = fetched.headers["content-type"];
  const type = typeOf(fetched);
  const facts = { url: fetched.url.href, status: fetched.status, content_type: type ?? null };
  if (type === "text/html") {
    const html = decodeText(fetched.body.subarray(0, MAX_HTML), header);
    return { ...facts, ...(await readArticleApart(html, fetched.url, { whole, signal, owner })) };
  }
  const document = await readOther(fetched, { type: type ?? "text/plain", header, signal, owner });
  return {
    ...facts,
    title: document.title,
    byline: null,
    site: null,
    published: null,
    language: null,
    excerpt: null,
    links: [],
    text: document.text.trim(),
  };
}

async function readOther(fetched: FetchedPage, how: { type: string; header: string | undefined } & ReadPageFor) {
  const { type, header, signal, owner } = how;
  const { body, truncated, url } = fetched;
  const isText = /^text\/|^application\/(?:json|jsonl|xml|x-ndjson|yaml|toml|javascript|typescript)$/.test(type);
  if (!isText && truncated) {
    throw new ToolyardError("limit_exceeded", `${url.href} is larger than ${body.length} bytes`, {
      details: { limit: "max_mib", max: body.length / MIB },
    });
  }
  try {
    const content = isText ? decodeText(body, header) : body;
    if (typeof content === "string" && content.includes("\0"))
      throw new ToolyardError("invalid_input", "it is not text");
    return await readDocument({ content, name: undefined, mediaType: type }, { signal, owner });
  } catch (error) {
    if (!ToolyardError.is(error) || error.error !== "invalid_input") throw error;
    // The caller's params were right: the page is what it is.
    throw new ToolyardError("business_failure", `${url.href} cannot be read as ${type}: ${error.message}`, {
      details: { content_type: type },
      suggestion: "web:fetch gives its bytes.",
      cause: error,
    });
  }
}

function typeOf({ headers, body, url }: FetchedPage): string | undefined {
  const written = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const known = written.replace(/^application\/xhtml\+xml$/, "text/html");
  if (!VAGUE.test(known)) return known.replace(/^.*\+json$/, "application/json").replace(/^.*\+xml$/, "text/xml");
  const byName = mediaTypeOf(url.pathname);
  // A `.html` that is sent as plain text is meant to be seen as such.
  if (known === "text/plain") return sniffMediaType(body) === "application/pdf" ? "application/pdf" : "text/plain";
  return sniffMediaType(body) ?? byName ?? (known === "" ? undefined : known);
}
