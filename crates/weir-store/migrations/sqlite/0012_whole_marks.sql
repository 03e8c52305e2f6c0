-- The whole path of what is marked, whichever folder it was marked in: whoever asks what is marked above or
-- below a folder asks by it, and does not read the marks of all other folders.

ALTER TABLE marks ADD COLUMN whole TEXT GENERATED ALWAYS AS (CASE WHEN substr(path, 1, 1) = '/' THEN path
    ELSE rtrim(workspace, '/') || '/' || path END) VIRTUAL;

CREATE INDEX marks_whole ON marks (whole);
