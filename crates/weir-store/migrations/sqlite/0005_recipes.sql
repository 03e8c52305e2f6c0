-- How often recipes worked, and the runs from which recipes may be made. Both are written with the
-- facts that they follow from. `calls` and `label` are JSON.

CREATE TABLE recipe_counts (
    recipe TEXT NOT NULL PRIMARY KEY,
    successes BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    last_used BIGINT
) WITHOUT ROWID;

CREATE TABLE solved_runs (
    session TEXT NOT NULL,
    run BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    profile TEXT NOT NULL,
    ts BIGINT NOT NULL,
    said TEXT NOT NULL,
    calls TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (session, run)
) WITHOUT ROWID;

CREATE INDEX solved_runs_by_time ON solved_runs (ts);
