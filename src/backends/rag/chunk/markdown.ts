import type { Block } from "./block.ts";
import { type Line, linesOf } from "./lines.ts";

const ATX = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const SETEXT = /^ {0,3}(=+|-{2,})[ \t]*$/;
const MAX_HEADING = 200;

/** Cuts Markdown into its blocks; a heading begins the section that it names, fenced code is one block. */
export function findMarkdownBlocks(text: string): Block[] {
  const scanner = new MarkdownScanner();
  for (const line of linesOf(text)) scanner.take(line);
  return scanner.finish();
}

class MarkdownScanner {
  readonly #blocks: Block[] = [];
  readonly #headings: string[] = [];
  #open: { readonly start: number; readonly end: number } | undefined;
  #fence: string | undefined;
  #previous: Line | undefined;

  take(line: Line): void {
    const marker = FENCE.exec(line.text)?.[1];
    if (this.#fence !== undefined) this.#takeFenced(line, marker);
    else if (marker !== undefined) {
      this.#close();
      this.#fence = marker;
      this.#extend(line);
    } else if (line.text.trim() === "") this.#close();
    else this.#takeText(line);
    this.#previous = line;
  }

  finish(): Block[] {
    this.#close();
    return this.#blocks;
  }

  #takeFenced(line: Line, marker: string | undefined): void {
    this.#extend(line);
    if (marker === undefined || !marker.startsWith(this.#fence ?? "") || line.text.trim() !== marker) return;
    this.#fence = undefined;
    this.#close();
  }

  #takeText(line: Line): void {
    const [, hashes, title = ""] = ATX.exec(line.text) ?? [];
    const underline = SETEXT.exec(line.text)?.[1];
    const previous = this.#previous;
    if (hashes !== undefined) {
      this.#close();
      this.#enter(hashes.length, title);
      this.#extend(line);
      this.#close();
    } else if (underline !== undefined && previous !== undefined && this.#open?.start === previous.start) {
      this.#enter(underline.startsWith("=") ? 1 : 2, previous.text.trim());
      this.#extend(line);
      this.#close();
    } else this.#extend(line);
  }

  #enter(level: number, title: string): void {
    this.#headings.length = Math.min(this.#headings.length, level - 1);
    while (this.#headings.length < level - 1) this.#headings.push("");
    this.#headings.push(title.slice(0, MAX_HEADING));
  }

  #extend(line: Line): void {
    this.#open = { start: this.#open?.start ?? line.start, end: line.end };
  }

  #close(): void {
    if (this.#open !== undefined) this.#blocks.push({ ...this.#open, headings: [...this.#headings] });
    this.#open = undefined;
  }
}
