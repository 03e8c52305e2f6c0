-- Letters to sessions that another process may be running, and files that hold foreign words.

-- AUTOINCREMENT: the number of a letter is never used twice. `letter` is JSON.
CREATE TABLE mail (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    session TEXT NOT NULL,
    sender TEXT NOT NULL,
    ts BIGINT NOT NULL,
    letter TEXT NOT NULL
);

CREATE INDEX mail_session ON mail (session);

-- A mark outlives the session that wrote the file: the words are still foreign.
CREATE TABLE marks (
    workspace TEXT NOT NULL,
    path TEXT NOT NULL,
    origin TEXT NOT NULL,
    session TEXT NOT NULL,
    ts BIGINT NOT NULL,
    PRIMARY KEY (workspace, path)
) WITHOUT ROWID;
