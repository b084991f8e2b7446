import { linesOf } from "./lines.ts";
import { findMarkdownBlocks } from "./markdown.ts";
import type { Mark, TextShape } from "../../../documents/read-document.ts";
import type { Block } from "./block.ts";

const DEFINITION =
  /^(?:export |default |public |private |protected |static |final |abstract |async |pub(?:\([a-z]+\))? |unsafe |extern )*(?:class|interface|trait|struct|enum|impl|def|fn|func|function|module|namespace|type|object|record)\b.*?([A-Za-z_$][\w$]*)/;

/** Cuts a text into its blocks, in order: paragraphs, tables, fenced code, definitions. */
export function findBlocks(text: string, shape: TextShape, marks: readonly Mark[] = []): Block[] {
  const blocks = shape === "markdown" ? findMarkdownBlocks(text) : findPlainBlocks(text, shape === "code");
  if (marks.length === 0) return blocks;
  return cutAtMarks(blocks, marks);
}

function findPlainBlocks(text: string, isCode: boolean): Block[] {
  const blocks: Block[] = [];
  let headings: readonly string[] = [];
  let open: { start: number; end: number } | undefined;
  const close = (): void => {
    if (open !== undefined) blocks.push({ ...open, headings });
    open = undefined;
  };
  for (const line of linesOf(text)) {
    if (line.text.trim() === "") close();
    else {
      const name = isCode ? DEFINITION.exec(line.text)?.[1] : undefined;
      if (name !== undefined) {
        close();
        headings = [name];
      }
      open = { start: open?.start ?? line.start, end: line.end };
    }
  }
  close();
  return blocks;
}

/** Puts blocks under the headings of the marks before them; one that goes over a mark is cut there. */
function cutAtMarks(blocks: readonly Block[], marks: readonly Mark[]): Block[] {
  const cut: Block[] = [];
  for (const block of blocks) {
    let { start } = block;
    let headings = marks.findLast(({ at }) => at <= start)?.headings ?? [];
    for (const mark of marks) {
      if (mark.at <= start || mark.at >= block.end) continue;
      cut.push({ start, end: mark.at, headings: [...headings, ...block.headings] });
      start = mark.at;
      headings = mark.headings;
    }
    cut.push({ start, end: block.end, headings: [...headings, ...block.headings] });
  }
  return cut;
}
