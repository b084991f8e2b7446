import type { FileInfo } from "../../core/sandbox-files.ts";

const TEXT = "text/plain; charset=utf-8";

/** What the end of a name says of a file; all else is bytes. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...Object.fromEntries(
      "txt log md py js ts mjs cjs jsx tsx sh bash c h cc cpp hpp java go rs rb pl r sql toml ini cfg conf yaml yml"
        .split(" ")
        .map((end) => [end, TEXT]),
    ),
    html: "text/html; charset=utf-8",
    htm: "text/html; charset=utf-8",
    css: "text/css; charset=utf-8",
    csv: "text/csv; charset=utf-8",
    tsv: "text/tab-separated-values; charset=utf-8",
    xml: "application/xml",
    json: "application/json",
    jsonl: "application/x-ndjson",
    ipynb: "application/json",
    pdf: "application/pdf",
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    svg: "image/svg+xml",
    mp3: "audio/mpeg",
    wav: "audio/wav",
    mp4: "video/mp4",
    webm: "video/webm",
    zip: "application/zip",
    gz: "application/gzip",
    tgz: "application/gzip",
    tar: "application/x-tar",
    parquet: "application/vnd.apache.parquet",
    xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  }),
);

/** Guesses the type of a file by its name. */
export function toContentType(path: string): string {
  const name = baseName(path);
  const dot = name.lastIndexOf(".");
  return (dot === -1 ? undefined : TYPES.get(name.slice(dot + 1).toLowerCase())) ?? "application/octet-stream";
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.replace(/\/+$/, "").split("/").at(-1) || "files";
}

/** Names the version of a file, by its time and its size. */
export function toEtag({ modifiedAt, sizeBytes }: Pick<FileInfo, "modifiedAt" | "sizeBytes">): string {
  return `"${Math.round(modifiedAt * 1000).toString(36)}-${sizeBytes.toString(36)}"`;
}

/** Offers a name for saving, in ASCII for old clients and in full for the others; nothing of it can end the header. */
export function toDisposition(name: string, kind: "attachment" | "inline"): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/;]/g, "_");
  const full = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${full}`;
}

/** What came out of a sandbox is never a page of this origin: it is saved, or shown with no origin and no script. */
export const UNTRUSTED = {
  "x-content-type-options": "nosniff",
  "content-security-policy":
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "private, no-cache",
} as const;
