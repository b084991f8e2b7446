import type { FileChange, FileInfo, FileKind, FileMatch, Listing } from "../../core/sandbox-files.ts";
import { amount, count, type Fields, flag, isFields, text, texts, wrong } from "./fields.ts";

const KINDS: readonly FileKind[] = ["file", "directory", "symlink", "fifo", "socket", "device"];
const CHANGES: readonly FileChange["kind"][] = ["created", "modified", "deleted", "moved"];

/** Checks what the sandbox tells of one path. @throws ProtocolViolation, as all of these do */
export function parseFileInfo(value: unknown): FileInfo {
  const info = toFields(value);
  const kind = KINDS.find((name) => name === info["kind"]);
  if (kind === undefined) throw wrong("kind");
  return {
    path: text(info, "path"),
    kind,
    sizeBytes: count(info, "size"),
    mode: count(info, "mode"),
    // Before 1970 is possible, and nobody's concern.
    modifiedAt: amount({ at: Math.max(0, Number(info["modified_at"])) }, "at"),
    owner: count(info, "owner"),
    group: count(info, "group"),
    ...(info["target"] === undefined ? {} : { target: text(info, "target") }),
  };
}

/** Checks a line that a search found. */
export function parseFileMatch(value: unknown): FileMatch {
  const match = toFields(value);
  return {
    path: text(match, "path"),
    line: count(match, "line"),
    column: count(match, "column"),
    text: text(match, "text"),
    before: texts(match, "before"),
    after: texts(match, "after"),
  };
}

/** Checks a listing whose entries `parse` checks. */
export function parseListing<T>(value: unknown, parse: (entry: unknown) => T): Listing<T> {
  const listing = toFields(value);
  return { entries: toArray(listing["entries"]).map(parse), truncated: flag(listing, "truncated") };
}

/** Checks changes that came together. */
export function parseFileChanges(value: unknown): FileChange[] {
  return toArray(value).map((item) => {
    const change = toFields(item);
    const kind = CHANGES.find((name) => name === change["kind"]);
    if (kind === undefined) throw wrong("kind");
    const path = text(change, "path");
    return change["from"] === undefined ? { kind, path } : { kind, path, from: text(change, "from") };
  });
}

/** Checks what a write came to. */
export function parseWritten(value: unknown): { readonly sizeBytes: number; readonly created: boolean } {
  const written = toFields(value);
  return { sizeBytes: count(written, "size"), created: flag(written, "created") };
}

/** Checks what unpacking an archive came to. */
export function parseExtracted(value: unknown): { readonly entries: number; readonly totalBytes: number } {
  const extracted = toFields(value);
  return { entries: count(extracted, "entries"), totalBytes: count(extracted, "total_bytes") };
}

function toFields(value: unknown): Fields {
  if (!isFields(value)) throw wrong("value");
  return value;
}

function toArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong("value");
  return value;
}
