import type { DuckDBConnection } from "@duckdb/node-api";
import { ToolyardError } from "../../../core/errors.ts";
import { quoteName, quoteText } from "../../../query/sql/quote.ts";
import { type DataFile, stemOf } from "../data-file.ts";
import { loadWorkbook } from "./workbook.ts";
import { openFile, type OpenFile } from "./open-file.ts";

/** Up to this size the types of a CSV's columns are found from all of its rows. */
const WHOLE_SAMPLE_BYTES = 64 * 1024 * 1024;

/** Something that a query can read: a file, or a sheet of one. */
export interface Relation {
  /** The names that a query may use. */
  readonly names: readonly string[];
  readonly file: DataFile;
  /** Of a workbook. */
  readonly sheet: string | null;
  /** Said of how it was read, where that is not what one expects. */
  readonly note: string | null;
}

/** What opened files became. */
export interface Relations extends Disposable {
  readonly relations: readonly Relation[];
  readonly failed: readonly { readonly file: DataFile; readonly message: string }[];
}

/** Makes a view of every file, under its name and, where only one has it, under its name without the ending. */
export async function makeRelations(
  connection: DuckDBConnection,
  files: readonly DataFile[],
  options: { readonly tolerant: boolean },
): Promise<Relations> {
  const open: OpenFile[] = [];
  const relations: Relation[] = [];
  const failed: { file: DataFile; message: string }[] = [];
  const dispose = () => {
    for (const file of open) file[Symbol.dispose]();
  };
  const stems = Map.groupBy(files, ({ name }) => stemOf(name).toLowerCase());
  const namesOf = ({ name }: DataFile) => [
    name,
    ...(stems.get(stemOf(name).toLowerCase())?.length === 1 && stemOf(name) !== name ? [stemOf(name)] : []),
  ];
  try {
    for (const file of files) {
      try {
        const opened = openFile(file);
        open.push(opened);
        // One connection makes them all.
        // oxlint-disable-next-line no-await-in-loop
        relations.push(...(await read(connection, file, opened.path, namesOf(file))));
      } catch (error) {
        if (!options.tolerant) throw explain(error, file);
        failed.push({ file, message: explain(error, file).message });
      }
    }
    const paths = open.map(({ path }) => quoteText(path)).join(", ");
    await connection.run(`SET allowed_paths = [${paths}]`);
  } catch (error) {
    dispose();
    throw error;
  }
  return { relations, failed, [Symbol.dispose]: dispose };
}

async function read(
  connection: DuckDBConnection,
  file: DataFile,
  path: string,
  names: readonly string[],
): Promise<readonly Relation[]> {
  if (file.format === "xlsx") {
    const sheets = await loadWorkbook(connection, file, path, names);
    return sheets.map(({ sheet, names: its }) => ({ names: its, file, sheet, note: null }));
  }
  const note = await createView(connection, file, path, names[0] ?? file.name);
  for (const alias of names.slice(1)) {
    // oxlint-disable-next-line no-await-in-loop
    await connection.run(`CREATE VIEW ${quoteName(alias)} AS FROM ${quoteName(names[0] ?? file.name)}`);
  }
  return [{ names, file, sheet: null, note }];
}

/** Tries the ways in which a file may be meant, the strictest first; says which it was when that is not the first. */
async function createView(
  connection: DuckDBConnection,
  file: DataFile,
  path: string,
  name: string,
): Promise<string | null> {
  let refusal: unknown;
  for (const { source, note } of waysToRead(file, path)) {
    try {
      // oxlint-disable-next-line no-await-in-loop
      await connection.run(`CREATE OR REPLACE VIEW ${quoteName(name)} AS SELECT * FROM ${source}`);
      // What was found of a file holds only when all of it can be read so; of a very large one the query says.
      const whole = file.format === "csv" && file.sizeBytes <= WHOLE_SAMPLE_BYTES;
      // oxlint-disable-next-line no-await-in-loop
      if (whole) await connection.run(`SELECT count(COLUMNS(*)) FROM ${quoteName(name)}`);
      return note;
    } catch (error) {
      refusal ??= error;
    }
  }
  throw refusal;
}

function waysToRead({ format, name, sizeBytes }: DataFile, path: string) {
  const at = quoteText(path);
  if (format === "parquet") return [{ source: `read_parquet(${at})`, note: null }];
  if (format === "json") return [{ source: `read_json(${at}, format = 'newline_delimited')`, note: null }];
  const sample = sizeBytes <= WHOLE_SAMPLE_BYTES ? -1 : 200_000;
  const tab = name.toLowerCase().endsWith(".tsv") ? ", delim = '\\t'" : "";
  const usual = `read_csv(${at}, header = true, sample_size = ${sample}${tab}`;
  return [
    { source: `${usual})`, note: null },
    { source: `${usual}, encoding = 'latin-1')`, note: "read as Latin-1" },
    {
      source: `${usual}, all_varchar = true, strict_mode = false, null_padding = true)`,
      note: "read as text, since its rows do not fit one another",
    },
  ];
}

function explain(error: unknown, { name }: DataFile): ToolyardError {
  if (ToolyardError.is(error)) return error;
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\/proc\/self\/fd\/\d+/g, name);
  return new ToolyardError("business_failure", `${name} cannot be read: ${message.split("\n")[0]}`);
}
