-- What the first facts of a session come to for whoever looks at it (what it used), so that looking again
-- need not fold them again. Derived, as `snapshots` are: backups leave it out.

CREATE TABLE looks (
    owner TEXT NOT NULL DEFAULT current_setting('weir.owner'),
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    seq BIGINT NOT NULL,
    record_hash TEXT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (owner, session, kind)
);

ALTER TABLE looks ENABLE ROW LEVEL SECURITY;
ALTER TABLE looks FORCE ROW LEVEL SECURITY;
CREATE POLICY weir_owner ON looks
    USING (owner = current_setting('weir.owner', true))
    WITH CHECK (owner = current_setting('weir.owner', true));
