-- Runs of scheduled agents (M7). A row is a claim: whoever writes it first has the tick, for ever.
-- `holder` is the process that has the run (an Owner as JSON); NULL: whoever takes it. The agents
-- themselves are in `kept`.

CREATE TABLE agent_runs (
    id INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    tick TEXT NOT NULL,
    cause TEXT NOT NULL,
    owner TEXT NOT NULL,
    due BIGINT NOT NULL,
    state TEXT NOT NULL,
    session TEXT,
    claimed BIGINT NOT NULL,
    started BIGINT,
    finished BIGINT,
    note TEXT NOT NULL,
    holder TEXT,
    UNIQUE (agent, tick)
);

CREATE INDEX agent_runs_open ON agent_runs (agent) WHERE finished IS NULL;
CREATE INDEX agent_runs_ticks ON agent_runs (agent, due) WHERE cause = 'cron';
CREATE INDEX agent_runs_started ON agent_runs (started);
