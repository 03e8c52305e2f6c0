-- The facts of a session that ask a person something, or say what became of it: found without reading
-- its journal, however long it is. Whoever asks by it names the same kinds.

CREATE INDEX facts_of_asks ON facts (owner, session, seq) WHERE kind IN ('approval.requested',
    'approval.resolved', 'question.asked', 'question.answered', 'agent.asked', 'agent.answered',
    'lease.revoked');
