-- Sessions with their lease and summary, facts, blobs, audit, settings, text to search.
--
-- Times are microseconds since 1970 (UTC), hashes lower-case hex. A row of `sessions` outlives the
-- deletion of its session (its epoch must never be used twice); its summary is emptied then.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    epoch BIGINT NOT NULL,
    owner_pid BIGINT,
    owner_started BIGINT,
    owner_host TEXT,
    owner_label TEXT,
    facts BIGINT NOT NULL,
    last_hash TEXT NOT NULL,
    workspace TEXT,
    title TEXT,
    model TEXT,
    profile TEXT,
    status TEXT,
    created BIGINT,
    updated BIGINT,
    parent TEXT
) WITHOUT ROWID;

-- With a rowid: facts of many sessions are written one after the other, and large ones fit a page.
CREATE TABLE facts (
    session TEXT NOT NULL,
    seq BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    kind TEXT NOT NULL,
    v INTEGER NOT NULL,
    payload TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE TABLE blobs (
    id TEXT PRIMARY KEY NOT NULL,
    bytes BLOB NOT NULL,
    created BIGINT NOT NULL
);

CREATE TABLE blob_refs (
    session TEXT NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (session, blob)
) WITHOUT ROWID;

CREATE INDEX blob_refs_blob ON blob_refs (blob);

-- `entry` is the exact text over which `hash` was computed.
CREATE TABLE audit (
    n INTEGER PRIMARY KEY NOT NULL,
    session TEXT NOT NULL,
    ts BIGINT NOT NULL,
    entry TEXT NOT NULL,
    hash TEXT NOT NULL
);

-- `paused`: the kill switch as JSON. `audit_exported`: the last audit line known to stand in its
-- file. `passages_indexed`: the last passage known to the index.
CREATE TABLE settings (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    session TEXT NOT NULL,
    seq BIGINT NOT NULL,
    text TEXT NOT NULL
);

CREATE INDEX passages_session ON passages (session);

CREATE VIRTUAL TABLE passages_words USING fts5 (
    text,
    content = 'passages',
    content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2'
);

-- What is deleted leaves no trace in the index.
INSERT INTO passages_words (passages_words, rank) VALUES ('secure-delete', 1);
