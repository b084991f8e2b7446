import { ToolyardError } from "../../../core/errors.ts";

/**
 * Has SQLite's own authoriser look at a statement while it is compiled: it may read, call functions and recurse, and nothing
 * else. better-sqlite3 has no way to set one, so Node's SQLite compiles the statement for this, where Node has it (24.10);
 * elsewhere the read-only connection, `query_only` and the statement's own `readonly` stand alone.
 *
 * @throws ToolyardError `invalid_input`
 */
export async function onlyReads(path: string, sql: string): Promise<void> {
  // Older releases of Node lack the module, or the method.
  const sqlite = await import("node:sqlite").catch(() => null);
  if (sqlite === null || !("setAuthorizer" in sqlite.DatabaseSync.prototype)) return;
  const { DatabaseSync, constants } = sqlite;
  const allowed: ReadonlySet<number> = new Set([
    constants.SQLITE_SELECT,
    constants.SQLITE_READ,
    constants.SQLITE_FUNCTION,
    constants.SQLITE_RECURSIVE,
  ]);
  let denied = false;
  let database: InstanceType<typeof DatabaseSync> | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    database.setAuthorizer((action, name, detail) => {
      // Full-text search and the like compile their own pragmas and statements, which the read-only connection bounds.
      const may = allowed.has(action) && !isForbiddenFunction(action === constants.SQLITE_FUNCTION, name ?? detail);
      if (may) return constants.SQLITE_OK;
      denied = true;
      return constants.SQLITE_DENY;
    });
    database.prepare(sql);
  } catch {
    // What it cannot compile, the connection that runs it tells in its words.
  } finally {
    database?.close();
  }
  if (denied) throw new ToolyardError("invalid_input", "only queries that read are allowed");
}

function isForbiddenFunction(isFunction: boolean, name: string | null): boolean {
  return isFunction && name !== null && /^(load_extension|fts3_tokenizer|writefile|edit)$/i.test(name);
}
