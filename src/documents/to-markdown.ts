import type Turndown from "turndown";
import { loadLibrary } from "./load-library.ts";

/** The part of an element that rules look at, whichever library made it. */
interface Element {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly parentNode: Element | null;
  readonly childNodes: ArrayLike<Element>;
  getAttribute(name: string): string | null;
}

const MAX_COLUMNS = 100;

/** Opens what turns HTML into Markdown: links kept, data tables as tables, what is not meant to be read left out. */
export async function openMarkdown(): Promise<(html: string) => string> {
  const { default: Library } = await loadLibrary("turndown", () => import("turndown"));
  const turndown = new Library({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    emDelimiter: "*",
  });
  turndown.remove(["title", "script", "style", "noscript", "template", "iframe", "object", "embed", "canvas"]);
  turndown.remove((node) => /^(?:svg|math)$/i.test(node.nodeName));
  addLinks(turndown);
  addTables(turndown);
  return (html) =>
    turndown
      .turndown(html)
      .replace(/\n{3,}/g, "\n\n")
      .trim();
}

function addLinks(turndown: Turndown): void {
  turndown.addRule("link", {
    filter: "a",
    replacement: (content, node) => {
      const href = toElement(node).getAttribute("href") ?? "";
      const text = content.replace(/\s+/g, " ").trim();
      if (text === "") return "";
      return /^https?:/i.test(href) ? `[${text}](${href.replace(/[()\s]/g, encodeURIComponent)})` : text;
    },
  });
  turndown.addRule("image", {
    filter: "img",
    replacement: (_content, node) => {
      const element = toElement(node);
      const alt = (element.getAttribute("alt") ?? "").replace(/[[\]\s]+/g, " ").trim();
      const source = element.getAttribute("src") ?? "";
      if (alt === "" || !/^(?:https?|figure):/i.test(source)) return alt;
      return `![${alt}](${source.replace(/[()\s]/g, encodeURIComponent)})`;
    },
  });
}

function addTables(turndown: Turndown): void {
  turndown.addRule("cell", {
    filter: ["th", "td"],
    replacement: (content, node) => {
      if (!isData(tableOf(toElement(node)))) return `${content}\n\n`;
      return ` ${content
        .trim()
        .replace(/\s*\n\s*/g, " ")
        .replaceAll("|", "\\|")} |`;
    },
  });
  turndown.addRule("row", {
    filter: "tr",
    replacement: (content, node) => {
      const row = toElement(node);
      const table = tableOf(row);
      if (!isData(table)) return content;
      const columns = Math.min(MAX_COLUMNS, cellsOf(row).length);
      const isFirst = table !== undefined && rowsOf(table)[0] === row;
      return `|${content}\n${isFirst ? `|${" --- |".repeat(columns)}\n` : ""}`;
    },
  });
  turndown.addRule("section", {
    filter: ["thead", "tbody", "tfoot"],
    replacement: (content) => content,
  });
  turndown.addRule("table", {
    filter: "table",
    replacement: (content) => `\n\n${content.trim()}\n\n`,
  });
}

/** Tables of more than one column and row, without another table in them, are data; others only place things. */
function isData(table: Element | undefined): boolean {
  if (table === undefined) return false;
  const known = DATA.get(table);
  if (known !== undefined) return known;
  const rows = rowsOf(table);
  const widest = rows.reduce((most, row) => Math.max(most, cellsOf(row).length), 0);
  const verdict = rows.length > 1 && widest > 1 && !hasTable(table);
  DATA.set(table, verdict);
  return verdict;
}

const DATA = new WeakMap<Element, boolean>();

function tableOf(element: Element): Element | undefined {
  for (let at = element.parentNode; at !== null; at = at.parentNode) if (at.nodeName === "TABLE") return at;
  return undefined;
}

function rowsOf(table: Element): Element[] {
  return Array.from(table.childNodes).flatMap((child) => {
    if (child.nodeName === "TR") return [child];
    return /^T(?:HEAD|BODY|FOOT)$/.test(child.nodeName) ? Array.from(child.childNodes).filter(isRow) : [];
  });
}

function isRow({ nodeName }: Element): boolean {
  return nodeName === "TR";
}

function cellsOf(row: Element): Element[] {
  return Array.from(row.childNodes).filter(({ nodeName }) => nodeName === "TD" || nodeName === "TH");
}

function hasTable(element: Element): boolean {
  const open = Array.from(element.childNodes);
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at.nodeName === "TABLE") return true;
    open.push(...Array.from(at.childNodes));
  }
  return false;
}

/** turndown's own types name the DOM's, which Node has not. */
function toElement(node: unknown): Element {
  return node as Element;
}
