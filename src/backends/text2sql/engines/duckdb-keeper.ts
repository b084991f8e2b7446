import { stat } from "node:fs/promises";
import { type DuckDb, openDuckDb } from "../../../query/duckdb.ts";
import type { CollectedRows, RowLimits } from "../../../query/row-collector.ts";
import { isHarmlessDefinition, leavesNothing } from "../../../query/sql/leaves-nothing.ts";
import { readingStatement, splitStatements } from "../../../query/sql/statement.ts";
import { toDuckDbOptions } from "./duckdb.ts";
import type { ReaderLimits } from "./reader.ts";

/** How long a file stays open that nobody asks: while it is, nobody can write to it. */
const KEPT_MS = 2_000;

/** A file that is open, and what it was when it was opened. */
interface Kept {
  readonly database: DuckDb;
  readonly facts: string;
  readonly timer: NodeJS.Timeout;
}

/** What is asked, and of how much. */
export interface KeptQuery {
  readonly query: string;
  readonly rows: RowLimits;
  readonly limits: ReaderLimits;
  readonly signal: AbortSignal;
}

/**
 * Runs queries on files of DuckDB, which open in many times what a short query takes: the last stays open for a while.
 *
 * Only where neither the query nor anything in the file can have left something in the engine, and all rows were read; every query
 * has a connection of its own. What was changed or replaced meanwhile is opened anew.
 */
export class DuckDbKeeper {
  readonly #keptMs: number;
  readonly #open: typeof openDuckDb;
  #kept: Kept | undefined;

  constructor({
    keptMs = KEPT_MS,
    open = openDuckDb,
  }: { readonly keptMs?: number; readonly open?: typeof openDuckDb } = {}) {
    this.#keptMs = keptMs;
    this.#open = open;
  }

  /** Whether a file is open that nobody asks. */
  get keeps(): boolean {
    return this.#kept !== undefined;
  }

  /** @throws ToolyardError as {@link DuckDb.readRows} does, and `business_failure` where the file cannot be read. */
  async readRows(path: string, { query, rows, limits, signal }: KeptQuery): Promise<CollectedRows> {
    const statement = readingStatement(query, "duckdb");
    const options = toDuckDbOptions(path, limits);
    const facts = await factsOf(path, options.memoryMiB);
    const reused = await this.#take(facts, signal);
    const database = reused ?? (await this.#open(options, signal));
    let keeps = false;
    try {
      // What is told before anything runs interrupts nothing.
      signal.throwIfAborted();
      const found = await database.readRows(statement.text, rows);
      if (leavesNothing(statement) && !found.truncated && !signal.aborted) {
        // What was replaced while it was opened is not what its facts say.
        keeps = facts === (await factsOf(path, options.memoryMiB));
        keeps &&= reused !== undefined || (await isHarmless(database));
      }
      return found;
    } finally {
      if (keeps && !signal.aborted) this.#keep(database, facts);
      else database[Symbol.dispose]();
    }
  }

  /** Closes what is kept. */
  close(): void {
    clearTimeout(this.#kept?.timer);
    this.#kept?.database[Symbol.dispose]();
    this.#kept = undefined;
  }

  /** The file that is kept, on a new connection; `undefined` where another is wanted, or it is not what it was. */
  async #take(facts: string, signal: AbortSignal): Promise<DuckDb | undefined> {
    const kept = this.#kept;
    if (kept?.facts !== facts) {
      this.close();
      return undefined;
    }
    this.#kept = undefined;
    clearTimeout(kept.timer);
    try {
      await kept.database.renew(signal);
      return kept.database;
    } catch {
      // It is opened anew, which tells what is wrong.
      kept.database[Symbol.dispose]();
      return undefined;
    }
  }

  #keep(database: DuckDb, facts: string): void {
    this.close();
    const timer = setTimeout(() => this.close(), this.#keptMs).unref();
    this.#kept = { database, facts, timer };
  }
}

/** What tells a file, and the log of changes beside it, from what they were and from others. */
async function factsOf(path: string, memoryMiB: number): Promise<string> {
  const told = await Promise.all(
    [path, `${path}.wal`].map(async (file) => {
      const facts = await stat(file, { bigint: true }).catch(() => undefined);
      return facts === undefined ? null : [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].map(String);
    }),
  );
  return JSON.stringify([path, memoryMiB, told]);
}

/** Whether reading what the file holds can leave nothing: it may have views and macros that do more than they show. */
async function isHarmless(database: DuckDb): Promise<boolean> {
  const macros = await database.all(
    "SELECT 1 FROM duckdb_functions() WHERE NOT internal AND database_name = current_database() LIMIT 1",
  );
  if (macros.length > 0) return false;
  const made = await database.all(
    `SELECT sql FROM duckdb_views() WHERE NOT internal AND database_name = current_database()
     UNION ALL SELECT sql FROM duckdb_tables() WHERE NOT internal AND database_name = current_database()`,
  );
  return made.every(([sql]) => {
    const statements = splitStatements(String(sql), "duckdb");
    return statements.length === 1 && statements.every(isHarmlessDefinition);
  });
}
