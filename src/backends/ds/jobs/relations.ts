import type { DuckDBConnection } from "@duckdb/node-api";
import { ToolyardError } from "../../../core/errors.ts";
import { quoteName, quoteText } from "../../../query/sql/quote.ts";
import { type DataFile, stemOf } from "../data-file.ts";
import { type CsvSource, findCsvSource } from "./csv-source.ts";
import { loadWorkbook } from "./workbook.ts";
import { openFile, type OpenFile } from "./open-file.ts";

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
}

/** Makes a view of every file, under its name and, where only one has it, under its name without the ending. */
export async function makeRelations(connection: DuckDBConnection, files: readonly DataFile[]): Promise<Relations> {
  const open: OpenFile[] = [];
  const relations: Relation[] = [];
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
        throw explain(error, file);
      }
    }
    const paths = open.map(({ path }) => quoteText(path)).join(", ");
    await connection.run(`SET allowed_paths = [${paths}]`);
  } catch (error) {
    dispose();
    throw error;
  }
  return { relations, [Symbol.dispose]: dispose };
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

/** Returns what is to be said of how the file was read. */
async function createView(
  connection: DuckDBConnection,
  file: DataFile,
  path: string,
  name: string,
): Promise<string | null> {
  const { sql, note } = await findSource(connection, file, path);
  await connection.run(`CREATE OR REPLACE VIEW ${quoteName(name)} AS SELECT * FROM ${sql}`);
  return note;
}

async function findSource(connection: DuckDBConnection, file: DataFile, path: string): Promise<CsvSource> {
  const at = quoteText(path);
  if (file.format === "parquet") return { sql: `read_parquet(${at})`, note: null };
  if (file.format === "json") return { sql: `read_json(${at}, format = 'newline_delimited')`, note: null };
  return findCsvSource(connection, file, path);
}

/** What is wrong with a file, in the engine's words. */
export function explain(error: unknown, { name }: DataFile): ToolyardError {
  if (ToolyardError.is(error)) return error;
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\/proc\/self\/fd\/\d+/g, name);
  return new ToolyardError("business_failure", `${name} cannot be read: ${message.split("\n")[0]}`);
}
