//! Row-level security, the second lock between people (S2): tried from below, with the role that the
//! store itself uses.

use std::sync::Arc;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Executor, Row};
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, RunId, SessionId, Timestamp};
use weir_core::input::PersonCommand;
use weir_core::memory::{MemoryKind, MemorySource, MemoryStatus, NewMemory};
use weir_core::model::Usage;
use weir_core::recipe::{RecipeUse, SolvedRun};
use weir_core::schedule::{AgentCause, AgentRun, AgentRunState};
use weir_engine::ports::{
    AskChanges, AskReference, FileMark, MemoryFilter, Proposal, RecallQuery, RecordEntry,
    RemoteCommand, RunEndReference, SessionFilter, SolvedFilter, Store, StorePause, StoredItem,
    UsageFilter, UsageNote,
};
use weir_store::PostgresStores;
use weir_test_kit::connect_raw;

use super::{database, store};
use crate::snapshots::snapshot;
use crate::support::{NOON, Scribe, blob_id, indexed};

/// Leaves something in every table that a person has.
pub(super) async fn fill(store: &dyn Store, session: &str) {
    let ts = Timestamp(NOON);
    let mut scribe = Scribe::new(store, session).await;
    let mut append = scribe.next_audited("x");
    append.texts = vec![indexed(1, format!("warp and weft of {session}"))];
    append.blobs = vec![(blob_id(b"picture"), Arc::from(&b"picture"[..]))];
    append.marks = vec![FileMark {
        workspace: "/w".into(),
        path: "a \\ \t \n b".into(),
        origin: "evil.example".into(),
        session: SessionId::new(session),
        ts,
    }];
    append.recipe_use = vec![(RecipeUse { recipe: "r".into(), fast: false, ok: true }, ts)];
    append.solved = vec![SolvedRun {
        session: SessionId::new(session),
        run: RunId(1),
        workspace: "/w".into(),
        profile: "code".into(),
        ts,
        said: "weave".into(),
        calls: Vec::new(),
        label: Label::default(),
    }];
    append.usage = vec![UsageNote {
        ts,
        model: "acme/large".into(),
        profile: "code".into(),
        usage: Usage { input: 1, ..Usage::default() },
        cost_usd: Some(0.5),
        replies: 1,
        runs: 0,
    }];
    append.asks = AskChanges {
        open: Some(vec![format!("{session}-a1")]),
        asked: vec![AskReference { name: format!("{session}-a1"), seq: 1 }],
        run_ended: Some(RunEndReference { seq: 1, ts }),
    };
    store.append(append.clone()).await.expect("fits");
    scribe.wrote(&append);
    store.write_snapshot(&snapshot(session, 1, "{}")).await.expect("writable");
    store.write_look("usage", &snapshot(session, 1, "{}")).await.expect("writable");
    fill_beside(store, session).await;
}

/// What does not come with facts.
async fn fill_beside(store: &dyn Store, session: &str) {
    let ts = Timestamp(NOON);
    let mail = RemoteCommand {
        id: 0,
        session: SessionId::new(session),
        by: "ada".into(),
        ts,
        command: PersonCommand::Cancel,
    };
    store.post_remote_command(mail).await.expect("writable");
    let source = MemorySource {
        session: Some(SessionId::new(session)),
        call: Some(CallId(1)),
        ..MemorySource::default()
    };
    let new = NewMemory {
        text: "The loom stands in the cellar".into(),
        kind: MemoryKind::Project,
        topics: vec!["loom".into()],
        importance: 3,
        workspace: None,
        source: source.clone(),
        label: Label::default(),
        status: MemoryStatus::Kept,
        supersedes: None,
    };
    store.remember_fact(&new, ts).await.expect("writable");
    let proposal = Proposal {
        what: "skill".into(),
        name: "weave".into(),
        text: "text".into(),
        source,
        label: Label::default(),
        ts,
    };
    store.propose(&proposal).await.expect("writable");
    let kept = StoredItem {
        what: "tool".into(),
        name: "t".into(),
        text: "{}".into(),
        state: "active".into(),
        hash: String::new(),
        version: 0,
        label: Label::default(),
        by: "ada".into(),
        ts,
    };
    store.store_item(&kept).await.expect("writable");
    let run = AgentRun {
        agent: "nightly".into(),
        tick: "1".into(),
        cause: AgentCause::Cron,
        owner: "ada".into(),
        due: ts,
        state: AgentRunState::Waiting,
        session: None,
        claimed: ts,
        started: None,
        finished: None,
        note: String::new(),
    };
    store.claim_ticks(&[run], None).await.expect("writable");
    let pause = StorePause { since: ts, by: "ada".into(), reason: "lunch".into() };
    store.set_paused(Some(pause)).await.expect("writable");
}

