import type Driver from "better-sqlite3";
import type { Database } from "./database.ts";

/** Prepares each statement of a database once. */
export class Statements {
  readonly #database: Database;
  readonly #prepared = new Map<string, Driver.Statement<unknown[]>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The first row, whose type the statement's own columns give. */
  get<T>(sql: string, ...params: readonly unknown[]): T | undefined {
    return this.prepare(sql).get(...params) as T | undefined;
  }

  all<T>(sql: string, ...params: readonly unknown[]): T[] {
    return this.prepare(sql).all(...params) as T[];
  }

  run(sql: string, ...params: readonly unknown[]): { readonly changes: number; readonly lastInsertRowid: number } {
    const { changes, lastInsertRowid } = this.prepare(sql).run(...params);
    return { changes, lastInsertRowid: Number(lastInsertRowid) };
  }

  prepare(sql: string): Driver.Statement<unknown[]> {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const made = this.#database.prepare<unknown[]>(sql);
    this.#prepared.set(sql, made);
    return made;
  }
}
