//! `weir import` from sessions that another agent keeps in a database (R8): goose's `sessions.db`
//! and opencode's `opencode.db`, made here with the tables that those have. Not here: how a foreign
//! database is read within bounds, which is tested beside that (`weir-store`).

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use weir_test_kit::TestInstallation;

const GOOSE: &str = "home/.local/share/goose/sessions/sessions.db";
const OPENCODE: &str = "home/.local/share/opencode/opencode.db";

const GOOSE_TABLES: &str = "
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
        session_type TEXT, working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP
    );
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
        role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
        metadata_json TEXT
    );";
const GOOSE_ROWS: &str = r#"
    INSERT INTO sessions VALUES
        ('20260601_1', 'Herons', '', 'user', '/work/birds',
         '2026-06-01 10:00:00', '2026-06-01 11:00:00'),
        ('20260602_1', '', '', 'user', '/work', '2026-06-02T10:00:00+00:00', NULL);
    INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES
        ('20260601_1', 'assistant', '[{"type":"text","text":"In the reeds."}]',
         1780308060000, NULL),
        ('20260601_1', 'user', '[{"type":"text","text":"Where does the heron nest?"}]',
         1780308000, '{"userVisible":true,"agentVisible":true}'),
        ('20260601_1', 'assistant', '[{"type":"toolRequest","id":"1","toolCall":{"status":"success",
         "value":{"name":"developer__shell","arguments":{"command":"marker-value"}}}}]',
         1780308030, NULL),
        ('20260601_1', 'user', '[{"type":"toolResponse","id":"1","toolResult":"marker-value"}]',
         1780308031, NULL),
        ('20260601_1', 'user', '[{"type":"text","text":"marker-value of a summary"}]',
         1780308070, '{"userVisible":false,"agentVisible":true}'),
        ('20260602_1', 'user', 'no json', 1780394400, NULL),
        ('20260602_1', 'user', '[{"type":"text","text":"Count the gulls"}]', 1780394401, NULL);"#;

const OPENCODE_TABLES: &str = "
    CREATE TABLE `session` (
        `id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `slug` text NOT NULL,
        `directory` text NOT NULL, `title` text NOT NULL, `version` text NOT NULL,
        `time_created` integer NOT NULL, `time_updated` integer NOT NULL
    );
    CREATE TABLE `message` (
        `id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL,
        `time_updated` integer NOT NULL, `data` text NOT NULL
    );
    CREATE TABLE `part` (
        `id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL,
        `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL
    );";
const OPENCODE_ROWS: &str = r#"
    INSERT INTO session VALUES
        ('ses_9', 'p', NULL, 'tides', '/work/tides', 'Tides', '1', 1780308000000, 1780308060000);
    INSERT INTO message VALUES
        ('msg_2', 'ses_9', 1780308060000, 1780308060000, '{"role":"assistant"}'),
        ('msg_1', 'ses_9', 1780308000000, 1780308000000, '{"role":"user"}');
    INSERT INTO part VALUES
        ('prt_4', 'msg_2', 'ses_9', 1, 1, '{"type":"text","text":"At six."}'),
        ('prt_3', 'msg_2', 'ses_9', 1, 1,
         '{"type":"tool","tool":"bash","state":{"output":"marker-value"}}'),
        ('prt_2', 'msg_1', 'ses_9', 1, 1, '{"type":"text","text":"marker-value","synthetic":true}'),
        ('prt_1', 'msg_1', 'ses_9', 1, 1, '{"type":"text","text":"When is the spring tide?"}');"#;

