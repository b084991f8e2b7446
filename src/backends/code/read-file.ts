import type { z } from "zod";
import { ToolyardError } from "../../core/errors.ts";
import type { SandboxFiles } from "../../core/sandbox-files.ts";
import { numberLines } from "./edit-text.ts";
import { resolveFile } from "./file-paths.ts";
import { MAX_TEXT_BYTES, type ReadParams, type ReadResult } from "./file-schemas.ts";
import { readLines } from "./read-lines.ts";
import { isText, trimToCharacters } from "./text-bytes.ts";

type Wanted = z.output<typeof ReadParams>;

/** Reads a stretch of a file, by lines or by bytes, as text or as base64. */
export async function readFile(files: SandboxFiles, wanted: Wanted, signal: AbortSignal): Promise<ReadResult> {
  const { sizeBytes } = await resolveFile(files, wanted.path, signal);
  const byBytes = wanted.offset !== undefined || wanted.length !== undefined || wanted.encoding === "base64";
  return byBytes ? readBytes(files, wanted, sizeBytes, signal) : readByLines(files, wanted, sizeBytes, signal);
}

async function readBytes(
  files: SandboxFiles,
  { path, offset = 0, length = Infinity, encoding, max_bytes: maxBytes, ...lines }: Wanted,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<ReadResult> {
  if (lines.line_numbers || lines.start_line !== undefined || lines.end_line !== undefined) {
    throw new ToolyardError(
      "invalid_input",
      "lines are numbered and counted in text only: leave out offset, length and base64",
    );
  }
  const bytes = Buffer.from(await files.read(path, { offset, length: Math.min(length, maxBytes) }, signal));
  const end = offset + bytes.length;
  const whole = trimToCharacters(bytes, { start: offset > 0, end: end < sizeBytes });
  const asText = encoding !== "base64" && isText(whole);
  if (encoding === "utf-8" && !asText) throw notText(path);
  const shown = asText ? whole : bytes;
  const start = asText ? offset + bytes.indexOf(whole) : offset;
  return {
    path,
    encoding: asText ? "utf-8" : "base64",
    content: shown.toString(asText ? "utf8" : "base64"),
    size_bytes: Math.max(sizeBytes, end),
    offset: start,
    length: shown.length,
    start_line: null,
    end_line: null,
    total_lines: null,
    truncated: length > maxBytes && end < sizeBytes,
  };
}

async function readByLines(
  files: SandboxFiles,
  { path, start_line: first = 1, end_line: last = Infinity, max_bytes: maxBytes, ...how }: Wanted,
  sizeBytes: number,
  signal: AbortSignal,
): Promise<ReadResult> {
  const range = await readLines(files, path, { first, last, maxBytes }, signal);
  const bytes = trimToCharacters(range.bytes, { start: false, end: range.truncated });
  const asText = isText(bytes);
  if (how.encoding === "utf-8" && !asText) throw notText(path);
  const counted = {
    start_line: asText ? range.firstLine : null,
    end_line: asText ? Math.max(range.lastLine, range.firstLine - 1) : null,
    total_lines: asText ? range.totalLines : null,
  };
  const shown = asText ? bytes : range.bytes;
  const text = asText ? shown.toString("utf8") : shown.toString("base64");
  return {
    path,
    encoding: asText ? "utf-8" : "base64",
    content: asText && how.line_numbers && text !== "" ? numberLines(text, range.firstLine) : text,
    size_bytes: Math.max(sizeBytes, range.offset + range.bytes.length),
    offset: range.offset,
    length: shown.length,
    ...counted,
    truncated: range.truncated,
  };
}

/**
 * Reads a whole file as text, for a change of it.
 *
 * @throws ToolyardError `limit_exceeded` for a large one, `business_failure` for one that is not UTF-8.
 */
export async function readWholeText(files: SandboxFiles, path: string, signal: AbortSignal): Promise<string> {
  const parts: Buffer[] = [];
  for (let offset = 0; ; ) {
    // Each stretch begins where the last one ended.
    // oxlint-disable-next-line no-await-in-loop
    const part = Buffer.from(await files.read(path, { offset, length: 1 << 20 }, signal));
    parts.push(part);
    offset += part.length;
    if (offset > MAX_TEXT_BYTES) {
      throw new ToolyardError("limit_exceeded", `${path} is over ${MAX_TEXT_BYTES} bytes, too large for an edit`, {
        details: { limit: "edit_bytes", max: MAX_TEXT_BYTES },
      });
    }
    if (part.length < 1 << 20) break;
  }
  const bytes = Buffer.concat(parts);
  if (!isText(bytes)) throw notText(path);
  return bytes.toString("utf8");
}

function notText(path: string): ToolyardError {
  return new ToolyardError("business_failure", `${path} is not UTF-8 text`, {
    suggestion: 'Read it with encoding "base64".',
  });
}
