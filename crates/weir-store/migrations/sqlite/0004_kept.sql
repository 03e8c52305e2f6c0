-- What was made or accepted once and counts from then on: recipes, dynamic tools, schedules, pins of
-- foreign servers and plugins. `text` is the whole of it as JSON; `state` is its kind's own word.

CREATE TABLE kept (
    what TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    hash TEXT NOT NULL,
    version BIGINT NOT NULL,
    label TEXT NOT NULL,
    by TEXT NOT NULL,
    ts BIGINT NOT NULL,
    PRIMARY KEY (what, name)
) WITHOUT ROWID;
