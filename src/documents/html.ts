import { loadLibrary, readWith } from "./load-library.ts";
import type { FormatReader } from "./read-document.ts";
import { decodeText } from "./decode-text.ts";

const TITLE = /<title[^>]*>([^<]{1,1000})<\/title>/i;

/** Reads HTML as Markdown, whose headings and tables chunks are cut along. */
export const readHtml: FormatReader = async (content) => {
  const { text: html } = decodeText(content, { markup: true });
  const { default: Turndown } = await loadLibrary("turndown", () => import("turndown"));
  const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-" });
  // What is searched for is words, not Markdown that renders alike.
  turndown.escape = (text) => text;
  turndown.remove(["title", "script", "style", "noscript", "template", "iframe"]);
  // Where links and images lead says nothing of the page's subject.
  turndown.addRule("link", { filter: "a", replacement: (text) => text });
  turndown.addRule("image", { filter: "img", replacement: (_text, node) => altOf(node) });
  const text = await readWith("HTML page", () => turndown.turndown(html));
  const title = turndown.turndown(`<p>${TITLE.exec(html)?.[1] ?? ""}</p>`);
  return { text, title: title === "" ? null : title, shape: "markdown", marks: [] };
};

function altOf(node: unknown): string {
  const get: unknown = typeof node === "object" && node !== null ? Reflect.get(node, "getAttribute") : undefined;
  return typeof get === "function" ? String(Reflect.apply(get, node, ["alt"]) ?? "") : "";
}
