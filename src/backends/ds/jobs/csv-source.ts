import { isUtf8 } from "node:buffer";
import { closeSync, openSync, readSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import { ToolyardError } from "../../../core/errors.ts";
import { quoteText } from "../../../query/sql/quote.ts";
import type { DataFile } from "../data-file.ts";

/** Up to this size what was found of a file is tried on all of its rows. */
const WHOLE_BYTES = 64 * 1024 * 1024;
/** How much of a file its encoding is found from. */
const ENCODING_BYTES = 8 * 1024 * 1024;
/** DuckDB reads no longer lines, and takes minutes to say so where it looks for a dialect. */
const MAX_LINE_BYTES = 2_000_000;
const LARGE_SAMPLE_ROWS = 200_000;
const DELIMITERS = /[,;\t|]/;

/** How a CSV is to be read. */
export interface CsvSource {
  /** A call of `read_csv` that leaves nothing to be found out again. */
  readonly sql: string;
  /** Said of how it is read, where that is not what one expects. */
  readonly note: string | null;
}

/** What DuckDB's sniffer found. */
interface Dialect {
  readonly options: readonly string[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly skipped: number;
}

/** A way in which a file may be meant. */
interface Way {
  readonly options: readonly string[];
  /** Of the columns' types, which are found from all rows where a part of them was not enough. */
  readonly typed: boolean;
}

// Nothing of a file may be left out unsaid: by itself the sniffer skips lines, and takes some for comments, until the rest fits.
const WHOLE = ["skip = 0", "comment = ''"];
const USUAL: readonly Way[] = [
  { options: [...WHOLE, "quote = '\"'", "escape = '\"'"], typed: true },
  { options: WHOLE, typed: true },
];
const WITHOUT_TITLE: Way = { options: ["comment = ''"], typed: true };
const LENIENT: Way = {
  options: ["comment = ''", "all_varchar = true", "strict_mode = false", "null_padding = true"],
  typed: false,
};

/**
 * Finds out how a CSV is written, once: its encoding, its dialect and the types of its columns.
 *
 * @throws what DuckDB says of a file that can be read in no way; ToolyardError business_failure.
 */
export async function findCsvSource(connection: DuckDBConnection, file: DataFile, path: string): Promise<CsvSource> {
  const encoding = findEncoding(file, path);
  const sniff = (way: Way) => tryWay(connection, { file, path, way, encoding });
  let refusal: unknown;
  let found: Dialect | undefined;
  for (const way of USUAL) {
    try {
      // oxlint-disable-next-line no-await-in-loop
      found = await sniff(way);
      break;
    } catch (error) {
      refusal ??= error;
    }
  }
  const notes = encoding === "latin-1" ? ["as Latin-1"] : [];
  if (found === undefined || found.columns.length === 1) {
    // A title, a remark or an empty line may come before the table.
    const below = await sniff(WITHOUT_TITLE).catch(() => undefined);
    if (below !== undefined && below.columns.length > 1 && below.skipped > 0) {
      const rows = await countRows(connection, path, below);
      if (rows > below.skipped) return toSource(path, below, [...notes, `without its first ${lines(below.skipped)}`]);
    }
  }
  if (found !== undefined && (found.columns.length > 1 || !DELIMITERS.test(found.columns[0]?.name ?? "")))
    return toSource(path, found, notes);
  try {
    const lenient = await sniff(LENIENT);
    const skipped = lenient.skipped > 0 ? [`without its first ${lines(lenient.skipped)}`] : [];
    return toSource(path, lenient, [...notes, ...skipped, "as text, since its rows do not fit one another"]);
  } catch (error) {
    throw refusal ?? error;
  }
}

const lines = (count: number) => (count === 1 ? "line" : `${count} lines`);

function toSource(path: string, dialect: Dialect, notes: readonly string[]): CsvSource {
  return { sql: toSql(path, dialect), note: notes.length === 0 ? null : `read ${notes.join(", ")}` };
}

function toSql(path: string, { options, columns }: Dialect): string {
  const typed = columns.map(({ name, type }) => `${quoteText(name)}: ${quoteText(type)}`).join(", ");
  return `read_csv(${[quoteText(path), "auto_detect = false", "header = true", ...options, `columns = {${typed}}`].join(", ")})`;
}

interface Attempt {
  readonly file: DataFile;
  readonly path: string;
  readonly way: Way;
  readonly encoding: string;
}

/** Sniffs in one way, and reads the whole file in it unless that is very large: then the query says what does not fit. */
async function tryWay(connection: DuckDBConnection, attempt: Attempt): Promise<Dialect> {
  const { file, path, way } = attempt;
  if (file.sizeBytes > WHOLE_BYTES) return sniffFile(connection, attempt, LARGE_SAMPLE_ROWS);
  const dialect = await sniffFile(connection, attempt, undefined);
  try {
    await connection.run(`SELECT count(COLUMNS(*)) FROM ${toSql(path, dialect)}`);
    return dialect;
  } catch (error) {
    if (!way.typed) throw error;
    const wiser = await sniffFile(connection, attempt, -1);
    await connection.run(`SELECT count(COLUMNS(*)) FROM ${toSql(path, wiser)}`);
    return wiser;
  }
}

async function sniffFile(
  connection: DuckDBConnection,
  { file, path, way, encoding }: Attempt,
  sampleRows: number | undefined,
): Promise<Dialect> {
  const given = [
    ...way.options,
    ...(file.name.toLowerCase().endsWith(".tsv") ? ["delim = '\t'"] : []),
    ...(encoding === "utf-8" ? [] : [`encoding = '${encoding}'`]),
  ];
  const sample = sampleRows === undefined ? [] : [`sample_size = ${sampleRows}`];
  const call = [quoteText(path), "header = true", ...given, ...sample].join(", ");
  const reader = await connection.runAndReadAll(`FROM sniff_csv(${call})`);
  const [found] = reader.getRowObjectsJson();
  if (found === undefined) throw new Error("nothing was found of it");
  const text = (key: string) => (found[key] === "(empty)" ? "" : String(found[key] ?? ""));
  const formats = [
    ...(found["DateFormat"] ? [`dateformat = ${quoteText(text("DateFormat"))}`] : []),
    ...(found["TimestampFormat"] ? [`timestampformat = ${quoteText(text("TimestampFormat"))}`] : []),
  ];
  const skipped = Number(found["SkipRows"] ?? 0);
  const dialect = [
    `delim = ${quoteText(text("Delimiter"))}`,
    `quote = ${quoteText(text("Quote"))}`,
    `escape = ${quoteText(text("Escape"))}`,
    ...["comment = ''", `skip = ${skipped}`],
    ...(encoding === "utf-8" ? [] : [`encoding = '${encoding}'`]),
    ...(way.typed ? formats : ["strict_mode = false", "null_padding = true"]),
  ];
  const columns = found["Columns"] as unknown as Dialect["columns"]; // a list of structs of two texts
  return { options: dialect, columns, skipped };
}

async function countRows(connection: DuckDBConnection, path: string, dialect: Dialect): Promise<number> {
  const reader = await connection.runAndReadAll(`SELECT count(*) FROM ${toSql(path, dialect)}`);
  return Number(reader.getRows()[0]?.[0] ?? 0);
}

/** By its mark, or by whether its beginning is UTF-8; what is neither is a byte a letter. */
function findEncoding({ name, sizeBytes }: DataFile, path: string): "utf-8" | "utf-16" | "latin-1" {
  if (sizeBytes === 0) throw new ToolyardError("business_failure", `${name} is empty`);
  const start = readStart(path, Math.min(sizeBytes, ENCODING_BYTES));
  if (hasLongLine(start))
    throw new ToolyardError("limit_exceeded", `${name} has a line of more than ${MAX_LINE_BYTES} bytes`, {
      details: { limit: "line_bytes", max: MAX_LINE_BYTES },
    });
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16";
  if (start[0] === 0xfe && start[1] === 0xff)
    throw new ToolyardError("business_failure", `${name} is big-endian UTF-16, which is not read`, {
      suggestion: "Save it as UTF-8.",
    });
  const header = start.subarray(0, (start.indexOf(10) + 1 || start.length) + 1);
  if (header.includes(0))
    throw new ToolyardError("business_failure", `${name} has zero bytes in its first line`, {
      suggestion: "It may be UTF-16 without its mark, or no text at all; save it as UTF-8.",
    });
  // A letter may be cut in two at the end of what was read.
  const whole = start.length < sizeBytes ? start.subarray(0, start.lastIndexOf(10) + 1) : start;
  return isUtf8(whole) ? "utf-8" : "latin-1";
}

function hasLongLine(start: Buffer): boolean {
  for (let from = 0; start.length - from > MAX_LINE_BYTES; ) {
    const end = start.indexOf(10, from);
    if (end === -1 || end - from > MAX_LINE_BYTES) return true;
    from = end + 1;
  }
  return false;
}

function readStart(path: string, bytes: number): Buffer {
  const handle = openSync(path, "r");
  try {
    const start = Buffer.alloc(bytes);
    return start.subarray(0, readSync(handle, start, 0, bytes, 0));
  } finally {
    closeSync(handle);
  }
}
