import { posix } from "node:path";
import { z } from "zod";
import type { FileInfo, FileMatch } from "../../core/sandbox-files.ts";

const Path = z.string().min(1).describe("Absolute, or relative to the session's working folder.");
const Folder = Path.default(".");
const Limit = (most: number, usual: number) => z.int().min(1).max(most).default(usual);
const Mode = z
  .string()
  .regex(/^0?[0-7]{3}$/)
  .transform((text) => Number.parseInt(text, 8))
  .describe("Permission bits in octal, as 0644.");
const Overwrite = z.boolean().default(false).describe("Replace what is there.");

/** The most that one read may answer. */
export const MAX_READ_BYTES = 4 << 20;
/** The largest file that an edit may touch, and the largest content of one write. */
export const MAX_TEXT_BYTES = 8 << 20;

export const FileEntry = z.object({
  path: z.string(),
  kind: z.enum(["file", "directory", "symlink", "fifo", "socket", "device"]),
  size_bytes: z.number(),
  mode: z.string().describe("Permission bits in octal."),
  modified_at: z.string().describe("ISO 8601, UTC."),
  owner: z.int(),
  group: z.int(),
  target: z.string().optional().describe("Where a symbolic link points."),
});
export type FileEntry = z.infer<typeof FileEntry>;

/** Writes what the sandbox says of a file in the words of the tools. */
export function toFileEntry({ path, kind, sizeBytes, mode, modifiedAt, owner, group, target }: FileInfo): FileEntry {
  return {
    path: posix.normalize(path),
    kind,
    size_bytes: sizeBytes,
    mode: `0${mode.toString(8).padStart(3, "0")}`,
    modified_at: new Date(modifiedAt).toISOString(),
    owner,
    group,
    ...(target === undefined ? {} : { target }),
  };
}

export const ReadParams = z
  .strictObject({
    path: Path,
    start_line: z.int().min(1).optional().describe("1-based; the first line by default."),
    end_line: z.int().min(1).optional().describe("Inclusive; the last line by default."),
    offset: z.int().min(0).optional().describe("Reads by bytes, from here on."),
    length: z.int().min(1).optional().describe("Bytes; to the end by default."),
    encoding: z
      .enum(["auto", "utf-8", "base64"])
      .default("auto")
      .describe("auto answers text as it is and anything else as base64."),
    line_numbers: z.boolean().default(false).describe("Puts each line's number and a tab before it."),
    max_bytes: Limit(MAX_READ_BYTES, 256 << 10).describe("The most to answer; what is left out is said."),
  })
  .refine(
    ({ start_line: first, end_line: last, offset, length }) =>
      (first === undefined && last === undefined) || (offset === undefined && length === undefined),
    { error: "ask for lines or for bytes, not for both" },
  )
  .refine(({ start_line: first = 1, end_line: last }) => last === undefined || last >= first, {
    error: "end_line comes before start_line",
  });

export const ReadResult = z.object({
  path: z.string(),
  encoding: z.enum(["utf-8", "base64"]),
  content: z.string(),
  size_bytes: z.number().describe("Of the whole file."),
  offset: z.number().describe("Where the content begins in the file, in bytes."),
  length: z.number().describe("Bytes of the file that the content stands for."),
  start_line: z.int().nullable().describe("null where bytes were asked for, or the file is not text."),
  end_line: z.int().nullable(),
  total_lines: z.int().nullable().describe("null where the file was not read to its end."),
  truncated: z.boolean().describe("There is more of what was asked for; read on from offset + length."),
});
export type ReadResult = z.infer<typeof ReadResult>;

export const WriteParams = z.strictObject({
  path: Path,
  content: z.string().max(Math.ceil((MAX_TEXT_BYTES * 4) / 3) + 4),
  encoding: z.enum(["utf-8", "base64"]).default("utf-8"),
  mode: Mode.optional(),
  append: z.boolean().default(false).describe("Adds to the end in place of replacing the file."),
  create_only: z.boolean().default(false).describe("Refuses when there is something already."),
});
export const WriteResult = z.object({
  path: z.string(),
  size_bytes: z.number(),
  created: z.boolean().describe("Whether there was nothing before."),
});
export type WriteResult = z.infer<typeof WriteResult>;

