import type { Client, ClientConfig, QueryArrayConfig, QueryArrayResult } from "pg";
import { ToolyardError } from "../../../core/errors.ts";
import { type Cell, toCell, toNumberCell } from "../../../query/cell.ts";
import { type CollectedRows, RowCollector, type RowLimits } from "../../../query/row-collector.ts";
import { readingStatement } from "../../../query/sql/statement.ts";
import { readPostgresTables } from "./postgres-schema.ts";
import type { Reader, ReaderLimits, Target } from "./reader.ts";

/** Rows that are asked for at once: what is read beyond a limit is at most these. */
const FETCH_ROWS = 500;
const CONNECT_MS = 10_000;
const CANCEL_MS = 2_000;

/**
 * What a role may have that a transaction's being read-only does not take away, itself or by becoming one that it is a member of,
 * which `set_config` does within a query.
 */
const PRIVILEGES = `SELECT bool_or(r.rolsuper), bool_or(r.rolreplication),
  bool_or(r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'))
  FROM pg_roles r WHERE pg_has_role(current_user, r.oid, 'member')`;

/**
 * Connects to a PostgreSQL database and opens the one transaction of this reader, which is read-only and has taken its
 * snapshot, so that nothing in it can make it write again.
 *
 * @throws ToolyardError `dependency_failed` without the package or the server; `forbidden` for a role that may too much.
 */
export async function openPostgres(
  { url, allowPrivilegedRole }: Extract<Target, { engine: "postgres" }>,
  { timeoutMs }: ReaderLimits,
  signal: AbortSignal,
): Promise<Reader> {
  const { default: pg } = await loadPg();
  const config: ClientConfig = {
    connectionString: url,
    application_name: "toolyard",
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: Math.ceil(timeoutMs),
    idle_in_transaction_session_timeout: Math.ceil(timeoutMs) + CANCEL_MS,
    options: "-c default_transaction_read_only=on",
    types: { getTypeParser: () => (text: string) => text },
  };
  const client = new pg.Client(config);
  // What happens to an idle connection is told by the next query.
  client.on("error", () => undefined);
  await connect(client);
  const cancel = () => void cancelQuery(new pg.Client(config), client);
  signal.addEventListener("abort", cancel, { once: true });
  const endsAt = performance.now() + timeoutMs;
  try {
    await client.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await checkRole(client, allowPrivilegedRole);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw toFailure(error);
  }
  const ask = async (sql: string) => (await run(client, sql)).rows.map((row) => row.map(toCell));
  return {
    readRows: (sql, limits) => readRows(client, sql, limits, endsAt),
    async explain(sql) {
      const { text, verb } = readingStatement(sql, "postgres");
      const { rows } = await run(client, verb === "EXPLAIN" ? text : `EXPLAIN ${text}`);
      return rows.map(([line]) => String(line)).join("\n");
    },
    tables: async () => readPostgresTables(ask),
    all: (sql) => askAlone(client, sql),
    close: async () => {
      signal.removeEventListener("abort", cancel);
      await client.end().catch(() => undefined);
    },
  };
}

async function loadPg() {
  try {
    return await import("pg");
  } catch (error) {
    throw new ToolyardError("dependency_failed", "The package pg cannot be loaded", {
      suggestion: "Install it with `npm install pg`.",
      cause: error,
    });
  }
}

async function connect(client: Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    // Its message may name the server and the user, which are the operator's.
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new ToolyardError("dependency_failed", `the database's server cannot be reached${code}`, { cause: error });
  }
}

async function checkRole(client: Client, allowed: boolean): Promise<void> {
  const { rows } = await run(client, PRIVILEGES);
  if (allowed || !rows.some((row) => row.includes("t"))) return;
  throw new ToolyardError("forbidden", "the database's role may do more than read tables", {
    suggestion: "Name a role in its URL that is no superuser and may not touch the server's files.",
  });
}

/** Cancels what a client runs, through a connection of its own: that of the client is busy. */
async function cancelQuery(second: Client, client: Client): Promise<void> {
  // The process that serves a client is known to it and to no type.
  const pid: unknown = Reflect.get(client, "processID");
  second.on("error", () => undefined);
  try {
    await second.connect();
    await second.query("SELECT pg_cancel_backend($1)", [pid]);
  } catch {
    // The server stops the statement by its own timeout then.
  } finally {
    await second.end().catch(() => undefined);
  }
}

/** Sends one statement by the extended protocol, in which the server takes no second one. */
async function run(client: Client, text: string): Promise<QueryArrayResult<unknown[]>> {
  try {
    // The type knows no queryMode.
    const query: QueryArrayConfig & { readonly queryMode: "extended" } = {
      text,
      rowMode: "array",
      queryMode: "extended",
    };
    return await client.query<unknown[]>(query);
  } catch (error) {
    throw toFailure(error);
  }
}