/// An installation with this file, and the connection that made a database of it.
fn house_with(file: &str, sql: &[&str]) -> (TestInstallation, PathBuf, Connection) {
    let house = TestInstallation::new();
    let path = house.at(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    let database = Connection::open(&path).expect("made");
    database.execute_batch("PRAGMA journal_mode = WAL;").expect("said");
    for text in sql {
        database.execute_batch(text).expect("written");
    }
    (house, path, database)
}

/// The files beside a database and what stands in them, but for the memory that its users share.
fn beside(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(path.parent().expect("a folder")).expect("there").flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    let mut files: Vec<_> = paths
        .filter(|path| !path.to_string_lossy().ends_with("-shm"))
        .map(|path| (path.clone(), fs::read(path).expect("readable")))
        .collect();
    files.sort();
    files
}

#[test]
fn r8_sessions_in_gooses_database_are_named_searched_and_taken_back() {
    let (house, path, database) = house_with(GOOSE, &[GOOSE_TABLES, GOOSE_ROWS]);
    // Its program is at an end: all of it is in one file.
    drop(database);
    let before = beside(&path);
    let dry = house.ok(&["import", "goose", "--dry-run"]);
    for part in ["session 20260601_1", "session 20260602_1", "1 of its rows are no JSON"] {
        assert!(dry.contains(part), "{part}: {dry}");
    }
    assert!(!house.at("state/weir/imported/goose").exists());
    house.ok(&["import", "goose"]);
    assert_eq!(beside(&path), before, "nothing is written into it or beside it");
    let list = house.json(&["sessions", "list", "--imported", "--json"]);
    let heads: Vec<_> =
        list.as_array().expect("a list").iter().map(|head| &head["title"]).collect();
    assert_eq!(heads, ["Count the gulls", "Herons"]);
    let head = &list[1];
    assert_eq!(
        (&head["workspace"], &head["started"]),
        (&"/work/birds".into(), &"2026-06-01T10:00:00Z".into())
    );
    let hits = house.json(&["sessions", "search", "--imported", "heron", "nest", "--json"]);
    assert_eq!(hits[0]["session"], "20260601_1");
    let shown = house.ok(&["sessions", "show", "20260601_1", "--imported"]);
    let order = ["Where does the heron nest?", "developer__shell", "In the reeds."];
    let places: Vec<_> = order.iter().map(|said| shown.find(said).expect("said")).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(!shown.contains("marker-value"), "{shown}");
    assert!(house.ok(&["import", "goose"]).contains("session 20260601_1"), "it stands there");
    house.ok(&["import", "--undo"]);
    assert!(!house.at("state/weir/imported/goose").exists());
    assert!(house.ok(&["sessions", "list", "--imported"]).contains("No imported sessions"));
}

#[test]
fn r8_sessions_in_opencodes_database_are_read_while_it_works_in_it() {
    let (house, path, database) = house_with(OPENCODE, &[OPENCODE_TABLES]);
    database
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0;")
        .expect("said");
    database.execute_batch(OPENCODE_ROWS).expect("written");
    let before = beside(&path);
    assert!(
        before.iter().any(|(path, bytes)| path.ends_with("opencode.db-wal") && !bytes.is_empty())
    );
    house.ok(&["import", "opencode"]);
    assert_eq!(beside(&path), before, "nothing is put into place");
    let hits = house.json(&["sessions", "search", "--imported", "spring tide", "--json"]);
    assert_eq!(hits[0]["session"], "ses_9");
    let shown = house.ok(&["sessions", "show", "ses_9", "--imported"]);
    let order = ["When is the spring tide?", "bash", "At six."];
    let places: Vec<_> = order.iter().map(|said| shown.find(said).expect("said")).collect();
    assert!(places.is_sorted(), "{shown}");
    assert!(!shown.contains("marker-value"), "{shown}");
    house.ok(&["import", "--undo"]);
    assert!(!house.at("state/weir/imported/opencode").exists());
    database.execute_batch("DELETE FROM part;").expect("it goes on");
}

/// A database that is no release's own has another name.
#[test]
fn r8_every_database_of_opencode_is_read() {
    let other = OPENCODE.replace("opencode.db", "opencode-local.db");
    let (house, _, database) = house_with(&other, &[OPENCODE_TABLES, OPENCODE_ROWS]);
    drop(database);
    let dry = house.ok(&["import", "opencode", "--dry-run"]);
    assert!(dry.contains("session ses_9") && dry.contains("opencode-local.db"), "{dry}");
}

/// goose took the sessions of its files into the database: there they go on.
#[test]
fn r8_a_session_of_a_file_that_stands_in_the_database_too_is_taken_once() {
    let (house, path, _database) = house_with(GOOSE, &[GOOSE_TABLES, GOOSE_ROWS]);
    let line = r#"{"role":"user","created":1,"content":[{"type":"text","text":"Older words"}]}"#;
    house.write(&path.with_file_name("20260601_1.jsonl"), line);
    let said = house.ok(&["import", "goose"]);
    assert!(said.contains("sessions.db has the same id"), "{said}");
    let shown = house.ok(&["sessions", "show", "20260601_1", "--imported"]);
    assert!(shown.contains("In the reeds.") && !shown.contains("Older words"), "{shown}");
}

#[test]
fn r8_hostile_databases_are_said_and_the_rest_goes_on() {
    let view = "CREATE TABLE sessions (id, working_dir, created_at, updated_at);
        CREATE VIEW messages AS SELECT 'a' AS session_id, 'user' AS role,
            '[{\"type\":\"text\",\"text\":\"marker-value\"}]' AS content_json,
            1 AS created_timestamp;
        INSERT INTO sessions VALUES ('a', '/', '', '');";
    let older = "CREATE TABLE sessions (id); CREATE TABLE messages (id);";
    for (sql, why) in [
        (view, "has no table messages"),
        (older, "has no column working_dir in its table sessions"),
        ("CREATE TABLE other (id);", "has no table sessions"),
    ] {
        let (house, _, database) = house_with(GOOSE, &[sql]);
        drop(database);
        house.write("home/.config/goose/.goosehints", "Say please.\n");
        let said = house.ok(&["import", "goose"]);
        assert!(said.contains(why) && said.contains("sessions in a database"), "{why}: {said}");
        assert!(said.contains("instructions for everywhere"), "{said}");
        assert!(!house.at("state/weir/imported/goose").exists(), "{why}");
    }
    // Values of other kinds, larger than what is read, of nobody, and an id that leads elsewhere.
    let rows = "INSERT INTO sessions (id, working_dir) VALUES ('../../evil', x'00'), (x'00', '/');
        INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES
            ('../../evil', 'user', '[{\"type\":\"text\",\"text\":\"Hello\"}]', 'soon'),
            ('../../evil', 'user', x'0102', 9223372036854775807),
            ('../../evil', 'user', hex(zeroblob(3000000)), 1),
            ('../../evil', 'system', '\"marker-value\"', 1),
            ('none', 'user', '\"marker-value\"', 1);";
    let (house, _, database) = house_with(GOOSE, &[GOOSE_TABLES, rows]);
    drop(database);
    let said = house.ok(&["import", "goose"]);
    for part in [
        "1 of its rows are no JSON",
        "1 of its rows have more than 4194304 bytes",
        "1 more sessions -> have no id that can be read",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let list = house.json(&["sessions", "list", "--imported", "--json"]);
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list}");
    assert_eq!((&list[0]["id"], &list[0]["lines"]), (&"------evil".into(), &1.into()));
    // No database at all.
    let house = TestInstallation::new();
    house.write(GOOSE, &"this is no database. ".repeat(500));
    house.write("home/.config/goose/.goosehints", "Say please.\n");
    assert!(house.ok(&["import", "goose"]).contains("is no SQLite database"));
}
