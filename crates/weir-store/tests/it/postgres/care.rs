//! Copies and schemas (D9, D1): everything in one file and back, and who may open what.

use sqlx::Executor;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::input::PersonCommand;
use weir_core::record::{GENESIS, verify_chain};
use weir_engine::ports::{MemoryFilter, RemoteCommand, Store, UsageFilter};
use weir_store::PostgresStores;

use super::rows::{entry, fill};
use super::{Database, database, store};
use crate::support::{NOON, Scribe, blob_id};
use crate::upgrade::{ASKED_BEFORE, OPEN_AFTER};

/// What a person has, to be compared.
async fn everything(store: &dyn Store) -> Vec<String> {
    let one = SessionId::new("one");
    vec![
        format!("{:?}", store.read_records(&one, 1, 999).await.expect("readable")),
        format!("{:?}", store.session_meta(&one).await.expect("readable")),
        format!("{:?}", store.audit_lines(1, 99).await.expect("readable")),
        format!("{:?}", store.read_blob(&blob_id(b"picture")).await.expect("readable")),
        format!("{:?}", store.file_marks("/w").await.expect("readable")),
        format!("{:?}", store.waiting_remote_commands(&one).await.expect("readable")),
        format!("{:?}", store.pause_state().await.expect("readable")),
        format!("{:?}", store.find_memories(&MemoryFilter::default()).await.expect("readable")),
        format!("{:?}", store.search_passages("warp weft", 9).await.expect("readable")),
        format!("{:?}", store.proposals("skill").await.expect("readable")),
        format!("{:?}", store.stored_items("tool").await.expect("readable")),
        format!("{:?}", store.recipe_counts().await.expect("readable")),
        format!("{:?}", store.agent_ticks().await.expect("readable")),
        format!("{:?}", store.open_asks().await.expect("readable")),
        format!("{:?}", store.ended_runs(Timestamp(0)).await.expect("readable")),
        format!("{:?}", store.usage_rows(&UsageFilter::default()).await.expect("readable")),
    ]
}

