-- Sessions from before that may wait, of all people: within this transaction the owner of the tables
-- is not bound. Those of sub-agents are told by the session that started them. Done again when rows of
-- an earlier version were copied in: what is there stays. What is taken for open and is not any more, the
-- next facts of its session put right. Which runs ended is not looked for: nobody is told of the past.
-- JSON's escaped NUL, which this database takes in no text, is in no name.
ALTER TABLE asks NO FORCE ROW LEVEL SECURITY;
ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE facts NO FORCE ROW LEVEL SECURITY;

WITH said AS MATERIALIZED (SELECT f.owner, f.session, f.seq, f.kind,
            replace(f.payload, '\u0000', '\u0001')::jsonb AS payload
        FROM sessions w JOIN facts f ON f.owner = w.owner AND f.session = w.id
        WHERE w.status IN ('waiting', 'running', 'needs_input') AND w.id !~ '_c[0-9]+$'
            AND f.kind IN ('approval.requested', 'approval.resolved', 'question.asked',
                'question.answered', 'agent.asked', 'agent.answered', 'agent.finished')),
    asked AS (SELECT owner, session, seq, payload ->> 'agent' AS agent, CASE kind
            WHEN 'approval.requested' THEN payload ->> 'approval'
            WHEN 'question.asked' THEN payload ->> 'question'
            ELSE payload #>> '{request,approval}' END AS name
        FROM said WHERE kind IN ('approval.requested', 'question.asked', 'agent.asked')),
    answered AS (SELECT owner, session, CASE kind
            WHEN 'question.answered' THEN payload ->> 'question'
            ELSE payload ->> 'approval' END AS name
        FROM said WHERE kind IN ('approval.resolved', 'question.answered', 'agent.answered'))
INSERT INTO asks (owner, session, name, seq)
    SELECT a.owner, a.session, a.name, max(a.seq) FROM asked a
    WHERE a.name IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM answered b
            WHERE b.owner = a.owner AND b.session = a.session AND b.name = a.name)
        AND NOT EXISTS (SELECT 1 FROM said d WHERE d.kind = 'agent.finished' AND d.owner = a.owner
            AND d.session = a.session AND d.seq > a.seq AND d.payload ->> 'agent' = a.agent)
    GROUP BY a.owner, a.session, a.name
ON CONFLICT (owner, session, name) DO NOTHING;

ALTER TABLE asks FORCE ROW LEVEL SECURITY;
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE facts FORCE ROW LEVEL SECURITY;
