/** The steps from an empty file to today's, in order; `user_version` counts those that were taken. A released one never changes. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO state VALUES ('generation', 0);

  -- Visible in generation g when added <= g and (removed is null or removed > g).
  CREATE TABLE documents (
    document INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    title TEXT,
    source TEXT,
    media_type TEXT NOT NULL,
    metadata TEXT,
    digest BLOB NOT NULL,
    characters INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    indexed_at INTEGER NOT NULL,
    added INTEGER NOT NULL,
    removed INTEGER
  ) STRICT;
  CREATE INDEX documents_id ON documents (id, document);
  CREATE INDEX documents_removed ON documents (removed) WHERE removed IS NOT NULL;
  CREATE INDEX documents_added ON documents (added);

  CREATE TABLE text_parts (
    document INTEGER NOT NULL, start_at INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (document, start_at)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE chunks (
    chunk INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    start_at INTEGER NOT NULL,
    end_at INTEGER NOT NULL,
    heading TEXT,
    digest BLOB NOT NULL
  ) STRICT;

  CREATE TABLE segments (
    segment INTEGER PRIMARY KEY AUTOINCREMENT,
    chunks INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    ids BLOB NOT NULL,
    lengths BLOB NOT NULL,
    added INTEGER NOT NULL,
    removed INTEGER
  ) STRICT;

  CREATE TABLE postings (
    segment INTEGER NOT NULL, term TEXT NOT NULL, chunks INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (segment, term)
  ) STRICT, WITHOUT ROWID;

  -- Chunks whose rows are gone but which a segment still lists.
  CREATE TABLE dead (chunk INTEGER PRIMARY KEY) STRICT;

  -- Documents of the shared collection beneath that are not to be seen through this overlay.
  CREATE TABLE hidden (
    id TEXT NOT NULL, added INTEGER NOT NULL, removed INTEGER, PRIMARY KEY (id, added)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE vectors (
    model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, digest)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- What latent semantic analysis learned, and each segment's vectors by it; both can be made again from the postings.
  CREATE TABLE semantic_models (
    model INTEGER PRIMARY KEY AUTOINCREMENT,
    rank INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    terms TEXT NOT NULL,
    weights BLOB NOT NULL,
    basis BLOB NOT NULL
  ) STRICT;
  CREATE TABLE semantic_vectors (
    model INTEGER NOT NULL, segment INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, segment)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Vectors are bytes with a scale each now. What was learned is learned again after the next generation.
  DELETE FROM semantic_models;
  DELETE FROM semantic_vectors;
  `,
  `
  -- A segment's vectors lie in blocks, so that none is too large to be made or read at once. They are learned again, too.
  DELETE FROM semantic_models;
  DROP TABLE semantic_vectors;
  CREATE TABLE semantic_vectors (
    model INTEGER NOT NULL, segment INTEGER NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, segment, block)
  ) STRICT, WITHOUT ROWID;
  `,
];
