-- The fold of the first facts of a session, so that opening it need not fold them again. Derived: a row
-- that is gone costs time, and one that does not fit its journal or the program is not used.

CREATE TABLE snapshots (
    session TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    record_hash TEXT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL
);
