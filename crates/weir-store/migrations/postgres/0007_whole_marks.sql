-- The whole path of what is marked, whichever folder it was marked in: whoever asks what is marked above or
-- below a folder asks by it, and does not read all of their marks. The database fills it in, for rows of all
-- people and for those of a backup, which has it not. It is ordered by bytes, as ranges of paths are.

ALTER TABLE marks ADD COLUMN whole TEXT COLLATE "C" GENERATED ALWAYS AS
    (CASE WHEN substr(path, 1, 1) = '/' THEN path ELSE rtrim(workspace, '/') || '/' || path END) STORED;

CREATE INDEX marks_whole ON marks (owner, whole);
