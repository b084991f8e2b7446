import { type Cell, toCell } from "../../../query/cell.ts";
import type { DuckDb } from "../../../query/duckdb.ts";
import { quoteName } from "../../../query/sql/quote.ts";
import type { Relation } from "./relations.ts";

const MAX_COLUMNS = 500;
/** Columns that are measured in one reading, of which each may take memory for its different values. */
const COLUMNS_AT_ONCE = 20;
const SAMPLES = 3;
const SAMPLED_ROWS = 1_000;
const CHARACTERS = 80;
/** Beyond so many values, how many different ones there are is estimated. */
const EXACT_VALUES = 2_000_000;

interface NamedColumn {
  readonly name: string;
  readonly type: string;
}

/** What a file's column holds. */
export interface ColumnProfile {
  readonly name: string;
  readonly type: string;
  readonly is_numeric: boolean;
  readonly missing: number;
  readonly distinct: number;
  readonly min: Cell;
  readonly max: Cell;
  readonly mean: number | null;
  readonly standard_deviation: number | null;
  readonly samples: readonly Cell[];
}

/** What a file, or a sheet of one, holds; `error` says why it could not be told. */
export interface FileProfile {
  readonly file: string;
  readonly format: string;
  readonly size_bytes: number;
  readonly sheet: string | null;
  /** What a query may call it. */
  readonly names?: readonly string[];
  readonly rows?: number;
  readonly columns?: readonly ColumnProfile[];
  readonly columns_omitted?: number;
  readonly missing_values?: number;
  /** Rows that another one equals; `null` where there are too many to tell. */
  readonly duplicates?: number | null;
  readonly note?: string | null;
  readonly error?: string;
}

/** Counts and measures everything in a relation, from all of its rows. */
export async function profileRelation(database: DuckDb, relation: Relation): Promise<FileProfile> {
  const name = quoteName(relation.names.at(-1) ?? "");
  const described = await database.all(`DESCRIBE ${name}`);
  const shown = described.slice(0, MAX_COLUMNS);
  const [total] = await database.all(`SELECT count(*) FROM ${name}`);
  const rows = Number(total?.[0] ?? 0);
  const named = shown.map(([column, type]) => ({ name: String(column), type: String(type) }));
  const columns: ColumnProfile[] = [];
  for (let from = 0; from < named.length; from += COLUMNS_AT_ONCE) {
    const some = named.slice(from, from + COLUMNS_AT_ONCE);
    // oxlint-disable-next-line no-await-in-loop
    columns.push(...(await profileColumns(database, name, some, rows * shown.length)));
  }
  const { file } = relation;
  return {
    ...{ file: file.name, format: file.format, size_bytes: file.sizeBytes, sheet: relation.sheet },
    names: relation.names,
    rows,
    columns,
    columns_omitted: described.length - shown.length,
    missing_values: columns.reduce((sum, { missing }) => sum + missing, 0),
    duplicates: await countDuplicates(database, name, rows, rows * described.length),
    note: relation.note,
  };
}

/** What is measured of one column, as expressions of a query. */
function toMeasures({ name, type }: NamedColumn, values: number): readonly string[] {
  const column = quoteName(name);
  const isPlain = isNumeric(type) || /^(VARCHAR|DATE|TIME|TIMESTAMP.*|BOOLEAN|UUID)$/.test(type);
  return [
    `count(*) - count(${column})`,
    values <= EXACT_VALUES ? `count(DISTINCT ${column})` : `approx_count_distinct(${column})`,
    ...(isPlain ? [`min(${column})`, `max(${column})`] : ["NULL", "NULL"]),
    // As doubles: the sum of many large integers is none.
    ...(isNumeric(type) ? [`avg(${column}::DOUBLE)`, deviation(`${column}::DOUBLE`)] : ["NULL", "NULL"]),
  ];
}

/** DuckDB refuses the whole query where a value is infinite, is no number, or has a square that is too large. */
function deviation(value: string): string {
  const isUsual = `abs(${value}) < 1e150`;
  return `CASE WHEN bool_and(${isUsual}) THEN stddev_samp(${value}) FILTER (WHERE ${isUsual}) END`;
}

const MEASURES = 6;

/** Measures columns in one reading of the file. */
async function profileColumns(
  database: DuckDb,
  table: string,
  columns: readonly NamedColumn[],
  values: number,
): Promise<readonly ColumnProfile[]> {
  const measures = columns.flatMap((column) => toMeasures(column, values));
  const [row = []] = await database.all(`SELECT ${measures.join(", ")} FROM ${table}`);
  const profiles: ColumnProfile[] = [];
  for (const [index, { name, type }] of columns.entries()) {
    const [missing, different, min, max, mean, deviation] = row.slice(index * MEASURES, (index + 1) * MEASURES);
    // oxlint-disable-next-line no-await-in-loop
    const samples = await database.all(
      `SELECT DISTINCT v FROM (SELECT ${quoteName(name)} AS v FROM ${table} LIMIT ${SAMPLED_ROWS}) WHERE v IS NOT NULL LIMIT ${SAMPLES}`,
    );
    profiles.push({
      ...{ name, type, is_numeric: isNumeric(type) },
      missing: Number(missing),
      distinct: Number(different),
      min: clip(min),
      max: clip(max),
      mean: typeof mean === "number" ? mean : null,
      standard_deviation: typeof deviation === "number" ? deviation : null,
      samples: samples.map(([value]) => clip(value)),
    });
  }
  return profiles;
}

function isNumeric(type: string): boolean {
  return /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/.test(type);
}

async function countDuplicates(database: DuckDb, table: string, rows: number, values: number): Promise<number | null> {
  if (values > EXACT_VALUES) return null;
  try {
    const [row] = await database.all(`SELECT count(*) FROM (SELECT DISTINCT * FROM ${table})`);
    return rows - Number(row?.[0] ?? 0);
  } catch {
    // There are types that have no equality.
    return null;
  }
}

function clip(value: Cell | undefined): Cell {
  const cell = toCell(value);
  return typeof cell === "string" && cell.length > CHARACTERS ? `${cell.slice(0, CHARACTERS).toWellFormed()}…` : cell;
}
