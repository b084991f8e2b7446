/**
 * The event log, many events a row: see `event-segment.ts`. `body` comes last, so that a scan of the other columns never reads its pages.
 * `event_head` remembers the newest id ever given, `event_seqs` the counts of live sessions whose events were trimmed.
 */
export const eventLog = `
CREATE TABLE event_segments (
  first_id INTEGER PRIMARY KEY, last_id INTEGER NOT NULL, event_count INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  first_ts TEXT NOT NULL, newest_ts TEXT NOT NULL, names BLOB NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE TABLE event_head (id INTEGER PRIMARY KEY CHECK (id = 1), last_id INTEGER NOT NULL) STRICT;
INSERT INTO event_head (id, last_id) VALUES (1, 0);
CREATE TABLE event_seqs (session_id TEXT NOT NULL PRIMARY KEY, seq INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;
