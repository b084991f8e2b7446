import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type Driver from "better-sqlite3";
import { ToolyardError } from "../../core/errors.ts";
import { loadLibrary } from "../../documents/load-library.ts";
import type { DocumentParts, Figure } from "./read-parts.ts";
import type { Section } from "./outline.ts";
import type { RankedDocument, TermCounts } from "./rank-sections.ts";
import { countTerms } from "./section-terms.ts";
import { TERMS_SCHEMA, TermTable } from "./term-table.ts";

/** Whose documents they are. */
export interface Owner {
  readonly tenant: string;
  readonly workerId: string;
}

/** What is told of a document without its text. */
export interface DocumentFacts {
  readonly id: string;
  readonly title: string | null;
  readonly mediaType: string;
  /** Length of its text in UTF-16 code units. */
  readonly characters: number;
  readonly sections: readonly Section[];
  readonly tables: number;
  readonly figures: number;
}

/** A document that is kept; its figures are read apart, since they are large. */
export interface KeptDocument extends DocumentFacts {
  readonly text: string;
  /** Which taking in it is of, where its words have been counted. */
  readonly generation: number | null;
}

/** What a worker may have. */
export interface DocumentUsage {
  readonly documents: number;
  readonly characters: number;
}

/** What a search ranks by. */
export interface Searched {
  readonly documents: readonly (RankedDocument & { readonly generation: number })[];
  /** For each of the words, in their order. */
  readonly terms: readonly (readonly TermCounts[])[];
}

interface FactsRow {
  readonly id: string;
  readonly title: string | null;
  readonly media_type: string;
  readonly characters: number;
  readonly sections: string;
  readonly tables: number;
  readonly figures: number;
}