pub(super) fn entry(name: &str, owner: &str) -> RecordEntry {
    RecordEntry {
        kind: "person".into(),
        name: name.into(),
        owner: owner.into(),
        text: "{}".into(),
        version: 0,
        expires: None,
        ts: Timestamp(NOON),
    }
}

/// Every table but the note of the schema's version.
async fn tables(connection: &mut PgConnection) -> Vec<String> {
    let rows = sqlx::query(
        "SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
         AND relkind IN ('r', 'p') AND relname <> 'weir_schema' ORDER BY 1",
    );
    let rows = rows.fetch_all(connection).await.expect("readable");
    rows.iter().map(|row| row.get(0)).collect()
}

async fn count(connection: &mut PgConnection, table: &str) -> i64 {
    let query = sqlx::query(AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
    query.fetch_one(connection).await.expect("readable").get(0)
}

/// Runs something that row-level security must refuse, or change nothing.
async fn changes(connection: &mut PgConnection, owner: &str, sql: &str) -> Result<u64, String> {
    let begin = format!("BEGIN; SET LOCAL weir.owner = '{owner}'");
    connection.execute(AssertSqlSafe(begin)).await.expect("it can be set");
    let done = connection.execute(AssertSqlSafe(sql.to_string())).await;
    let done = done.map(|done| done.rows_affected()).map_err(|error| error.to_string());
    connection.execute("ROLLBACK").await.expect("it ends");
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s02_another_owner_sees_no_row_of_any_table_and_changes_none() {
    let Some((ada, stores, database)) = store().await else { return };
    fill(&ada, "one").await;
    stores.server_records().put(&entry("ada", "ada"), None).await.expect("writable");
    let mut connection = database.raw().await;
    connection.execute("SET ROLE weir_rows").await.expect("the role is there");
    let tables = tables(&mut connection).await;
    assert!(tables.len() >= 20, "{tables:?}");
    let mut filled = 0;
    for (owner, sees) in [("ada", true), ("bob", false), ("", false)] {
        let begin = format!("BEGIN; SET LOCAL weir.owner = '{owner}'");
        connection.execute(AssertSqlSafe(begin)).await.expect("it can be set");
        for table in &tables {
            let of_house = ["entries", "holders", "owners"].contains(&table.as_str());
            let found = count(&mut connection, table).await;
            assert_eq!(found > 0, sees && !of_house, "{owner} finds {found} rows in {table}");
            filled += i32::from(found > 0);
        }
        connection.execute("ROLLBACK").await.expect("it ends");
    }
    assert_eq!(filled, i32::try_from(tables.len()).expect("few") - 3, "every table was filled");
    for table in &tables {
        assert_eq!(count(&mut connection, table).await, 0, "without an owner: {table}");
        let gone = changes(&mut connection, "bob", &format!("DELETE FROM {table}")).await;
        assert_eq!(gone, Ok(0), "{table}");
        let off = format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY");
        let refused = changes(&mut connection, "bob", &off).await.expect_err("not its own");
        assert!(refused.contains("must be owner"), "{refused}");
    }
    let theirs = "INSERT INTO settings (owner, key, value) VALUES ('ada', 'x', 'y')";
    let refused = changes(&mut connection, "bob", theirs).await.expect_err("ada's");
    assert!(refused.contains("row-level security"), "{refused}");
    let given = "UPDATE settings SET owner = 'bob'";
    assert_eq!(changes(&mut connection, "bob", given).await, Ok(0));
    let refused = changes(&mut connection, "ada", given).await.expect_err("to bob");
    assert!(refused.contains("row-level security"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s02_a_handle_reaches_nothing_of_another_owner() {
    let Some((ada, stores, _database)) = store().await else { return };
    fill(&ada, "one").await;
    let bob = stores.store_of_owner("bob").await.expect("a plain name");
    let one = SessionId::new("one");
    assert_eq!(bob.read_records(&one, 1, 9).await.expect("readable"), []);
    assert_eq!(bob.session_meta(&one).await.expect("readable"), None);
    assert_eq!(bob.read_snapshot(&one).await.expect("readable"), None);
    assert_eq!(bob.read_look(&one, "usage").await.expect("readable"), None);
    bob.write_look("usage", &snapshot("one", 1, "{}")).await.expect("nothing to keep");
    bob.drop_snapshot(&one).await.expect("there is none of his");
    bob.write_snapshot(&snapshot("one", 1, "{\"his\":1}")).await.expect("nothing to keep");
    let hers = ada.read_snapshot(&one).await.expect("readable");
    assert_eq!(hers, Some(snapshot("one", 1, "{}")));
    assert_eq!(bob.list_sessions(&SessionFilter::default()).await.expect("readable"), []);
    assert_eq!(bob.search_passages("warp", 9).await.expect("readable"), []);
    let query = RecallQuery { words: "warp".into(), limit: 9, ..RecallQuery::default() };
    assert_eq!(bob.recall(&query).await.expect("readable"), []);
    assert_eq!(bob.audit_lines(1, 9).await.expect("readable"), []);
    assert!(bob.read_blob(&blob_id(b"picture")).await.is_err());
    assert!(bob.delete_session(&one).await.is_err());
    assert_eq!(bob.waiting_remote_commands(&one).await.expect("readable"), []);
    assert_eq!(bob.pause_state().await.expect("readable"), None);
    for folder in ["/w", "/", "/w/below"] {
        assert_eq!(bob.file_marks(folder).await.expect("readable"), [], "{folder}");
    }
    assert!(!bob.unmark_file("/w", "a \\ \t \n b").await.expect("writable"), "it is hers");
    assert_eq!(ada.file_marks("/").await.expect("readable").len(), 1);
    assert_eq!(bob.find_memories(&MemoryFilter::default()).await.expect("readable"), []);
    assert_eq!(bob.proposals("skill").await.expect("readable"), []);
    assert_eq!(bob.stored_items("tool").await.expect("readable"), []);
    assert!(bob.recipe_counts().await.expect("readable").is_empty());
    assert_eq!(bob.solved_runs(&SolvedFilter::default()).await.expect("readable"), []);
    assert_eq!(bob.usage_rows(&UsageFilter::default()).await.expect("readable"), []);
    assert!(bob.agent_ticks().await.expect("readable").is_empty());
    // The same names are free for him.
    fill(&bob, "one").await;
    assert_eq!(bob.audit_lines(1, 9).await.expect("readable").len(), 1);
    assert_eq!(stores.list_owners().await.expect("readable"), ["ada", "bob"]);
    assert!(stores.remove("bob").await.expect("removable") > 10);
    assert_eq!(bob.list_sessions(&SessionFilter::default()).await.expect("readable"), []);
    assert_eq!(ada.read_records(&one, 1, 9).await.expect("readable").len(), 1);
    assert_eq!(stores.list_owners().await.expect("readable"), ["ada"]);
    for name in ["", "a b", "a'; DROP TABLE facts; --", "ü", &"x".repeat(200)] {
        let refused = stores.store_of_owner(name).await.err().expect("no plain name");
        assert!(refused.to_string().contains("letters, digits"), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s02_where_row_level_security_would_not_bind_nothing_is_opened() {
    let Some((_ada, _stores, database)) = store().await else { return };
    let mut connection = database.raw().await;
    connection.execute("ALTER TABLE kept DISABLE ROW LEVEL SECURITY").await.expect("ours");
    let refused = PostgresStores::connect(&database.url).await.err().expect("refused");
    assert!(refused.to_string().contains("row-level security is off for the table kept"));
    connection.execute("ALTER TABLE kept ENABLE ROW LEVEL SECURITY").await.expect("ours");
    connection.execute("ALTER TABLE kept NO FORCE ROW LEVEL SECURITY").await.expect("ours");
    assert!(PostgresStores::connect(&database.url).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s02_a_user_that_owns_the_database_and_nothing_else_is_bound_itself() {
    let Some(database) = database().await else { return };
    let mut connection = database.raw().await;
    let made = "DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'weir_test_plain') THEN
          CREATE ROLE weir_test_plain LOGIN;
        END IF;
        EXECUTE format('ALTER DATABASE %I OWNER TO weir_test_plain', current_database());
        ALTER SCHEMA public OWNER TO weir_test_plain;
      END $$";
    connection.execute(made).await.expect("the user of the test server may make roles");
    let url = database.url.replacen("postgres@", "weir_test_plain@", 1);
    if url == database.url {
        // A server of somebody's own, with passwords: this needs one where none is asked for.
        return;
    }
    let stores = PostgresStores::connect(&url).await.expect("all that it needs");
    let ada = stores.store_of_owner("ada").await.expect("a plain name");
    fill(&ada, "one").await;
    let mut plain = connect_raw(&url).await.expect("it may");
    for table in tables(&mut plain).await {
        assert_eq!(count(&mut plain, &table).await, 0, "{table}");
    }
    drop((ada, stores, plain));
}
