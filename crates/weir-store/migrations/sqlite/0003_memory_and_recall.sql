-- Passages with their place, so that they are found by kind, time, call and subject; facts that are
-- remembered beyond a session; what waits for a person to accept it.

ALTER TABLE passages ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE passages ADD COLUMN ts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE passages ADD COLUMN call TEXT;
ALTER TABLE passages ADD COLUMN subject TEXT NOT NULL DEFAULT '';

UPDATE passages SET kind = f.kind, ts = f.ts
    FROM facts f WHERE f.session = passages.session AND f.seq = passages.seq;

-- Everything but the text: a passage is judged without reading its page.
DROP INDEX passages_session;
CREATE INDEX passages_place ON passages (session, id, kind, ts, call, subject);

-- `fact` is the whole fact as JSON; the other columns are what is filtered by. A rejected fact
-- stays, so that it is not proposed again.
CREATE TABLE memories (
    n INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    workspace TEXT,
    status TEXT NOT NULL,
    updated BIGINT NOT NULL,
    fact TEXT NOT NULL
);

CREATE INDEX memories_newest ON memories (updated, status, workspace);

CREATE VIRTUAL TABLE memories_words USING fts5 (
    text,
    topics,
    tokenize = 'unicode61 remove_diacritics 2'
);

-- Who said a fact: a call that recovery repeats says nothing new. `call` is empty where a session
-- said it without one.
CREATE TABLE memories_said (
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    PRIMARY KEY (id, session, call)
) WITHOUT ROWID;

CREATE INDEX memories_said_session ON memories_said (session);

-- `source` and `label` are JSON.
CREATE TABLE proposals (
    what TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    source TEXT NOT NULL,
    label TEXT NOT NULL,
    ts BIGINT NOT NULL,
    PRIMARY KEY (what, name)
) WITHOUT ROWID;
