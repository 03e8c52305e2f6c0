-- Tokens and cost by day (UTC), model, profile and scheduled agent; written with the facts that they
-- are from, and kept when a session is deleted. `unpriced`: replies whose price nobody knows.

CREATE TABLE usage (
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    profile TEXT NOT NULL,
    agent TEXT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write BIGINT NOT NULL,
    reasoning BIGINT NOT NULL,
    cost REAL NOT NULL,
    unpriced BIGINT NOT NULL,
    replies BIGINT NOT NULL,
    runs BIGINT NOT NULL,
    PRIMARY KEY (day, model, profile, agent)
) WITHOUT ROWID;

CREATE INDEX agent_runs_session ON agent_runs (session) WHERE session IS NOT NULL;

-- Sessions from before: by the model and profile that each had last. What helper models used beside
-- them is not looked for; what a fork copied counts where it was.
INSERT INTO usage
    SELECT date(f.ts / 1000000, 'unixepoch'), coalesce(s.model, ''), coalesce(s.profile, ''),
        coalesce((SELECT r.agent FROM agent_runs r WHERE r.session = f.session LIMIT 1), ''),
        sum(min(coalesce(f.payload ->> '$.usage.input', 0), 1000000000000)),
        sum(min(coalesce(f.payload ->> '$.usage.output', 0), 1000000000000)),
        sum(min(coalesce(f.payload ->> '$.usage.cache_read', 0), 1000000000000)),
        sum(min(coalesce(f.payload ->> '$.usage.cache_write', 0), 1000000000000)),
        sum(min(coalesce(f.payload ->> '$.usage.reasoning', 0), 1000000000000)),
        sum(coalesce(f.payload ->> '$.cost_usd', 0.0)),
        sum((f.payload ->> '$.cost_usd') IS NULL),
        count(*),
        0
    FROM facts f JOIN sessions s ON s.id = f.session
    WHERE f.kind = 'model.replied' AND json_valid(f.payload) AND NOT EXISTS (SELECT 1 FROM facts o
        WHERE o.session = s.parent AND o.seq = f.seq AND o.ts = f.ts AND o.kind = f.kind)
    GROUP BY 1, 2, 3, 4;

INSERT INTO usage
    SELECT date(f.ts / 1000000, 'unixepoch'), coalesce(s.model, ''), coalesce(s.profile, ''),
        coalesce((SELECT r.agent FROM agent_runs r WHERE r.session = f.session LIMIT 1), ''),
        0, 0, 0, 0, 0, 0.0, 0, 0, count(*)
    FROM facts f JOIN sessions s ON s.id = f.session
    WHERE f.kind = 'run.finished' AND NOT EXISTS (SELECT 1 FROM facts o
        WHERE o.session = s.parent AND o.seq = f.seq AND o.ts = f.ts AND o.kind = f.kind)
    GROUP BY 1, 2, 3, 4
    ON CONFLICT DO UPDATE SET runs = excluded.runs;
