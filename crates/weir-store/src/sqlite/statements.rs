//! The SQL of the writer. Rows are inserted many at a time through statements of a fixed width
//! whose unused rows are NULL, so that the text is always the same and stays prepared; the usual
//! append (a few facts, a few audit lines) is one statement list and one round trip to the database
//! thread.

use std::sync::LazyLock;

/// Opens the transaction and looks at what the appends stand on: rows of nine columns are sessions,
/// of two the end of the audit chain, of one the exported mark, of three agents that began sessions. $2
/// are the sessions that were begun so, of which some of $1 are sub-agents.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE;
SELECT id, epoch, owner_pid, owner_started, owner_host, owner_label, facts, last_hash, 0
  FROM sessions WHERE id IN (SELECT value FROM json_each($1));
SELECT n, hash FROM audit WHERE n = (SELECT max(n) FROM audit);
SELECT value FROM settings WHERE key = 'audit_exported';
SELECT session, agent, 0 FROM agent_runs WHERE session IN (SELECT value FROM json_each($2))";

/// Rows of one table that are inserted together.
pub(super) struct InsertTable {
    head: &'static str,
    /// What is not bound but looked up: more columns after the bound ones.
    more: &'static str,
    tail: &'static str,
    pub(super) columns: usize,
}

pub(super) const FACTS: InsertTable = InsertTable {
    head: "INSERT INTO facts (session, seq, ts, kind, v, payload, hash)",
    more: "",
    tail: "",
    columns: 7,
};
pub(super) const AUDIT: InsertTable = InsertTable {
    head: "INSERT INTO audit (n, session, ts, entry, hash)",
    more: "",
    tail: "",
    columns: 5,
};
/// Kind and time are those of the fact, which may be an earlier one.
pub(super) const PASSAGES: InsertTable = InsertTable {
    head: "INSERT INTO passages (session, seq, call, subject, text, kind, ts)",
    more: ", COALESCE((SELECT f.kind FROM facts f WHERE f.session = column1 AND f.seq = column2), '')\
           , COALESCE((SELECT f.ts FROM facts f WHERE f.session = column1 AND f.seq = column2), 0)",
    tail: "",
    columns: 5,
};
pub(super) const REFS: InsertTable = InsertTable {
    head: "INSERT INTO blob_refs (session, blob)",
    more: "",
    tail: " ON CONFLICT DO NOTHING",
    columns: 2,
};
pub(super) const EXPORTED: InsertTable = InsertTable {
    head: "INSERT INTO settings (key, value)",
    more: "",
    tail: " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    columns: 2,
};
pub(super) const USAGE: InsertTable = InsertTable {
    head: "INSERT INTO usage (day, model, profile, agent, input, output, cache_read, cache_write,
      reasoning, cost, unpriced, replies, runs)",
    more: "",
    tail: " ON CONFLICT DO UPDATE SET input = usage.input + excluded.input,
      output = usage.output + excluded.output, cache_read = usage.cache_read + excluded.cache_read,
      cache_write = usage.cache_write + excluded.cache_write,
      reasoning = usage.reasoning + excluded.reasoning, cost = usage.cost + excluded.cost,
      unpriced = usage.unpriced + excluded.unpriced, replies = usage.replies + excluded.replies,
      runs = usage.runs + excluded.runs",
    columns: 13,
};
/// Parameters of one row of [`sessions_update`].
pub(super) const SESSION_COLUMNS: usize = 11;

impl InsertTable {
    /// Inserts `rows` rows whose parameters begin at `first`.
    fn insert(&self, rows: usize, first: usize) -> String {
        let columns: Vec<String> = (1..=self.columns).map(|n| format!("column{n}")).collect();
        format!(
            "{} SELECT {}{} FROM (VALUES {}) WHERE column1 IS NOT NULL{}",
            self.head,
            columns.join(", "),
            self.more,
            values_clause(rows, self.columns, first),
            self.tail
        )
    }
}

fn sessions_update(rows: usize, first: usize) -> String {
    format!(
        "UPDATE sessions SET facts = v.column2, last_hash = v.column3, workspace = v.column4, \
         title = v.column5, model = v.column6, profile = v.column7, status = v.column8, \
         created = v.column9, updated = v.column10, parent = v.column11 \
         FROM (VALUES {}) AS v WHERE sessions.id = v.column1",
        values_clause(rows, SESSION_COLUMNS, first)
    )
}