/** Asks so that an answer of no does not end the transaction. */
async function askAlone(client: Client, sql: string): Promise<Cell[][]> {
  await run(client, "SAVEPOINT toolyard");
  try {
    const { rows, fields } = await run(client, sql);
    return rows.map((row) => row.map((value, index) => toPostgresCell(value, fields[index]?.dataTypeID)));
  } catch (error) {
    await run(client, "ROLLBACK TO SAVEPOINT toolyard");
    throw error;
  }
}

async function readRows(client: Client, sql: string, limits: RowLimits, endsAt: number): Promise<CollectedRows> {
  const { text, verb } = readingStatement(sql, "postgres");
  const rows = new RowCollector(limits);
  const take = ({ rows: found, fields }: QueryArrayResult<unknown[]>) =>
    found.every((row) => rows.add(row.map((value, index) => toPostgresCell(value, fields[index]?.dataTypeID))));
  if (verb === "EXPLAIN" || verb === "SHOW") {
    const result = await run(client, text);
    take(result);
    return finish(rows, result);
  }
  // The grammar of a cursor has room for a query and for nothing else, none that changes data inside WITH either.
  await run(client, `DECLARE toolyard NO SCROLL CURSOR FOR ${text}`);
  for (;;) {
    // A query may have called set_config: what is left of its time is set anew before each step.
    const leftMs = Math.max(1, Math.ceil(endsAt - performance.now()));
    // oxlint-disable-next-line no-await-in-loop
    await run(client, `SET LOCAL statement_timeout = ${leftMs}`);
    // One more than fits tells whether there is more.
    const wanted = Math.min(FETCH_ROWS, limits.maxRows - rows.rows.length + 1);
    // oxlint-disable-next-line no-await-in-loop
    const result = await run(client, `FETCH FORWARD ${wanted} FROM toolyard`);
    if (!take(result) || result.rows.length < wanted) return finish(rows, result);
  }
}

function finish(rows: RowCollector, { fields }: QueryArrayResult<unknown[]>): CollectedRows {
  return rows.finish(
    fields.map(({ name }) => name),
    fields.map(({ dataTypeID }) => TYPE_NAMES.get(dataTypeID) ?? null),
  );
}

/** The built-in types by the numbers that they have in every database. */
const TYPE_NAMES: ReadonlyMap<number, string> = new Map([
  ...([
    [16, "boolean"],
    [17, "bytea"],
    [20, "bigint"],
    [21, "smallint"],
    [23, "integer"],
    [25, "text"],
  ] as const),
  ...([
    [26, "oid"],
    [114, "json"],
    [700, "real"],
    [701, "double precision"],
    [1042, "character"],
  ] as const),
  ...([
    [1043, "character varying"],
    [1082, "date"],
    [1083, "time"],
    [1114, "timestamp"],
  ] as const),
  ...([
    [1184, "timestamp with time zone"],
    [1186, "interval"],
    [1700, "numeric"],
    [2950, "uuid"],
  ] as const),
  ...([
    [3802, "jsonb"],
    [19, "name"],
  ] as const),
]);

function toPostgresCell(value: unknown, type: number | undefined): Cell {
  if (typeof value !== "string") return null;
  switch (TYPE_NAMES.get(type ?? 0)) {
    case "boolean":
      return value === "t";
    case "smallint":
    case "integer":
    case "oid":
    case "real":
    case "double precision":
      return toCell(Number(value));
    case "bigint":
      return toCell(BigInt(value));
    case "numeric":
      return toNumberCell(value);
    case "json":
    case "jsonb":
      return readJson(value);
    case "bytea":
      return toCell(Buffer.from(value.slice(2), "hex"));
    default:
      return value;
  }
}

/** Reads JSON in which a number that a double does not hold stays text. */
function readJson(text: string): Cell {
  // Its type does not know that JSON.parse tells how a number is written.
  const keep = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined ? toNumberCell(context.source) : value;
  return JSON.parse(text, keep);
}

/** What the server says of a query is its author's matter; of a connection that broke it is ours. */
function toFailure(error: unknown): unknown {
  if (ToolyardError.is(error) || !(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (!/^[0-9A-Z]{5}$/.test(code)) return new ToolyardError("upstream_failed", "the database's server went away");
  // query_canceled, idle_in_transaction_session_timeout
  if (code === "57014" || code === "25P03") return new ToolyardError("timeout", "it was interrupted at its time limit");
  // read_only_sql_transaction, a second command in one statement, what cannot be a cursor
  const writes = code === "25006" || (code === "42601" && /multiple commands/.test(error.message));
  if (writes) return new ToolyardError("invalid_input", error.message);
  if (code.startsWith("53") || code.startsWith("57P") || code.startsWith("XX")) {
    return new ToolyardError("upstream_failed", "the database's server cannot serve now", { details: { code } });
  }
  const position = "position" in error && typeof error.position === "string" ? ` (at character ${error.position})` : "";
  return new ToolyardError("business_failure", `${error.message}${position}`, {
    details: { code },
    suggestion: "Look which tables and columns there are, by get_schema, and change the query.",
  });
}
