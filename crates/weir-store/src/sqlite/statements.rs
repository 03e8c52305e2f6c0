//! The SQL of the writer: one statement for one row, prepared once and kept.

/// The end of the audit chain.
pub(super) const AUDIT_END: &str = "SELECT n, hash FROM audit WHERE n = (SELECT max(n) FROM audit)";

pub(super) const EXPORTED: &str = "SELECT value FROM settings WHERE key = 'audit_exported'";

/// Which agent began a session.
pub(super) const AGENT: &str = "SELECT agent FROM agent_runs WHERE session = ?1";

pub(super) const FACT: &str = "INSERT INTO facts (session, seq, ts, kind, v, payload, hash)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

pub(super) const AUDIT: &str =
    "INSERT INTO audit (n, session, ts, entry, hash) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Kind and time are those of the fact, which may be an earlier one.
pub(super) const PASSAGE: &str =
    "INSERT INTO passages (session, seq, call, subject, text, kind, ts) VALUES (?1, ?2, ?3, ?4, ?5,
    coalesce((SELECT f.kind FROM facts f WHERE f.session = ?1 AND f.seq = ?2), ''),
    coalesce((SELECT f.ts FROM facts f WHERE f.session = ?1 AND f.seq = ?2), 0))";

pub(super) const SESSION: &str = "UPDATE sessions SET facts = ?2, last_hash = ?3, workspace = ?4,
  title = ?5, model = ?6, profile = ?7, status = ?8, created = ?9, updated = ?10, parent = ?11
  WHERE id = ?1";

pub(super) const USAGE: &str = "INSERT INTO usage (day, model, profile, agent, input, output,
    cache_read, cache_write, reasoning, cost, unpriced, replies, runs)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
  ON CONFLICT DO UPDATE SET input = usage.input + excluded.input,
    output = usage.output + excluded.output, cache_read = usage.cache_read + excluded.cache_read,
    cache_write = usage.cache_write + excluded.cache_write,
    reasoning = usage.reasoning + excluded.reasoning, cost = usage.cost + excluded.cost,
    unpriced = usage.unpriced + excluded.unpriced, replies = usage.replies + excluded.replies,
    runs = usage.runs + excluded.runs";

pub(super) const NOTE_EXPORTED: &str = "INSERT INTO settings (key, value)
  VALUES ('audit_exported', ?1) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

pub(super) const BLOB_REF: &str =
    "INSERT INTO blob_refs (session, blob) VALUES (?1, ?2) ON CONFLICT DO NOTHING";

pub(super) const BLOB: &str =
    "INSERT INTO blobs (id, bytes, created) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING";

pub(super) const AUDIT_RANGE: &str = "SELECT a.n, a.ts, a.session, a.entry, a.hash,
  (SELECT p.hash FROM audit p WHERE p.n = a.n - 1) AS prev
  FROM audit a WHERE a.n >= ?1 AND a.n <= ?2 ORDER BY a.n LIMIT ?3";

pub(super) const LEASE: &str = "SELECT epoch, owner_pid, owner_started, owner_host, owner_label,
  facts, last_hash FROM sessions WHERE id = ?1";

pub(super) const ACQUIRE: &str = "INSERT INTO sessions
  (id, epoch, owner_pid, owner_started, owner_host, owner_label, facts, last_hash)
  VALUES (?1, 1, ?2, ?3, ?4, ?5, 0, ?6)
  ON CONFLICT (id) DO UPDATE SET epoch = sessions.epoch + 1, owner_pid = excluded.owner_pid,
    owner_started = excluded.owner_started, owner_host = excluded.owner_host,
    owner_label = excluded.owner_label
  RETURNING epoch";

pub(super) const RELEASE: &str = "UPDATE sessions SET owner_pid = NULL, owner_started = NULL,
  owner_host = NULL, owner_label = NULL WHERE id = ?1 AND epoch = ?2";

/// What goes with a deleted session.
pub(super) const DELETE: &[&str] = &[
    "INSERT INTO passages_words (passages_words, rowid, text)
       SELECT 'delete', id, text FROM passages WHERE session = ?1 AND id <= coalesce(
         (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0)",
    "DELETE FROM passages WHERE session = ?1",
    "DELETE FROM facts WHERE session = ?1",
    "DELETE FROM blobs WHERE id IN (SELECT blob FROM blob_refs WHERE session = ?1)
       AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = blobs.id AND r.session <> ?1)",
    "DELETE FROM blob_refs WHERE session = ?1",
    "DELETE FROM mail WHERE session = ?1",
    "DELETE FROM memories_said WHERE session = ?1",
    "DELETE FROM solved_runs WHERE session = ?1",
    "DELETE FROM asks WHERE session = ?1",
    "DELETE FROM ended_runs WHERE session = ?1",
    "DELETE FROM snapshots WHERE session = ?1",
    "DELETE FROM looks WHERE session = ?1",
];

/// What is left of a deleted session is its id and its epoch.
pub(super) const EMPTY_SESSION: &str = "UPDATE sessions SET epoch = epoch + 1, owner_pid = NULL,
  owner_started = NULL, owner_host = NULL, owner_label = NULL, facts = 0, last_hash = ?2,
  workspace = NULL, title = NULL, model = NULL, profile = NULL, status = NULL, created = NULL,
  updated = NULL, parent = NULL WHERE id = ?1";

/// Moves passages that were written since the last time into the index of words, at most so many.
pub(super) const INDEX_WORDS: &str = "INSERT INTO passages_words (rowid, text)
  SELECT id, text FROM passages WHERE id > coalesce(
    (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0)
  ORDER BY id LIMIT ?1";

/// Notes how far that came.
pub(super) const NOTE_INDEXED: &str = "INSERT INTO settings (key, value)
  SELECT 'passages_indexed', CAST(max(id) AS TEXT) FROM (
    SELECT id FROM passages WHERE id > coalesce(
      (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0)
    ORDER BY id LIMIT ?1) HAVING max(id) IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// Whether more wait.
pub(super) const HAS_UNINDEXED: &str = "SELECT EXISTS (SELECT 1 FROM passages WHERE id > coalesce(
  (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0))";

/// Whether there may be deleted text in the write-ahead log; which deletion noted that last.
pub(super) const UNCLEAN: &str = "SELECT value FROM settings WHERE key = 'log_unclean'";

/// By a number that no other deletion has: who clears the note of one leaves that of the next.
pub(super) const NOTE_UNCLEAN: &str =
    "INSERT INTO settings (key, value) VALUES ('log_unclean', lower(hex(randomblob(16))))
  ON CONFLICT (key) DO UPDATE SET value = excluded.value";

pub(super) const CLEAR_UNCLEAN: &str =
    "DELETE FROM settings WHERE key = 'log_unclean' AND value = ?1";
