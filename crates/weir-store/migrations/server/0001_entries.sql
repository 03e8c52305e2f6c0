-- What a server keeps beside sessions: people, sign-ins, settings, links. `text` is JSON; times are
-- microseconds since 1970 (UTC).

CREATE TABLE entries (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    version BIGINT NOT NULL,
    expires BIGINT,
    ts BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

CREATE INDEX entries_owner ON entries (owner);
CREATE INDEX entries_expires ON entries (expires) WHERE expires IS NOT NULL;
