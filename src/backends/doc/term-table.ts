import { setImmediate } from "node:timers/promises";
import type Driver from "better-sqlite3";
import type { SectionTerms } from "./section-terms.ts";

/** The table of counted words, each taking in of a document under a number of its own. */
export const TERMS_SCHEMA = `
  CREATE TABLE terms (
    generation INTEGER NOT NULL, term TEXT NOT NULL, counts TEXT NOT NULL, PRIMARY KEY (generation, term)
  ) STRICT, WITHOUT ROWID;
`;
/** The lengths of the sections stand under a word that no text has, so that every generation has a row. */
const LENGTHS = "";
/** Each generation that has rows, by one look into the index for each. */
const GENERATIONS = `
  WITH RECURSIVE found (generation) AS (
    SELECT min(generation) FROM terms
    UNION ALL SELECT (SELECT min(generation) FROM terms WHERE generation > found.generation) FROM found
    WHERE generation IS NOT NULL
  ) SELECT generation FROM found WHERE generation IS NOT NULL`;
/** Words that are written or dropped in one turn of the event loop. */
const AT_ONCE = 2_000;

/** Keeps the counted words of documents, which nobody sees before a document names their generation. */
export class TermTable {
  readonly #database: Driver.Database;
  #lastGeneration: number;

  constructor(database: Driver.Database) {
    this.#database = database;
    // What a taking in that was cut short had written.
    const kept = "SELECT generation FROM documents WHERE generation IS NOT NULL";
    database.exec(`DELETE FROM terms WHERE generation IN (${GENERATIONS} AND generation NOT IN (${kept}))`);
    this.#lastGeneration = Number(database.prepare("SELECT coalesce(max(generation), 0) FROM terms").pluck().get());
  }

  /** Writes the words of one taking in, and tells its generation. */
  async write({ lengths, counts }: SectionTerms): Promise<number> {
    this.#lastGeneration += 1;
    const generation = this.#lastGeneration;
    const insert = this.#database.prepare("INSERT INTO terms VALUES (?, ?, ?)");
    const write = this.#database.transaction((rows: readonly (readonly [string, readonly number[]])[]) => {
      for (const [term, found] of rows) insert.run(generation, term, JSON.stringify(found));
    });
    const rows = [[LENGTHS, lengths] as const, ...counts];
    try {
      for (let at = 0; at < rows.length; at += AT_ONCE) {
        write(rows.slice(at, at + AT_ONCE));
        // oxlint-disable-next-line no-await-in-loop -- one part after another is the point
        await setImmediate();
      }
    } catch (error) {
      await this.drop(generation);
      throw error;
    }
    return generation;
  }

  /** Never fails: what cannot be dropped now is dropped when the file is opened again. */
  async drop(generation: number): Promise<void> {
    const drop =
      "DELETE FROM terms WHERE generation = @generation AND term IN (SELECT term FROM terms WHERE generation = @generation LIMIT @limit)";
    try {
      while (this.#database.prepare(drop).run({ generation, limit: AT_ONCE }).changes === AT_ONCE) {
        // oxlint-disable-next-line no-await-in-loop -- one part after another is the point
        await setImmediate();
      }
    } catch {
      // The document is as its caller wants it.
    }
  }

  /** The words of each section of what was taken in under a generation. */
  lengths(generation: number): readonly number[] {
    return this.find(generation, LENGTHS) ?? [];
  }

  /** Where a word stands in what was taken in under a generation. */
  find(generation: number, word: string): readonly number[] | undefined {
    const query = "SELECT counts FROM terms WHERE generation = ? AND term = ?";
    const counts: unknown = this.#database.prepare(query).pluck().get(generation, word);
    // As it was written above.
    return typeof counts === "string" ? JSON.parse(counts) : undefined;
  }
}
