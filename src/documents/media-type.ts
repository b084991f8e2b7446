import { extname } from "node:path";

/** What a document is, by its ending. */
const BY_EXTENSION: Readonly<Record<string, string>> = {
  ".txt": "text/plain",
  ".log": "text/plain",
  ".rst": "text/plain",
  ".tex": "text/plain",
  ".csv": "text/csv",
  ".tsv": "text/tab-separated-values",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".yaml": "text/x-code",
  ".yml": "text/x-code",
  ".toml": "text/x-code",
  ".xml": "text/xml",
  ".md": "text/markdown",
  ".markdown": "text/markdown",
  ".mdx": "text/markdown",
  ".html": "text/html",
  ".htm": "text/html",
  ".xhtml": "text/html",
  ".pdf": "application/pdf",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

const CODE_EXTENSIONS = new Set(
  (
    ".ts .tsx .mts .cts .js .jsx .mjs .cjs .py .pyi .rb .go .rs .java .kt .kts .scala .c .h .cc .cpp .hpp .cs .swift .php .pl " +
    ".lua .r .jl .sh .bash .zsh .ps1 .sql .ex .exs .erl .hs .ml .clj .dart .zig .nim .proto .graphql .css .scss .vue .svelte"
  ).split(" "),
);

/** The type of a file by its name; `undefined` where the ending says nothing. */
export function mediaTypeOf(name: string): string | undefined {
  const extension = extname(name).toLowerCase();
  return BY_EXTENSION[extension] ?? (CODE_EXTENSIONS.has(extension) ? "text/x-code" : undefined);
}

/** The type of content by its first bytes, for what comes without a name. */
export function sniffMediaType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 1_024)).toString("latin1");
  if (head.startsWith("%PDF-")) return "application/pdf";
  if (/^\s*(?:<!doctype html|<html)\b/i.test(head)) return "text/html";
  return undefined;
}
