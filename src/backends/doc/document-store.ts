import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type Driver from "better-sqlite3";
import { ToolyardError } from "../../core/errors.ts";
import { loadLibrary } from "../../documents/load-library.ts";
import type { DocumentParts, Figure } from "./read-parts.ts";
import type { Section } from "./outline.ts";

/** Whose documents they are. */
export interface Owner {
  readonly tenant: string;
  readonly workerId: string;
}

/** A document that is kept; its figures are read apart, since they are large. */
export interface KeptDocument {
  readonly id: string;
  readonly title: string | null;
  readonly mediaType: string;
  readonly text: string;
  readonly sections: readonly Section[];
  readonly tables: number;
  readonly figures: number;
}

interface Row {
  readonly id: string;
  readonly title: string | null;
  readonly media_type: string;
  readonly text: string;
  readonly sections: string;
  readonly tables: number;
  readonly figures: number;
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
  PRAGMA user_version = 1;
`;
const COLUMNS = "id, title, media_type, text, sections, tables, figures";
const MINE = "tenant = @tenant AND worker = @workerId";

/** Keeps each worker's documents in one file of the data folder, or in memory without one. */
export class DocumentStore {
  readonly #folder: string | undefined;
  #database: Promise<Driver.Database> | undefined;

  constructor(dataDir: string | undefined) {
    this.#folder = dataDir === undefined ? undefined : join(dataDir, "doc");
  }

  /** Keeps a document in place of one of the same id. */
  async put(owner: Owner, id: string, parts: DocumentParts): Promise<void> {
    const database = await this.#open();
    database.transaction(() => {
      database.prepare(`DELETE FROM documents WHERE ${MINE} AND id = @id`).run({ ...owner, id });
      const { title, mediaType, text, sections, tables, figures } = parts;
      const row = {
        ...owner,
        id,
        title,
        mediaType,
        text,
        sections: JSON.stringify(sections),
        tables,
        figures: figures.length,
      };
      database
        .prepare(
          "INSERT INTO documents VALUES (@tenant, @workerId, @id, @title, @mediaType, @text, @sections, @tables, @figures)",
        )
        .run(row);
      const insert = database.prepare(
        "INSERT INTO figures VALUES (@tenant, @workerId, @id, @number, @media_type, @base64)",
      );
      for (const figure of figures) insert.run({ ...owner, id, ...figure });
    })();
  }

  async get(owner: Owner, id: string): Promise<KeptDocument | undefined> {
    const database = await this.#open();
    const row = database.prepare(`SELECT ${COLUMNS} FROM documents WHERE ${MINE} AND id = @id`).get({ ...owner, id });
    // Of the columns that are named.
    return row === undefined ? undefined : toDocument(row as Row);
  }

  /** All of an owner's, by id. */
  async list(owner: Owner): Promise<KeptDocument[]> {
    const database = await this.#open();
    const rows = database.prepare(`SELECT ${COLUMNS} FROM documents WHERE ${MINE} ORDER BY id`).all({ ...owner });
    // Of the columns that are named.
    return (rows as Row[]).map(toDocument);
  }

  async delete(owner: Owner, id: string): Promise<boolean> {
    const database = await this.#open();
    return database.prepare(`DELETE FROM documents WHERE ${MINE} AND id = @id`).run({ ...owner, id }).changes > 0;
  }

  async figure(owner: Owner, document: string, number: number): Promise<Figure | undefined> {
    const database = await this.#open();
    const query = `SELECT number, media_type, base64 FROM figures WHERE ${MINE} AND document = @document AND number = @number`;
    // Of the columns that are named.
    return database.prepare(query).get({ ...owner, document, number }) as Figure | undefined;
  }

  /** How many an owner has, and of how many characters, without one. */
  async usage(owner: Owner, without: string): Promise<{ readonly documents: number; readonly characters: number }> {
    const database = await this.#open();
    const query = `SELECT count(*) AS documents, coalesce(sum(length(text)), 0) AS characters FROM documents WHERE ${MINE} AND id <> @without`;
    return database.prepare(query).get({ ...owner, without }) as { documents: number; characters: number };
  }

  async close(): Promise<void> {
    const database = await this.#database;
    this.#database = undefined;
    database?.close();
  }

  #open(): Promise<Driver.Database> {
    this.#database ??= this.#connect().catch((error: unknown) => {
      // The next call tries again: a full disk need not stay full.
      this.#database = undefined;
      if (ToolyardError.is(error)) throw error;
      throw new ToolyardError("dependency_failed", "the file that documents are kept in cannot be opened", {
        cause: error,
      });
    });
    return this.#database;
  }

  async #connect(): Promise<Driver.Database> {
    const { default: Sqlite } = await loadLibrary("better-sqlite3", () => import("better-sqlite3"));
    if (this.#folder !== undefined) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const database = new Sqlite(this.#folder === undefined ? ":memory:" : join(this.#folder, "documents.sqlite"), {
      timeout: 10_000,
    });
    database.pragma("journal_mode = WAL");
    database.pragma("foreign_keys = ON");
    database.exec(SCHEMA);
    return database;
  }
}

function toDocument({ media_type: mediaType, sections, ...row }: Row): KeptDocument {
  return { ...row, mediaType, sections: JSON.parse(sections) };
}
