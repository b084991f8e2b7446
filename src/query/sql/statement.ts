import { ToolyardError } from "../../core/errors.ts";
import { type Dialect, type Token, tokenize } from "./tokens.ts";

/** One statement of a text. */
export interface Statement {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** The first word in capitals, as in `SELECT`; empty where there is none. */
  readonly verb: string;
}

/** The words that reading begins with. The engines decide what is reading; this is for an answer that says it well. */
const READING: Readonly<Record<Dialect, ReadonlySet<string>>> = {
  sqlite: new Set(["SELECT", "WITH", "VALUES", "EXPLAIN"]),
  duckdb: new Set(["SELECT", "WITH", "VALUES", "EXPLAIN", "FROM", "TABLE", "DESCRIBE", "SHOW", "SUMMARIZE"]),
  postgres: new Set(["SELECT", "WITH", "VALUES", "EXPLAIN", "TABLE", "SHOW"]),
};

/** Relations and functions that tell where things lie on the machine, or how the engine is set up. */
const TELLTALE = new Set([
  ...["pragma_database_list", "pragma_module_list", "sqlite_dbpage", "load_extension"],
  ...["duckdb_databases", "duckdb_settings", "duckdb_secrets", "duckdb_temporary_files", "which_secret"],
  ...["pg_read_file", "pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "pg_file_settings", "pg_hba_file_rules"],
  ...["lo_import", "lo_export", "pg_terminate_backend", "pg_cancel_backend"],
  ...["dblink", "dblink_exec", "dblink_connect", "dblink_connect_u", "dblink_open", "dblink_send_query"],
  ...["pg_reload_conf", "pg_rotate_logfile", "pg_sleep_until"],
  // They run a query that is text, in which nothing is looked for.
  ...["query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "ts_stat", "ts_rewrite"],
]);

/** Functions of DuckDB that run a query that is text; their names are those of columns, too. */
const RUNS_TEXT = new Set(["query", "query_table", "json_execute_serialized_sql"]);

/** Cuts a text into its statements; comments alone are none. */
export function splitStatements(sql: string, dialect: Dialect): Statement[] {
  const statements: Statement[] = [];
  let tokens: Token[] = [];
  const close = () => {
    const [first] = tokens;
    const last = tokens.at(-1);
    if (first === undefined || last === undefined) return;
    const verb = tokens.find(({ kind, text }) => kind !== "mark" || text !== "(");
    statements.push({
      text: sql.slice(first.start, last.end),
      tokens,
      verb: verb?.kind === "word" ? verb.text.toUpperCase() : "",
    });
    tokens = [];
  };
  for (const token of tokenize(sql, dialect)) {
    if (token.kind === "mark" && token.text === ";") close();
    else tokens.push(token);
  }
  close();
  return statements;
}

/**
 * The one statement of a text that reads.
 *
 * @throws ToolyardError `invalid_input` when there is none, or more than one, or it is not one that reads.
 */
export function readingStatement(sql: string, dialect: Dialect): Statement {
  const [statement, second] = splitStatements(sql, dialect);
  if (statement === undefined) throw new ToolyardError("invalid_input", "the query is empty");
  if (second !== undefined) throw new ToolyardError("invalid_input", "one statement at a time, please");
  if (!READING[dialect].has(statement.verb)) {
    throw new ToolyardError("invalid_input", `only queries that read are allowed, not ${statement.verb || "this"}`, {
      suggestion: `Begin with one of ${[...READING[dialect]].join(", ")}; get_schema describes tables.`,
    });
  }
  const telltale = statement.tokens.find(
    ({ kind, text }) =>
      TELLTALE.has(text.toLowerCase()) &&
      // SQLite and DuckDB take a string for a table's name.
      (kind === "word" || kind === "name" || (kind === "string" && dialect !== "postgres")),
  );
  if (dialect === "postgres" && statement.tokens.some(isEscapedName)) {
    throw new ToolyardError("invalid_input", 'a name may not be written as U&"…" here', {
      suggestion: "Write the name itself.",
    });
  }
  const runner = dialect === "duckdb" ? statement.tokens.find(isRunner) : undefined;
  if (runner !== undefined) throw new ToolyardError("invalid_input", `${runner.text} may not be called here`);
  if (telltale !== undefined) throw new ToolyardError("invalid_input", `${telltale.text} may not be used here`);
  return statement;
}

/** Whether a function is called here that runs what it is given. */
function isRunner({ kind, text }: Token, index: number, tokens: readonly Token[]): boolean {
  const next = tokens[index + 1];
  const isCalled = (kind === "word" || kind === "name") && next?.kind === "mark" && next.text === "(";
  return isCalled && RUNS_TEXT.has(text.toLowerCase());
}

/** Whether a name begins here that says its letters by their numbers. */
function isEscapedName({ kind, text, end }: Token, index: number, tokens: readonly Token[]): boolean {
  const [and, name] = tokens.slice(index + 1, index + 3);
  if (kind !== "word" || !/^u$/i.test(text) || and?.text !== "&" || name?.kind !== "name") return false;
  return and.start === end && name.start === and.end;
}

/** Whether the outermost query of a statement asks for an order. */
export function asksForOrder({ tokens }: Statement): boolean {
  const outermost = tokens.filter(({ depth }) => depth === 0);
  return outermost.some(({ kind, text }, index) => {
    const next = outermost[index + 1];
    return kind === "word" && /^order$/i.test(text) && next?.kind === "word" && /^by$/i.test(next.text);
  });
}
