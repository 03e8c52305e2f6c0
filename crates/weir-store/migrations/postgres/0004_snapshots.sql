-- The fold of the first facts of a session, so that opening it need not fold them again. Derived: a row
-- that is gone costs time, and one that does not fit its journal or the program is not used. Backups
-- leave it out.

CREATE TABLE snapshots (
    owner TEXT NOT NULL DEFAULT current_setting('weir.owner'),
    session TEXT NOT NULL,
    seq BIGINT NOT NULL,
    record_hash TEXT NOT NULL,
    format TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (owner, session)
);

ALTER TABLE snapshots ENABLE ROW LEVEL SECURITY;
ALTER TABLE snapshots FORCE ROW LEVEL SECURITY;
CREATE POLICY weir_owner ON snapshots
    USING (owner = current_setting('weir.owner', true))
    WITH CHECK (owner = current_setting('weir.owner', true));
