import { loadLibrary } from "../../../documents/load-library.ts";
import { openMarkdown } from "../../../documents/to-markdown.ts";

/** What a page says of itself, and its text. */
export interface Article {
  readonly title: string | null;
  readonly byline: string | null;
  readonly site: string | null;
  readonly published: string | null;
  readonly language: string | null;
  readonly excerpt: string | null;
  /** Markdown. */
  readonly text: string;
  readonly links: readonly Link[];
}

export interface Link {
  readonly text: string;
  readonly url: string;
}

/** Above so many elements the article is not looked for: the whole page is read. */
const MAX_ELEMENTS = 50_000;
const MAX_LINKS = 500;
const MAX_LINK_TEXT = 200;
/** An article of fewer characters is taken for a mistake when the page has more. */
const MIN_ARTICLE = 200;
/** Deeper than this no page is nested, and libraries that call themselves run out of stack. */
const MAX_DEPTH = 512;

/** The part of linkedom's document that is used; its types name the DOM's, which Node has not. */
interface Page {
  readonly documentElement: PageElement | null;
  readonly body: PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
}
interface PageElement {
  readonly textContent: string | null;
  readonly innerHTML: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  remove(): void;
}

/**
 * Reads a page of HTML: the article in it, or the whole of it. No script of the page ever runs.
 *
 * @throws ToolyardError `dependency_failed` that names the package.
 */
export async function readArticle(html: string, url: URL, whole: boolean): Promise<Article> {
  if (isTooDeep(html)) return { ...NO_ARTICLE, text: strip(html) };
  const { parseHTML } = await loadLibrary("linkedom", () => import("linkedom"));
  const toMarkdown = await openMarkdown();
  const complete = completeHtml(html);
  const open = () => parseHTML(complete).document as unknown as Page; // see Page
  try {
    const page = open();
    makeAbsolute(page, url);
    const links = linksOf(page);
    const body = toMarkdown(bodyOf(page));
    const facts = { ...NO_ARTICLE, title: titleOf(page), language: languageOf(page), links };
    const article = whole ? null : await findArticle(open(), url);
    if (article === null) return { ...facts, text: body };
    const text = toMarkdown(article.content ?? "");
    return {
      title: clean(article.title) ?? facts.title,
      byline: clean(article.byline),
      site: clean(article.siteName),
      published: clean(article.publishedTime),
      language: clean(article.lang) ?? facts.language,
      excerpt: clean(article.excerpt),
      links,
      text: text.length < MIN_ARTICLE && body.length > text.length * 2 ? body : text,
    };
  } catch (error) {
    // Pages that are no HTML at all, or nested past any stack, are read for their words.
    if (error instanceof RangeError || error instanceof TypeError) return { ...NO_ARTICLE, text: strip(html) };
    throw error;
  }
}

const NO_ARTICLE = {
  title: null,
  byline: null,
  site: null,
  published: null,
  language: null,
  excerpt: null,
  links: [],
} as const;

async function findArticle(page: Page, url: URL) {
  const { Readability } = await loadLibrary("@mozilla/readability", () => import("@mozilla/readability"));
  makeAbsolute(page, url);
  try {
    const document = page as unknown as ConstructorParameters<typeof Readability>[0]; // what it was made from
    return new Readability(document, { maxElemsToParse: MAX_ELEMENTS }).parse();
  } catch {
    // It throws at too many elements, and at documents that lack what every document has.
    return null;
  }
}

function makeAbsolute(page: Page, url: URL): void {
  const [base] = page.querySelectorAll("base[href]");
  const written = base?.getAttribute("href") ?? "";
  const from = URL.canParse(written, url.href) ? new URL(written, url) : url;
  for (const [selector, name] of [
    ["a[href]", "href"],
    ["img[src]", "src"],
  ] as const) {
    for (const element of page.querySelectorAll(selector)) {
      const target = element.getAttribute(name) ?? "";
      if (URL.canParse(target, from.href)) element.setAttribute(name, new URL(target, from).href);
    }
  }
}

function linksOf(page: Page): Link[] {
  const links = new Map<string, Link>();
  for (const element of page.querySelectorAll("a[href]")) {
    if (links.size === MAX_LINKS) break;
    const url = element.getAttribute("href") ?? "";
    const text = clean(element.textContent)?.slice(0, MAX_LINK_TEXT) ?? "";
    if (/^https?:/.test(url) && !links.has(url)) links.set(url, { text, url });
  }
  return [...links.values()];
}

function bodyOf(page: Page): string {
  for (const element of page.querySelectorAll("script, style, noscript, template, [hidden], [aria-hidden=true]")) {
    element.remove();
  }
  return (page.body ?? page.documentElement)?.innerHTML ?? "";
}

function titleOf(page: Page): string | null {
  const [title] = page.querySelectorAll("title");
  return clean(title?.textContent);
}

function languageOf(page: Page): string | null {
  return clean(page.documentElement?.getAttribute("lang"));
}

function clean(text: string | null | undefined): string | null {
  const line = (text ?? "").replace(/\s+/g, " ").trim().toWellFormed();
  return line === "" ? null : line.slice(0, 1_024);
}

/** Writes the tags that HTML lets pages leave out, which linkedom does not put in: `<p>Hello` is a whole page. */
function completeHtml(html: string): string {
  if (/<body[\s>]/i.test(html)) return html;
  const root = /<html\b[^<>]*>/i.exec(html)?.[0] ?? "<html>";
  const content = html.replace(/<!doctype[^<>]*>|<\/?html\b[^<>]*>|<head\b[^<>]*>/gi, "");
  const end = /<\/head\s*>/i.exec(content);
  const head = end === null ? "" : content.slice(0, end.index);
  const body = end === null ? content : content.slice(end.index + end[0].length);
  return `<!doctype html>${root}<head>${head}</head><body>${body}</body></html>`;
}

/** Counts tags that open against those that close, roughly: it only has to see what no page is. */
function isTooDeep(html: string): boolean {
  let depth = 0;
  for (const [, slash, name = ""] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)[^<>]{0,2000}>/gi)) {
    if (/^(?:area|base|br|col|hr|img|input|link|meta|source|wbr|li|p|dt|dd|option|tr|td|th|path)$/i.test(name))
      continue;
    depth = Math.max(0, depth + (slash === "/" ? -1 : 1));
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}

function strip(html: string): string {
  return html
    .replace(/<(script|style|noscript|template)\b[^]{0,1000000}?<\/\1\s*>/gi, " ")
    .replace(/<[^<>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .toWellFormed();
}