fn values_clause(rows: usize, columns: usize, first: usize) -> String {
    let row = |at: usize| {
        let cells: Vec<String> =
            (0..columns).map(|column| format!("${}", first + at * columns + column)).collect();
        format!("({})", cells.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// Rows of each table in [`SMALL`], in the order of its parameters.
pub(super) const SMALL_FACTS: usize = 8;
pub(super) const SMALL_AUDIT: usize = 4;
pub(super) const SMALL_PASSAGES: usize = 4;
pub(super) const SMALL_SESSIONS: usize = 1;
pub(super) const SMALL_EXPORTED: usize = 1;
pub(super) const SMALL_USAGE: usize = 1;
/// Rows of each wide statement.
pub(super) const WIDE: usize = 64;

/// A whole usual append, with its commit.
pub(super) static SMALL: LazyLock<&'static str> = LazyLock::new(|| {
    let facts = 1;
    let audit = facts + SMALL_FACTS * FACTS.columns;
    let passages = audit + SMALL_AUDIT * AUDIT.columns;
    let sessions = passages + SMALL_PASSAGES * PASSAGES.columns;
    let usage = sessions + SMALL_SESSIONS * SESSION_COLUMNS;
    let exported = usage + SMALL_USAGE * USAGE.columns;
    let parts = [
        FACTS.insert(SMALL_FACTS, facts),
        AUDIT.insert(SMALL_AUDIT, audit),
        PASSAGES.insert(SMALL_PASSAGES, passages),
        sessions_update(SMALL_SESSIONS, sessions),
        USAGE.insert(SMALL_USAGE, usage),
        EXPORTED.insert(SMALL_EXPORTED, exported),
        "COMMIT".to_string(),
    ];
    parts.join(";\n").leak()
});

pub(super) static WIDE_FACTS: LazyLock<&'static str> =
    LazyLock::new(|| FACTS.insert(WIDE, 1).leak());
pub(super) static WIDE_AUDIT: LazyLock<&'static str> =
    LazyLock::new(|| AUDIT.insert(WIDE, 1).leak());
pub(super) static WIDE_PASSAGES: LazyLock<&'static str> =
    LazyLock::new(|| PASSAGES.insert(WIDE, 1).leak());
pub(super) static WIDE_REFS: LazyLock<&'static str> = LazyLock::new(|| REFS.insert(WIDE, 1).leak());
pub(super) static WIDE_SESSIONS: LazyLock<&'static str> =
    LazyLock::new(|| sessions_update(WIDE, 1).leak());
pub(super) static USAGE_ONE: LazyLock<&'static str> = LazyLock::new(|| USAGE.insert(1, 1).leak());
pub(super) static EXPORTED_ONE: LazyLock<&'static str> =
    LazyLock::new(|| EXPORTED.insert(1, 1).leak());

pub(super) const BLOB: &str =
    "INSERT INTO blobs (id, bytes, created) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";

/// Of two marks of one file the later one stays.
pub(super) const AUDIT_RANGE: &str = "SELECT a.n, a.ts, a.session, a.entry, a.hash,
  (SELECT p.hash FROM audit p WHERE p.n = a.n - 1) AS prev
  FROM audit a WHERE a.n >= $1 AND a.n <= $2 ORDER BY a.n LIMIT $3";

pub(super) const LEASE: &str = "SELECT epoch, owner_pid, owner_started, owner_host, owner_label,
  facts, last_hash FROM sessions WHERE id = $1";

pub(super) const ACQUIRE: &str = "INSERT INTO sessions
  (id, epoch, owner_pid, owner_started, owner_host, owner_label, facts, last_hash)
  VALUES ($1, 1, $2, $3, $4, $5, 0, $6)
  ON CONFLICT (id) DO UPDATE SET epoch = sessions.epoch + 1, owner_pid = excluded.owner_pid,
    owner_started = excluded.owner_started, owner_host = excluded.owner_host,
    owner_label = excluded.owner_label
  RETURNING epoch";

pub(super) const RELEASE: &str = "UPDATE sessions SET owner_pid = NULL, owner_started = NULL,
  owner_host = NULL, owner_label = NULL WHERE id = $1 AND epoch = $2";

/// What is left of a deleted session is its id and its epoch.
pub(super) const DELETE: &str = "INSERT INTO passages_words (passages_words, rowid, text)
  SELECT 'delete', id, text FROM passages WHERE session = $1 AND id <= COALESCE(
    (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0);
DELETE FROM passages WHERE session = $1;
DELETE FROM facts WHERE session = $1;
DELETE FROM blobs WHERE id IN (SELECT blob FROM blob_refs WHERE session = $1)
  AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.blob = blobs.id AND r.session <> $1);
DELETE FROM blob_refs WHERE session = $1;
DELETE FROM mail WHERE session = $1;
DELETE FROM memories_said WHERE session = $1;
DELETE FROM solved_runs WHERE session = $1;
DELETE FROM asks WHERE session = $1;
DELETE FROM ended_runs WHERE session = $1;
DELETE FROM snapshots WHERE session = $1;
UPDATE sessions SET epoch = epoch + 1, owner_pid = NULL, owner_started = NULL, owner_host = NULL,
  owner_label = NULL, facts = 0, last_hash = $2, workspace = NULL, title = NULL, model = NULL,
  profile = NULL, status = NULL, created = NULL, updated = NULL, parent = NULL WHERE id = $1";

/// Moves passages that were written since the last time into the index of words, at most `$1` of
/// them, and answers how far it came.
pub(super) const INDEX: &str = "INSERT INTO passages_words (rowid, text)
  SELECT id, text FROM passages WHERE id > COALESCE(
    (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0)
  ORDER BY id LIMIT $1;
INSERT INTO settings (key, value) SELECT 'passages_indexed', CAST(max(id) AS TEXT) FROM (
  SELECT id FROM passages WHERE id > COALESCE(
    (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0)
  ORDER BY id LIMIT $1) HAVING max(id) IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET value = excluded.value;
SELECT count(*) FROM (SELECT 1 FROM passages WHERE id > COALESCE(
    (SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'passages_indexed'), 0) LIMIT 1)";