async fn second() -> Database {
    database().await.expect("there was one a moment ago")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_backup_holds_everything_and_comes_back_whole() {
    let Some((ada, stores, _database)) = store().await else { return };
    let bob = stores.store_of_owner("bob").await.expect("a plain name");
    for store in [&ada, &bob] {
        fill(store, "one").await;
    }
    stores.server_records().put(&entry("ada", "ada"), None).await.expect("writable");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("backup");
    let rows = stores.write_backup(&file).await.expect("writable");
    assert!(rows > 30, "{rows}");
    assert!(stores.write_backup(&file).await.is_err(), "it exists already");
    let other = second().await;
    assert_eq!(
        PostgresStores::restore_backup(&other.url, &file).await.expect("a new database"),
        rows
    );
    let restored = other.stores().await;
    for (name, store) in [("ada", &ada), ("bob", &bob)] {
        let again = restored.store_of_owner(name).await.expect("a plain name");
        assert_eq!(everything(&again).await, everything(store).await, "{name}");
        // What its journal gives again is in no backup.
        let one = SessionId::new("one");
        assert!(store.read_snapshot(&one).await.expect("readable").is_some());
        assert!(again.read_snapshot(&one).await.expect("readable").is_none());
        let letter = RemoteCommand {
            id: 0,
            session: SessionId::new("one"),
            by: "ada".into(),
            ts: Timestamp(NOON),
            command: PersonCommand::Cancel,
        };
        let before = again.waiting_remote_commands(&letter.session).await.expect("readable")[0].id;
        assert!(
            again.post_remote_command(letter).await.expect("writable") > before,
            "no number comes twice"
        );
    }
    let found =
        restored.server_records().get("person", "ada", Timestamp(NOON)).await.expect("readable");
    assert!(found.is_some());
    let refused = PostgresStores::restore_backup(&other.url, &file).await.expect_err("not empty");
    assert!(refused.to_string().contains("not empty"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_half_a_backup_is_refused_and_leaves_nothing() {
    let Some((ada, stores, _database)) = store().await else { return };
    fill(&ada, "one").await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("backup");
    stores.write_backup(&file).await.expect("writable");
    let whole = std::fs::read(&file).expect("readable");
    let other = second().await;
    let cut = folder.path().join("cut");
    let lines: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    let before_end = lines[lines.len() - 2];
    for length in [0, 7, lines[0], lines[3], whole.len() / 2, before_end, whole.len() - 1] {
        std::fs::write(&cut, &whole[..length]).expect("writable");
        let refused = PostgresStores::restore_backup(&other.url, &cut).await;
        assert!(refused.is_err(), "{length} of {} bytes", whole.len());
    }
    let mut foreign = whole.clone();
    foreign.splice(..lines[0], b"{\"format\":\"weir postgres backup\",\"schema\":999}\n".to_vec());
    std::fs::write(&cut, &foreign).expect("writable");
    let refused = PostgresStores::restore_backup(&other.url, &cut).await.expect_err("newer");
    assert!(refused.to_string().contains("newer Weir"), "{refused}");
    assert_eq!(other.stores().await.list_owners().await.expect("readable"), [""; 0]);
    PostgresStores::restore_backup(&other.url, &file).await.expect("the whole one fits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d9_a_backup_is_of_one_moment_while_others_write() {
    let Some((ada, stores, _database)) = store().await else { return };
    let mut scribe = Scribe::new(&ada, "one").await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("backup");
    scribe.write_audited(&ada, "x").await;
    let mut copying = std::pin::pin!(stores.write_backup(&file));
    loop {
        tokio::select! {
            done = &mut copying => {
                done.expect("writable");
                break;
            }
            () = scribe.write_audited(&ada, "x") => {}
        }
    }
    let other = second().await;
    PostgresStores::restore_backup(&other.url, &file).await.expect("a new database");
    let again = other.stores().await.store_of_owner("ada").await.expect("a plain name");
    let facts = again.read_records(&SessionId::new("one"), 1, usize::MAX).await.expect("readable");
    let last = verify_chain(GENESIS, 1, &facts).expect("whole");
    assert_eq!(facts.last().expect("some").hash, last);
    let audit = again.audit_lines(1, usize::MAX).await.expect("readable");
    assert_eq!(audit.len(), facts.len(), "facts and audit lines are of one moment");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_waited_before_the_upgrade_is_found_after_it() {
    let Some((ada, stores, database)) = store().await else { return };
    // As it was before: the tables of what waits were not there.
    let mut connection = database.raw().await;
    let before = "DROP TABLE asks; DROP TABLE ended_runs; DROP TABLE snapshots;
         DROP TABLE looks; DROP INDEX facts_of_asks; ALTER TABLE marks DROP COLUMN whole;
         DELETE FROM weir_schema WHERE version > 1";
    sqlx::raw_sql(before).execute(&mut connection).await.expect("ours");
    for (id, status, facts) in
        [("waits", "waiting", 7), ("waits_c2", "waiting", 1), ("over", "completed", 1)]
    {
        let insert = sqlx::query(
            "INSERT INTO sessions (owner, id, epoch, facts, last_hash, workspace, title, model,
               profile, status, created, updated)
             VALUES ('ada', $1, 1, $2, '', '/w', 't', 'm', 'p', $3, $4, $4)",
        );
        let insert = insert.bind(id).bind(i64::from(facts)).bind(status).bind(NOON);
        insert.execute(&mut connection).await.expect("writable");
    }
    for (session, seq, kind, payload) in ASKED_BEFORE {
        let insert = sqlx::query(
            "INSERT INTO facts (owner, session, seq, ts, kind, v, payload, hash)
             VALUES ('ada', $1, $2, $3, $4, 1, $5, '')",
        );
        let insert = insert.bind(*session).bind(*seq).bind(NOON + *seq).bind(*kind);
        insert.bind(*payload).execute(&mut connection).await.expect("writable");
    }
    drop((ada, stores));
    let upgraded = database.stores().await;
    assert_eq!(open_places(&upgraded).await, places_after());
    // The same rows out of a backup that an earlier version wrote.
    sqlx::raw_sql("TRUNCATE asks").execute(&mut connection).await.expect("ours");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("backup");
    upgraded.write_backup(&file).await.expect("writable");
    let text = std::fs::read_to_string(&file).expect("readable");
    let (title, rest) = text.split_once('\n').expect("a title");
    let mut title: serde_json::Value = serde_json::from_str(title).expect("JSON");
    title["schema"] = 1.into();
    std::fs::write(&file, format!("{title}\n{rest}")).expect("writable");
    let other = second().await;
    PostgresStores::restore_backup(&other.url, &file).await.expect("a new database");
    assert_eq!(open_places(&other.stores().await).await, places_after());
}

/// Session and place of all that waits for Ada.
async fn open_places(stores: &PostgresStores) -> Vec<(String, u64)> {
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    let open = ada.open_asks().await.expect("readable");
    open.iter().map(|fact| (fact.session.as_str().to_owned(), fact.seq)).collect()
}

fn places_after() -> Vec<(String, u64)> {
    OPEN_AFTER.iter().map(|(session, seq)| ((*session).to_owned(), *seq)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_several_processes_make_the_schema_at_once_and_a_newer_one_is_refused() {
    let Some(database) = database().await else { return };
    let opened = (0..4).map(|_| PostgresStores::connect(&database.url));
    let opened = futures::future::join_all(opened).await;
    for stores in &opened {
        assert!(stores.is_ok(), "{:?}", stores.as_ref().err());
    }
    let mut connection = database.raw().await;
    let newer = "INSERT INTO weir_schema (version) VALUES (99)";
    connection.execute(newer).await.expect("ours");
    let refused = PostgresStores::connect(&database.url).await.err().expect("newer");
    assert!(refused.to_string().contains("newer Weir (schema 99"), "{refused}");
}
