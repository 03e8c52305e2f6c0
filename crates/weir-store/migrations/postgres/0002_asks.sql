-- What waits for a person, and the last run that ended in each session: where the facts stand that
-- say so. Written with them; nothing here is not in the journals.

CREATE TABLE asks (
    owner TEXT NOT NULL DEFAULT current_setting('weir.owner'),
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (owner, session, name)
);

CREATE TABLE ended_runs (
    owner TEXT NOT NULL DEFAULT current_setting('weir.owner'),
    session TEXT NOT NULL,
    seq BIGINT NOT NULL,
    ts BIGINT NOT NULL,
    PRIMARY KEY (owner, session)
);

CREATE INDEX ended_runs_by_time ON ended_runs (owner, ts);

DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['asks', 'ended_runs']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY weir_owner ON %I '
            'USING (owner = current_setting(''weir.owner'', true)) '
            'WITH CHECK (owner = current_setting(''weir.owner'', true))', name);
    END LOOP;
END
$$;
