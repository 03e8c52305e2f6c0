//! Databases as other programs leave them, whole, half written and hostile.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::SystemTime;

use tempfile::TempDir;

use super::*;

const BOUNDS: ForeignBounds = ForeignBounds { rows_max: 100, value_bytes_max: 1_000 };

/// A folder with a database `x.db` in it that these statements made.
fn made(sql: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.db");
    Connection::open(&file).and_then(|database| database.execute_batch(sql)).expect("made");
    (folder, file)
}

/// What stands in a folder, but for the shared memory of those who work in a database.
fn files_of(folder: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let names = entries.map(|entry| entry.file_name().into_string().expect("a name"));
    names
        .filter(|name| !name.ends_with("-shm"))
        .map(|name| {
            let bytes = std::fs::read(folder.path().join(&name)).expect("readable");
            (name, bytes)
        })
        .collect()
}

fn texts_of(rows: &[ForeignRow]) -> Vec<&str> {
    rows.iter().map(|row| row.values[0].as_text().unwrap_or("?")).collect()
}

#[test]
fn r8_a_foreign_database_is_read_and_nothing_is_written() {
    let (folder, file) = made(
        "CREATE TABLE `notes` (id TEXT PRIMARY KEY, words, many);
         INSERT INTO notes VALUES ('a', 'first', 1), ('b', 'second', NULL), ('c', 'third', 0.5);",
    );
    let before = files_of(&folder);
    let database = ForeignDatabase::open_file(&file).expect("opened");
    assert_eq!(database.plain_columns("notes").expect("read"), ["id", "words", "many"]);
    assert_eq!(database.plain_columns("others").expect("read"), [""; 0]);
    let bounds = ForeignBounds { rows_max: 2, ..BOUNDS };
    let read = database.newest_rows("notes", &["words", "many"], bounds).expect("read");
    assert_eq!((texts_of(&read.rows), read.has_more), (vec!["third", "second"], true));
    assert_eq!(read.rows[0].values[1], ForeignValue::Other);
    assert_eq!(read.rows[1].values[1], ForeignValue::Missing);
    let row = database.read_row("notes", &["many"], 1, 10).expect("read").expect("a row");
    assert_eq!(row.values[0].as_whole(), Some(1));
    assert_eq!(database.read_row("notes", &["many"], 9, 10), Ok(None));
    database.check_unchanged().expect("as it was");
    drop(database);
    assert_eq!(files_of(&folder), before);
}

#[test]
fn r8_what_stands_only_in_the_log_of_a_database_is_read_too() {
    let (folder, file) = made("CREATE TABLE notes (words);");
    let writer = Connection::open(&file).expect("opened");
    writer
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             INSERT INTO notes VALUES ('in the log');",
        )
        .expect("written");
    let before = files_of(&folder);
    assert!(before.contains_key("x.db-wal"), "{:?}", before.keys());
    let database = ForeignDatabase::open_file(&file).expect("opened");
    let read = database.newest_rows("notes", &["words"], BOUNDS).expect("read");
    assert_eq!(texts_of(&read.rows), ["in the log"]);
    let DatabaseSnapshot::Copy(_) = &database.snapshot else { panic!("a copy is read") };
    drop(database);
    assert_eq!(files_of(&folder), before, "nothing is put into place");
    writer.execute_batch("INSERT INTO notes VALUES ('more');").expect("it can go on");
}

