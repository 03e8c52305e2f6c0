-- What waits for a person, and the last run that ended in each session: where the facts stand that
-- say so. Written with them; nothing here is not in the journals.

CREATE TABLE asks (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (session, name)
) WITHOUT ROWID;

CREATE TABLE ended_runs (
    session TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    ts BIGINT NOT NULL
) WITHOUT ROWID;

CREATE INDEX ended_runs_by_time ON ended_runs (ts);

-- Sessions from before that may wait; those of sub-agents are told by the session that started them.
-- What is taken for open and is not any more, the next facts of
-- its session put right. Which runs ended is not looked for: nobody is told of the past.
WITH waiting AS (SELECT id FROM sessions WHERE status IN ('waiting', 'running', 'needs_input')
        AND id NOT GLOB '*_c[0-9]*'),
    said AS (SELECT f.session, f.seq, f.kind, f.payload FROM waiting w
        JOIN facts f ON f.session = w.id
        WHERE f.kind IN ('approval.requested', 'approval.resolved', 'question.asked',
            'question.answered', 'agent.asked', 'agent.answered', 'agent.finished')
            AND json_valid(f.payload)),
    asked AS (SELECT session, seq, payload ->> '$.agent' AS agent, CASE kind
            WHEN 'approval.requested' THEN payload ->> '$.approval'
            WHEN 'question.asked' THEN payload ->> '$.question'
            ELSE payload ->> '$.request.approval' END AS name
        FROM said WHERE kind IN ('approval.requested', 'question.asked', 'agent.asked')),
    answered AS (SELECT session, CASE kind
            WHEN 'question.answered' THEN payload ->> '$.question'
            ELSE payload ->> '$.approval' END AS name
        FROM said WHERE kind IN ('approval.resolved', 'question.answered', 'agent.answered'))
INSERT INTO asks (session, name, seq)
    SELECT a.session, a.name, max(a.seq) FROM asked a
    WHERE a.name IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM answered b WHERE b.session = a.session AND b.name = a.name)
        AND NOT EXISTS (SELECT 1 FROM said d WHERE d.kind = 'agent.finished'
            AND d.session = a.session AND d.seq > a.seq AND d.payload ->> '$.agent' = a.agent)
    GROUP BY a.session, a.name;
