-- What the first facts of a session come to for whoever looks at it (what it used), so that looking again
-- need not fold them again. Derived, as `snapshots` are.

CREATE TABLE looks (
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    seq BIGINT NOT NULL,
    record_hash TEXT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (session, kind)
);