/// A journal of a database with pages of 4096 bytes, which takes nothing back and names this file at its end.
fn journal_naming(file: &Path, pages: u32) -> Vec<u8> {
    const MARK: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let name = file.to_str().expect("a name").as_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    let length = u32::try_from(name.len()).expect("short");
    let mut journal = MARK.to_vec();
    // Records, the number that they are summed with, pages, bytes of a sector and of a page.
    for number in [0, 7, pages, 512, 4096_u32] {
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    journal.extend((0x4000_0000_u32 / 4096 + 1).to_be_bytes());
    journal.extend(name);
    journal.extend(length.to_be_bytes());
    journal.extend(sum.to_be_bytes());
    journal.extend(MARK);
    journal
}

#[test]
fn r8_no_file_is_removed_that_a_journal_names() {
    let (folder, file) = made(
        "PRAGMA page_size = 4096; CREATE TABLE notes (words); INSERT INTO notes VALUES ('x');",
    );
    let named = folder.path().join("named");
    std::fs::write(&named, "what is dear to somebody").expect("written");
    let pages = std::fs::metadata(&file).expect("there").len() / 4096;
    let mut journal = journal_naming(&named, u32::try_from(pages).expect("few"));
    let beside = folder.path().join("x.db-journal");
    std::fs::write(&beside, &journal).expect("written");
    let opened = ForeignDatabase::open_file(&file).map(drop);
    assert!(matches!(opened, Err(ForeignDatabaseError::Unreadable(_))), "{opened:?}");
    assert!(named.exists());
    // What is left over of a transaction that is done takes nothing back.
    journal[0] = 0;
    std::fs::write(&beside, &journal).expect("written");
    let database = ForeignDatabase::open_file(&file).expect("opened");
    let read = database.newest_rows("notes", &["words"], BOUNDS).expect("read");
    assert_eq!(texts_of(&read.rows), ["x"]);
    assert!(named.exists());
}

#[test]
fn r8_what_only_has_the_name_of_a_table_is_none() {
    for sql in [
        "CREATE VIEW notes AS SELECT 'x' AS words;",
        "CREATE TABLE t (words); CREATE TRIGGER notes AFTER INSERT ON t BEGIN SELECT 1; END;",
        "CREATE TABLE t (words); CREATE INDEX notes ON t (words);",
        "CREATE VIRTUAL TABLE notes USING fts5(words);",
    ] {
        let (_folder, file) = made(sql);
        let database = ForeignDatabase::open_file(&file).expect("opened");
        assert_eq!(database.plain_columns("notes").expect("read"), [""; 0], "{sql}");
    }
    let (_folder, file) = made("CREATE TABLE notes (id, words AS (hex(zeroblob(100000000))));");
    let database = ForeignDatabase::open_file(&file).expect("opened");
    assert_eq!(database.plain_columns("notes").expect("read"), ["id"], "none that is computed");
    // Even who does not ask that is not led into a view.
    let (_folder, file) = made("CREATE VIEW notes AS SELECT 'x' AS words;");
    let database = ForeignDatabase::open_file(&file).expect("opened");
    assert!(database.newest_rows("notes", &["words"], BOUNDS).is_err());
    // A name that is no column is no text either.
    let (_folder, file) = made("CREATE TABLE notes (id); INSERT INTO notes VALUES (1);");
    let database = ForeignDatabase::open_file(&file).expect("opened");
    assert!(database.newest_rows("notes", &["words"], BOUNDS).is_err());
}

#[test]
fn r8_values_of_any_kind_and_size_are_held_within_bounds() {
    let (_folder, file) = made(
        "CREATE TABLE notes (words);
         INSERT INTO notes VALUES (hex(zeroblob(4000000))), (zeroblob(900)), (zeroblob(9000000)),
             (CAST(x'ff41' AS TEXT)), (7), ('text');",
    );
    let database = ForeignDatabase::open_file(&file).expect("opened");
    let read = database.newest_rows("notes", &["words"], BOUNDS).expect("read");
    let values: Vec<ForeignValue> = read.rows.into_iter().flat_map(|row| row.values).collect();
    assert_eq!(
        values,
        [
            ForeignValue::Text("text".into()),
            ForeignValue::Whole(7),
            ForeignValue::Other,
            ForeignValue::TooLarge,
            ForeignValue::Other,
            ForeignValue::TooLarge,
        ]
    );
    database.bytes_left.set(3);
    let spent = database.newest_rows("notes", &["words"], BOUNDS);
    assert_eq!(spent, Err(ForeignDatabaseError::Beyond));
}

#[test]
fn r8_work_without_end_is_stopped() {
    let (_folder, file) = made(
        "CREATE TABLE notes (words);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO notes SELECT i FROM n;",
    );
    let database = ForeignDatabase::open_file(&file).expect("opened");
    database.looks_left.store(5, Ordering::Relaxed);
    let bounds = ForeignBounds { rows_max: 20_000, ..BOUNDS };
    let stopped = database.newest_rows("notes", &["words"], bounds);
    assert_eq!(stopped, Err(ForeignDatabaseError::Beyond));
}

#[test]
fn r8_files_that_are_no_whole_database_are_told() {
    let opened = |file: &Path| ForeignDatabase::open_file(file).map(drop);
    let (folder, file) = made(
        "CREATE TABLE notes (words);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO notes SELECT 'words ' || i FROM n;",
    );
    let bytes = std::fs::read(&file).expect("read");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text.db"), "this is no database. ".repeat(500)).expect("written");
    assert_eq!(opened(&at("text.db")), Err(ForeignDatabaseError::NotADatabase));
    std::fs::write(at("half.db"), &bytes[..bytes.len() / 2]).expect("written");
    let half = ForeignDatabase::open_file(&at("half.db"))
        .and_then(|database| database.newest_rows("notes", &["words"], BOUNDS));
    assert_eq!(half, Err(ForeignDatabaseError::Damaged));
    let mut wild = bytes.clone();
    wild[4096..].fill(0xfe);
    std::fs::write(at("wild.db"), &wild).expect("written");
    let wild = ForeignDatabase::open_file(&at("wild.db"))
        .and_then(|database| database.newest_rows("notes", &["words"], BOUNDS));
    assert_eq!(wild, Err(ForeignDatabaseError::Damaged));
    let large = File::create(at("large.db")).expect("made");
    large.set_len(snapshot::FILE_BYTES_MAX + 1).expect("sparse");
    assert!(matches!(opened(&at("large.db")), Err(ForeignDatabaseError::TooLarge { .. })));
    assert!(matches!(opened(folder.path()), Err(ForeignDatabaseError::Unreadable(_))));
    // What is linked to beside it is not taken along.
    std::os::unix::fs::symlink(&file, at("x.db-wal")).expect("made");
    assert!(matches!(opened(&file), Err(ForeignDatabaseError::Unreadable(_))));
}

#[test]
fn r8_a_database_that_changed_while_it_was_read_is_told() {
    let (_folder, file) = made("CREATE TABLE notes (words);");
    let database = ForeignDatabase::open_file(&file).expect("opened");
    let changed = File::options().write(true).open(&file).expect("there");
    changed.set_modified(SystemTime::UNIX_EPOCH).expect("set");
    assert_eq!(database.check_unchanged(), Err(ForeignDatabaseError::Changing));
}
