import type { Mark, TextShape } from "../../documents/read-document.ts";

/** A part of a document under its own heading; a PDF's are its pages, an XLSX's its sheets. */
export interface Section {
  /** `2.1`: the first part of the second. What stands before the first heading is `0`. */
  readonly id: string;
  readonly title: string;
  readonly level: number;
  /** From 1; `null` in documents without pages. */
  readonly page: number | null;
  /** In the document's text, in UTF-16 code units, without the parts below it. */
  readonly start: number;
  readonly end: number;
}

interface Heading {
  readonly level: number;
  readonly title: string;
  readonly at: number;
}

const MAX_TITLE = 300;

/** Cuts a text into its sections, which cover all of it, in order. */
export function toOutline(text: string, shape: TextShape, marks: readonly Mark[]): Section[] {
  if (marks.length > 0) return toPages(text, marks);
  const headings = shape === "markdown" ? findHeadings(text) : [];
  const [first] = headings;
  const sections: Section[] = [];
  if (first === undefined || text.slice(0, first.at).trim() !== "") {
    sections.push({ id: "0", title: "", level: 0, page: null, start: 0, end: first?.at ?? text.length });
  }
  const counts: number[] = [];
  const levels: number[] = [];
  for (const [index, { level, title, at }] of headings.entries()) {
    // A heading stands below the nearest before it of a smaller level, whatever levels are left out between.
    while ((levels.at(-1) ?? 0) > level) levels.pop();
    if (levels.at(-1) !== level) levels.push(level);
    const depth = levels.length;
    counts.length = Math.min(counts.length, depth);
    while (counts.length < depth) counts.push(0);
    counts[depth - 1] = (counts[depth - 1] ?? 0) + 1;
    const end = headings[index + 1]?.at ?? text.length;
    sections.push({ id: counts.join("."), title, level: depth, page: null, start: at, end });
  }
  return sections;
}

function toPages(text: string, marks: readonly Mark[]): Section[] {
  return marks.map(({ at, headings }, index) => ({
    id: String(index + 1),
    title: headings.join(" > ").slice(0, MAX_TITLE),
    level: 1,
    page: index + 1,
    start: at,
    end: marks[index + 1]?.at ?? text.length,
  }));
}

function findHeadings(text: string): Heading[] {
  const headings: Heading[] = [];
  let fence: string | undefined;
  let at = 0;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined) {
      const [, hashes, title = ""] = /^(#{1,6})[ \t]+(.*)$/.exec(line) ?? [];
      if (hashes !== undefined) {
        headings.push({ level: hashes.length, title: title.replace(/[ \t#]*$/, "").slice(0, MAX_TITLE), at });
      }
      fence = mark;
    } else if (mark?.startsWith(fence) === true) fence = undefined;
    at += line.length + 1;
  }
  return headings;
}

/** The tables in a stretch of Markdown, each as it stands. */
export function findTables(text: string): string[] {
  return (text.match(/(?:^\|.*\|[ \t]*$\n?){2,}/gm) ?? []).map((table) => table.trim());
}

/** The numbers of the figures that a stretch of text shows. */
export function findFigures(text: string): number[] {
  return [...text.matchAll(/!\[[^\]]*\]\(figure:(\d{1,6})\)/g)].map(([, number]) => Number(number));
}
