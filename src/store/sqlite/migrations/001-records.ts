/**
 * What is looked up by name: idempotency, jobs, sessions, keys, audit.
 * Idempotency is written twice a call, so it has no index that only the rare marking and pruning would use.
 */
export const records = `
CREATE TABLE idempotency (
  tenant TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, state TEXT NOT NULL, instance TEXT NOT NULL,
  created_at INTEGER NOT NULL, answer TEXT,
  UNIQUE (tenant, key)
) STRICT;

CREATE TABLE jobs (
  tenant TEXT NOT NULL, id TEXT NOT NULL, worker_id TEXT NOT NULL, action TEXT NOT NULL, state TEXT NOT NULL,
  instance TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER, progress TEXT, answer TEXT,
  UNIQUE (tenant, id)
) STRICT;
CREATE INDEX jobs_newest ON jobs (tenant, created_at, id);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE sessions (
  id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, tenant TEXT NOT NULL, worker_id TEXT NOT NULL, resource TEXT NOT NULL,
  ttl_ms INTEGER NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, ended_at INTEGER,
  state TEXT NOT NULL, instance TEXT NOT NULL, config TEXT NOT NULL, handle TEXT
) STRICT;
CREATE INDEX sessions_live ON sessions (created_at, id) WHERE state = 'live';
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE keys (
  id TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, name TEXT NOT NULL, tenant TEXT NOT NULL, scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER
) STRICT;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, tenant TEXT, key_id TEXT, action TEXT NOT NULL,
  outcome TEXT NOT NULL, data TEXT NOT NULL
) STRICT;
CREATE INDEX audit_tenant ON audit (tenant, id);
`;