interface Row extends FactsRow {
  readonly text: string;
  readonly generation: number | null;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS documents (
    tenant TEXT NOT NULL, worker TEXT NOT NULL, id TEXT NOT NULL, title TEXT, media_type TEXT NOT NULL,
    text TEXT NOT NULL, sections TEXT NOT NULL, tables INTEGER NOT NULL, figures INTEGER NOT NULL,
    PRIMARY KEY (tenant, worker, id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS figures (
    tenant TEXT NOT NULL, worker TEXT NOT NULL, document TEXT NOT NULL, number INTEGER NOT NULL,
    media_type TEXT NOT NULL, base64 TEXT NOT NULL,
    PRIMARY KEY (tenant, worker, document, number),
    FOREIGN KEY (tenant, worker, document) REFERENCES documents (tenant, worker, id) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
`;
/** Since version 2 words are counted once; what was taken in before is counted when it is first searched. */
const COUNTED = `
  ALTER TABLE documents ADD COLUMN generation INTEGER;
  ALTER TABLE documents ADD COLUMN characters INTEGER;
  -- A search and an opening go by this, since columns behind a text are reached through all of its pages.
  CREATE INDEX documents_by_generation ON documents (tenant, worker, id, generation);
  ${TERMS_SCHEMA}
  PRAGMA user_version = 2;
`;
const FACTS = "id, title, media_type, coalesce(characters, length(text)) AS characters, sections, tables, figures";
const MINE = "tenant = @tenant AND worker = @workerId";

/** The file that is open, and its table of words. */
interface Opened {
  readonly database: Driver.Database;
  readonly terms: TermTable;
}

/** Keeps each worker's documents in one file of the data folder, or in memory without one. */
export class DocumentStore {
  readonly #folder: string | undefined;
  #opened: Promise<Opened> | undefined;

  constructor(dataDir: string | undefined) {
    this.#folder = dataDir === undefined ? undefined : join(dataDir, "doc");
  }

  /**
   * Keeps a document in place of one of the same id.
   *
   * @param check is told what its owner has beside it in the moment of its keeping, and throws where that is too much.
   */
  async put(owner: Owner, id: string, parts: DocumentParts, check?: (others: DocumentUsage) => void): Promise<void> {
    const { database, terms } = await this.#open();
    const { title, mediaType, text, sections, tables, figures } = parts;
    const generation = await terms.write(parts.terms);
    const row = {
      ...{ ...owner, id, title, mediaType, text, tables, generation },
      sections: JSON.stringify(sections),
      figures: figures.length,
      characters: text.length,
    };
    let replaced: number | null = null;
    try {
      database.transaction(() => {
        check?.(usageOf(database, owner, id));
        replaced = generationOf(database, owner, id);
        database.prepare(`DELETE FROM documents WHERE ${MINE} AND id = @id`).run({ ...owner, id });
        database
          .prepare(
            `INSERT INTO documents (tenant, worker, id, title, media_type, text, sections, tables, figures, generation, characters)
             VALUES (@tenant, @workerId, @id, @title, @mediaType, @text, @sections, @tables, @figures, @generation, @characters)`,
          )
          .run(row);
        const insert = database.prepare(
          "INSERT INTO figures VALUES (@tenant, @workerId, @id, @number, @media_type, @base64)",
        );
        for (const figure of figures) insert.run({ ...owner, id, ...figure });
      })();
    } catch (error) {
      await terms.drop(generation);
      throw error;
    }
    if (replaced !== null) await terms.drop(replaced);
  }

  async get(owner: Owner, id: string): Promise<KeptDocument | undefined> {
    const { database } = await this.#open();
    const query = `SELECT ${FACTS}, text, generation FROM documents WHERE ${MINE} AND id = @id`;
    // Of the columns that are named.
    const row = database.prepare(query).get({ ...owner, id }) as Row | undefined;
    return row === undefined ? undefined : toDocument(row);
  }

  /** All of an owner's, by id. */
  async all(owner: Owner): Promise<KeptDocument[]> {
    const { database } = await this.#open();
    const query = `SELECT ${FACTS}, text, generation FROM documents WHERE ${MINE} ORDER BY id`;
    // Of the columns that are named.
    return (database.prepare(query).all({ ...owner }) as Row[]).map(toDocument);
  }

  /** What there is to tell of all of an owner's, by id. */
  async list(owner: Owner): Promise<DocumentFacts[]> {
    const { database } = await this.#open();
    const rows = database.prepare(`SELECT ${FACTS} FROM documents WHERE ${MINE} ORDER BY id`).all({ ...owner });
    // Of the columns that are named.
    return (rows as FactsRow[]).map(toFacts);
  }

  /** Where words stand in an owner's documents: in those that are named, of which some may not be there, or in all. */
  async search(owner: Owner, ids: readonly string[] | undefined, words: readonly string[]): Promise<Searched> {
    const { database, terms } = await this.#open();
    await this.#countOld({ database, terms }, owner);
    const query = `SELECT id, generation FROM documents WHERE ${MINE} AND generation IS NOT NULL ORDER BY id`;
    // Of the columns that are named.
    const rows = database.prepare(query).all({ ...owner }) as { id: string; generation: number }[];
    const documents = rows
      .filter(({ id }) => ids === undefined || ids.includes(id))
      .map(({ id, generation }) => ({ id, generation, lengths: terms.lengths(generation) }));
    const found = words.map((word) =>
      documents.flatMap(({ id, generation }) => {
        const counts = terms.find(generation, word);
        return counts === undefined ? [] : [{ id, counts }];
      }),
    );
    return { documents, terms: found };
  }

  async delete(owner: Owner, id: string): Promise<boolean> {
    const { database, terms } = await this.#open();
    const generation = generationOf(database, owner, id);
    const { changes } = database.prepare(`DELETE FROM documents WHERE ${MINE} AND id = @id`).run({ ...owner, id });
    if (generation !== null) await terms.drop(generation);
    return changes > 0;
  }

  async figure(owner: Owner, document: string, number: number): Promise<Figure | undefined> {
    const { database } = await this.#open();
    const query = `SELECT number, media_type, base64 FROM figures WHERE ${MINE} AND document = @document AND number = @number`;
    // Of the columns that are named.
    return database.prepare(query).get({ ...owner, document, number }) as Figure | undefined;
  }

  /** What an owner has without one document. */
  async usage(owner: Owner, without: string): Promise<DocumentUsage> {
    return usageOf((await this.#open()).database, owner, without);
  }

  async close(): Promise<void> {
    const opened = await this.#opened;
    this.#opened = undefined;
    opened?.database.close();
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#connect().catch((error: unknown) => {
      // The next call tries again: a full disk need not stay full.
      this.#opened = undefined;
      if (ToolyardError.is(error)) throw error;
      throw new ToolyardError("dependency_failed", "the file that documents are kept in cannot be opened", {
        cause: error,
      });
    });
    return this.#opened;
  }

  async #connect(): Promise<Opened> {
    const { default: Sqlite } = await loadLibrary("better-sqlite3", () => import("better-sqlite3"));
    if (this.#folder !== undefined) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const database = new Sqlite(this.#folder === undefined ? ":memory:" : join(this.#folder, "documents.sqlite"), {
      timeout: 10_000,
    });
    database.pragma("journal_mode = WAL");
    database.pragma("foreign_keys = ON");
    database.exec(SCHEMA);
    if (Number(database.pragma("user_version", { simple: true })) < 2) database.exec(`BEGIN; ${COUNTED} COMMIT`);
    return { database, terms: new TermTable(database) };
  }

  /** Counts the words of what an earlier version took in. */
  async #countOld({ database, terms }: Opened, owner: Owner): Promise<void> {
    const old = database.prepare(`SELECT id FROM documents WHERE ${MINE} AND generation IS NULL`).pluck();
    for (const id of old.all({ ...owner }).map(String)) {
      // oxlint-disable-next-line no-await-in-loop -- one after another: each holds the thread for a while
      const document = await this.get(owner, id);
      if (document === undefined || document.generation !== null) continue;
      const { text, sections } = document;
      const counted = countTerms(text, sections);
      // oxlint-disable-next-line no-await-in-loop
      const generation = await terms.write(counted);
      const { changes } = database
        .prepare(
          `UPDATE documents SET generation = @generation, characters = @characters
           WHERE ${MINE} AND id = @id AND generation IS NULL`,
        )
        .run({ ...owner, id, generation, characters: text.length });
      // oxlint-disable-next-line no-await-in-loop
      if (changes === 0) await terms.drop(generation);
    }
  }
}

function usageOf(database: Driver.Database, owner: Owner, without: string): DocumentUsage {
  const query = `SELECT count(*) AS documents, coalesce(sum(coalesce(characters, length(text))), 0) AS characters FROM documents WHERE ${MINE} AND id <> @without`;
  // Of the columns that are named.
  return database.prepare(query).get({ ...owner, without }) as DocumentUsage;
}

function generationOf(database: Driver.Database, owner: Owner, id: string): number | null {
  const query = `SELECT generation FROM documents WHERE ${MINE} AND id = @id`;
  const found: unknown = database
    .prepare(query)
    .pluck()
    .get({ ...owner, id });
  return typeof found === "number" ? found : null;
}

function toFacts({ id, title, media_type: mediaType, characters, sections, tables, figures }: FactsRow): DocumentFacts {
  return { id, title, mediaType, characters, sections: JSON.parse(sections), tables, figures };
}

function toDocument(row: Row): KeptDocument {
  const { text, generation } = row;
  return { ...toFacts(row), characters: text.length, text, generation };
}