export const EditParams = z.strictObject({
  path: Path,
  old_string: z.string().min(1).describe("Text that is in the file exactly once, whitespace and all."),
  new_string: z.string().describe("What takes its place."),
  replace_all: z.boolean().default(false).describe("Replaces every occurrence."),
});
export const EditResult = z.object({
  path: z.string(),
  replacements: z.int(),
  first_line: z.int().describe("1-based, of the first replacement."),
  size_bytes: z.number(),
  snippet: z.string().describe("The lines around the first replacement as they are now, numbered."),
});
export type EditResult = z.infer<typeof EditResult>;

export const ListParams = z.strictObject({
  path: Folder,
  depth: z.int().min(1).max(64).default(1).describe("How many levels of folders to look into."),
  limit: Limit(10_000, 1000),
});
export const GlobParams = z.strictObject({
  pattern: z.string().min(1).max(1024).describe("`*` within a folder, `**` through folders, `?`, `[a-z]`."),
  path: Folder,
  limit: Limit(10_000, 1000),
});
export const EntriesResult = z.object({
  entries: z.array(FileEntry),
  truncated: z.boolean().describe("There are more than the limit."),
});
export type EntriesResult = z.infer<typeof EntriesResult>;

export const GrepParams = z.strictObject({
  pattern: z.string().min(1).max(4096).describe("A regular expression of Python."),
  path: Folder,
  literal: z.boolean().default(false).describe("Takes the pattern as plain text."),
  ignore_case: z.boolean().default(false),
  glob: z.string().min(1).max(1024).optional().describe("Only files whose path matches."),
  context_lines: z.int().min(0).max(20).default(0),
  limit: Limit(1000, 100),
});
const Match = z.object({
  path: z.string(),
  line: z.int(),
  column: z.int(),
  text: z.string(),
  before: z.array(z.string()),
  after: z.array(z.string()),
});
export const GrepResult = z.object({ matches: z.array(Match), truncated: z.boolean() });
export type GrepResult = { matches: FileMatch[]; truncated: boolean };

export const PathParams = z.strictObject({ path: Path });
export const StatResult = z.object({ entry: FileEntry.nullable().describe("null where there is nothing.") });
export type StatResult = z.infer<typeof StatResult>;

export const TransferParams = z.strictObject({ from: Path, to: Path, overwrite: Overwrite });
export const TransferResult = z.object({ from: z.string(), to: z.string() });
export type TransferResult = z.infer<typeof TransferResult>;

export const DeleteParams = z.strictObject({
  path: Path,
  recursive: z.boolean().default(false).describe("Deletes a folder with what is in it."),
});
export const DeleteResult = z.object({ path: z.string(), deleted: z.boolean() });
export type DeleteResult = z.infer<typeof DeleteResult>;

export const MkdirResult = z.object({ path: z.string() });
export type MkdirResult = z.infer<typeof MkdirResult>;

export const WatchParams = z.strictObject({
  path: Folder,
  recursive: z.boolean().default(true),
  timeout_ms: z.int().min(1).max(3_600_000).default(10_000).describe("How long to watch."),
  max_changes: Limit(1000, 100).describe("Ends the watch early."),
});
const Change = z.object({
  kind: z.enum(["created", "modified", "deleted", "moved"]),
  path: z.string(),
  from: z.string().optional().describe("Of a move: where it was."),
});
export const WatchResult = z.object({
  changes: z.array(Change),
  ended: z.enum(["timeout", "max_changes"]).describe("Why the watch is over."),
});
export type WatchResult = z.infer<typeof WatchResult>;

const Format = z.enum(["tar", "tar.gz", "zip"]);
export const ArchiveParams = z.strictObject({
  path: Folder.describe("The folder whose content is packed."),
  names: z.array(z.string().min(1)).min(1).max(10_000).optional().describe("Only these, relative to the folder."),
  to: Path.describe("Where the archive is written."),
  format: Format.optional().describe("By the ending of `to` by default."),
});
export const ArchiveResult = z.object({ path: z.string(), format: Format, size_bytes: z.number() });
export type ArchiveResult = z.infer<typeof ArchiveResult>;

export const ExtractParams = z.strictObject({
  path: Path.describe("The archive."),
  to: Folder.describe("The folder that it is unpacked in."),
  format: Format.optional().describe("By the ending of the archive's name by default."),
  max_entries: Limit(1_000_000, 100_000),
  max_bytes: z
    .int()
    .min(1)
    .max(64 * 1024 ** 3)
    .default(1024 ** 3),
});
export const ExtractResult = z.object({ path: z.string(), entries: z.int(), total_bytes: z.number() });
export type ExtractResult = z.infer<typeof ExtractResult>;
