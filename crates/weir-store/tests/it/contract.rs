//! The contract of a store (D1), run against each of them. Another store is one line in
//! `every_store!`.

use std::sync::Arc;

use weir_core::event::Decision;
use weir_core::governance::lease::LeaseTerms;
use weir_core::ids::{ApprovalId, QuestionId, SessionId, Timestamp};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::record::{GENESIS, verify_chain};
use weir_engine::engine::{VerifiedRecords, read_verified};
use weir_engine::ports::{FileMark, RemoteCommand, SessionFilter, Store, StoreError, StorePause};
use weir_store::this_process;
use weir_test_kit::PATIENCE;

use crate::support::{NOON, Scribe, blob_id, dead_owner};

/// A store with what must live as long as it.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    _around: Box<dyn std::any::Any>,
}

impl Place {
    pub(crate) fn new(store: Arc<dyn Store>, around: impl std::any::Any) -> Place {
        Place { store, _around: Box::new(around) }
    }
}

pub(crate) fn memory() -> Place {
    Place::new(weir_store::open_store("memory:").expect("memory is there"), ())
}

pub(crate) fn sqlite() -> Place {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let location = format!("sqlite:{}", folder.path().join("state").display());
    Place::new(weir_store::open_store(&location).expect("a new store"), folder)
}

pub(crate) fn sqlite_on_a_network_disk() -> Place {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = weir_store::SqliteOptions { safe_journal: true, ..Default::default() };
    let store = weir_store::SqliteStore::open_with(folder.path(), &options).expect("a new store");
    Place::new(Arc::new(store), folder)
}

macro_rules! every_store {
    ($($name:ident)*) => {
        mod memory { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(&*crate::contract::memory().store).await; }
        )* }
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(&*crate::contract::sqlite().store).await; }
        )* }
        mod sqlite_on_a_network_disk { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let place = crate::contract::sqlite_on_a_network_disk();
                super::$name(&*place.store).await;
            }
        )* }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let Some(place) = crate::postgres::place().await else { return };
                super::$name(&*place.store).await;
            }
        )* }
    };
}
pub(crate) use every_store;

every_store! {
    d2_facts_come_back_as_they_were_written
    d2_a_journal_is_proved_batch_by_batch
    d2_an_empty_journal_reads_as_nothing
    d2_the_settings_that_hold_are_found_at_once
    d2_a_living_owner_keeps_the_lease
    d2_whoever_asks_for_a_lease_is_told_who_has_it
    d2_a_dead_owner_loses_the_lease_and_its_appends_fail
    d2_a_lease_given_back_is_void
    d2_an_append_at_another_place_is_a_conflict
    d2_an_append_that_breaks_the_chain_is_refused_whole
    d2_a_thousand_appends_at_once_all_count
    d2_one_bad_append_does_not_fail_its_neighbours
    d3_facts_blobs_texts_and_audit_are_one_transaction
    d9_delete_removes_what_only_that_session_had
    d9_a_deleted_session_begins_anew_and_its_old_writer_stops
    g04_letters_wait_until_they_are_taken_away
    g04_a_letter_is_announced
    g04_a_full_box_refuses_letters
    z01_marks_are_written_with_the_facts
    z01_a_mark_counts_wherever_its_file_can_be_read
    z01_a_mark_outlives_its_session_and_a_person_takes_it_away
    g10_audit_lines_are_chained_over_all_sessions
    l14_pause_holds_and_is_announced
    q18_whoever_waits_holds_little
    lists_are_filtered_and_newest_first
    search_finds_passages_with_all_words
    large_and_odd_contents_survive
}

async fn d2_facts_come_back_as_they_were_written(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let mut written = Vec::new();
    for count in [1, 3, 8, 9, 130, 0] {
        written.extend(scribe.records(count));
        scribe.write(store, count).await;
    }
    let session = &scribe.lease.session;
    assert_eq!(store.read_records(session, 1, usize::MAX).await.expect("readable"), written);
    assert_eq!(store.read_records(session, 5, 3).await.expect("readable"), written[4..7]);
    assert_eq!(store.read_records(session, 152, 9).await.expect("readable"), []);
    assert_eq!(verify_chain(GENESIS, 1, &written), Ok(scribe.last.clone()));
    assert_eq!(store.session_meta(session).await.expect("readable"), Some(scribe.meta(151)));
}

async fn d2_a_journal_is_proved_batch_by_batch(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let written = scribe.records(10);
    scribe.write(store, 10).await;
    let session = scribe.lease.session.clone();
    assert_eq!(read_verified(store, &session).await.expect("whole"), written);
    let expected = [(4, vec![4_usize, 4, 2]), (5, vec![5, 5]), (10, vec![10]), (11, vec![10])];
    for (most, lengths) in expected {
        let mut verified = VerifiedRecords::new(store, &session);
        let (mut batches, mut records) = (Vec::new(), Vec::new());
        loop {
            let batch = verified.next_batch(most).await.expect("whole");
            if batch.is_empty() {
                break;
            }
            batches.push(batch.len());
            records.extend(batch);
        }
        assert_eq!((&batches, &records), (&lengths, &written), "{most} at once");
        assert_eq!(verified.next_batch(most).await.expect("its end"), []);
    }
}

async fn d2_an_empty_journal_reads_as_nothing(store: &dyn Store) {
    let session = SessionId::new("nobody");
    assert_eq!(store.read_records(&session, 1, 10).await.expect("readable"), []);
    assert_eq!(store.session_meta(&session).await.expect("readable"), None);
    store.acquire_lease(&session, &this_process("test")).await.expect("free");
    assert_eq!(store.session_meta(&session).await.expect("readable"), None);
    assert_eq!(store.list_sessions(&SessionFilter::default()).await.expect("readable"), []);
    let missing = store.delete_session(&session).await.expect_err("nothing to delete");
    assert_eq!(missing.to_string(), "session nobody does not exist in this store");
    assert!(matches!(store.read_blob(&blob_id(b"x")).await, Err(StoreError::Missing { .. })));
}

async fn d2_the_settings_that_hold_are_found_at_once(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let session = scribe.lease.session.clone();
    assert_eq!(store.settings_fact(&session).await.expect("readable"), None);
    // The last one counts, however much follows it.
    for (kind, count) in [("session.opened", 3), ("profile.switched", 300), ("run.started", 2)] {
        let mut append = scribe.next(1);
        let record = &mut append.records[0];
        record.kind = kind.into();
        record.hash = record.hash_after(&scribe.last);
        store.append(append.clone()).await.expect("this append fits");
        scribe.wrote(&append);
        scribe.write(store, count).await;
    }
    let found = store.settings_fact(&session).await.expect("readable").expect("there is one");
    assert_eq!((found.kind.as_str(), found.seq), ("profile.switched", 5));
    assert_eq!(store.read_records(&session, 5, 1).await.expect("readable"), [found]);
}

async fn d2_a_living_owner_keeps_the_lease(store: &dyn Store) {
    let scribe = Scribe::new(store, "one").await;
    let session = scribe.lease.session.clone();
    let held = store.acquire_lease(&session, &this_process("other")).await.expect_err("held");
    let holder = format!("process {} (test)", std::process::id());
    assert_eq!(held.to_string(), format!("session one is being written by {holder}"));
    store.release_lease(&scribe.lease).await.expect("given back");
    store.release_lease(&scribe.lease).await.expect("twice is no error");
    let lease = store.acquire_lease(&session, &this_process("other")).await.expect("free again");
    assert!(lease.epoch > scribe.lease.epoch);
}

async fn d2_whoever_asks_for_a_lease_is_told_who_has_it(store: &dyn Store) {
    let scribe = Scribe::new(store, "one").await;
    let (session, other) = (scribe.lease.session.clone(), this_process("other"));
    let held = store.acquire_lease(&session, &other).await.expect_err("held");
    let told = store.check_not_held(&session, &other).await.expect_err("held");
    assert!(matches!(told, StoreError::Held { .. }), "{told}");
    assert_eq!(told.to_string(), held.to_string());
    store.append(scribe.next(1)).await.expect("to ask took nothing away");
    store.release_lease(&scribe.lease).await.expect("given back");
    // Each taking is counted: whoever takes it to look at it is told of as its holder meanwhile.
    for (free, epoch) in [(&session, scribe.lease.epoch + 1), (&SessionId::new("new"), 1)] {
        store.check_not_held(free, &other).await.expect("nobody has it");
        let lease = store.acquire_lease(free, &other).await.expect("it is still free");
        assert_eq!(lease.epoch, epoch, "to ask took nothing");
    }
    let gone = SessionId::new("gone");
    store.acquire_lease(&gone, &dead_owner("gone")).await.expect("free");
    store.check_not_held(&gone, &other).await.expect("who had it is not alive");
}

async fn d2_a_dead_owner_loses_the_lease_and_its_appends_fail(store: &dyn Store) {
    let session = SessionId::new("one");
    let stale = store.acquire_lease(&session, &dead_owner("gone")).await.expect("free");
    let mut scribe = Scribe::new(store, "one").await;
    scribe.write(store, 1).await;
    let mut late = scribe.next(1);
    late.lease = stale.clone();
    let error = store.append(late).await.expect_err("stale");
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
    store.release_lease(&stale).await.expect("giving back what was lost is no error");
    scribe.write(store, 1).await;
    assert_eq!(store.read_records(&session, 1, 9).await.expect("readable").len(), 2);
}

async fn d2_a_lease_given_back_is_void(store: &dyn Store) {
    let scribe = Scribe::new(store, "one").await;
    store.release_lease(&scribe.lease).await.expect("given back");
    let error = store.append(scribe.next(1)).await.expect_err("nobody holds the lease");
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
    assert_eq!(store.read_records(&scribe.lease.session, 1, 9).await.expect("readable"), []);
}

async fn d2_an_append_at_another_place_is_a_conflict(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let again = scribe.next(2);
    scribe.write(store, 2).await;
    let error = store.append(again).await.expect_err("that place is taken");
    assert_eq!(error.to_string(), "journal of one is at 2, not at 0");
    scribe.facts = 5;
    let error = store.append(scribe.next(1)).await.expect_err("a gap");
    assert!(matches!(error, StoreError::Conflict { found: 2, .. }), "{error}");
    assert_eq!(store.read_records(&scribe.lease.session, 1, 9).await.expect("readable").len(), 2);
}

async fn d2_an_append_that_breaks_the_chain_is_refused_whole(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    scribe.write(store, 1).await;
    let mut changed = scribe.next(2);
    changed.records[0].payload.push(' ');
    let mut gap = scribe.next(3);
    gap.records.remove(1);
    let mut foreign = scribe.next(2);
    foreign.records[1].session = SessionId::new("two");
    for append in [changed, gap, foreign] {
        let error = store.append(append).await.expect_err("broken");
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
    assert_eq!(store.read_records(&scribe.lease.session, 1, 9).await.expect("readable").len(), 1);
    scribe.write(store, 1).await;
}

async fn d2_a_thousand_appends_at_once_all_count(store: &dyn Store) {
    let mut scribes = Vec::new();
    for n in 0..1000 {
        scribes.push(Scribe::new(store, &format!("s{n}")).await);
    }
    let appends = scribes.iter().map(|scribe| store.append(scribe.next_audited("all")));
    for result in futures::future::join_all(appends).await {
        result.expect("each of them fits");
    }
    assert_eq!(store.list_sessions(&SessionFilter::default()).await.expect("readable").len(), 1000);
    assert_eq!(store.audit_lines(1, 2000).await.expect("readable").len(), 1000);
}

async fn d2_one_bad_append_does_not_fail_its_neighbours(store: &dyn Store) {
    let mut scribes = Vec::new();
    for n in 0..30 {
        scribes.push(Scribe::new(store, &format!("s{n}")).await);
    }
    let appends = scribes.iter().enumerate().map(|(n, scribe)| {
        let mut append = scribe.next(2);
        match n % 3 {
            1 => append.expected = 7,
            2 => append.lease.epoch += 1,
            _ => {}
        }
        store.append(append)
    });
    for (n, result) in futures::future::join_all(appends).await.into_iter().enumerate() {
        match n % 3 {
            0 => result.expect("this one fits"),
            1 => assert!(matches!(result, Err(StoreError::Conflict { .. })), "{n}: {result:?}"),
            _ => assert!(matches!(result, Err(StoreError::Held { .. })), "{n}: {result:?}"),
        }
    }
    assert_eq!(store.list_sessions(&SessionFilter::default()).await.expect("readable").len(), 10);
}

async fn d3_facts_blobs_texts_and_audit_are_one_transaction(store: &dyn Store) {
    let scribe = Scribe::new(store, "one").await;
    let mut append = scribe.next(2);
    append.blobs = vec![(blob_id(b"picture"), Arc::from(&b"picture"[..]))];
    append.texts = vec![crate::support::indexed(1, "warp and weft")];
    append.audit = vec![scribe.audit_entry(1, "never")];
    append.expected = 1;
    store.append(append).await.expect_err("wrong place");
    assert!(store.read_blob(&blob_id(b"picture")).await.is_err());
    assert_eq!(store.search_passages("weft", 9).await.expect("readable"), []);
    assert_eq!(store.audit_lines(1, 9).await.expect("readable"), []);
    assert_eq!(store.session_meta(&scribe.lease.session).await.expect("readable"), None);
}

async fn d9_delete_removes_what_only_that_session_had(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    let shared = one.write_blob(store, b"both").await;
    two.write_blob(store, b"both").await;
    let own = one.write_blob(store, b"mine").await;
    one.write_text(store, "heddle and shuttle").await;
    two.write_text(store, "shuttle only").await;
    one.write_audited(store, "stays").await;
    assert_eq!(store.search_passages("shuttle", 9).await.expect("readable").len(), 2);
    one.write_text(store, "shuttle not yet indexed").await;

    store.delete_session(&one.lease.session).await.expect("it exists");

    assert_eq!(store.read_records(&one.lease.session, 1, 9).await.expect("readable"), []);
    assert_eq!(store.session_meta(&one.lease.session).await.expect("readable"), None);
    assert!(matches!(store.read_blob(&own).await, Err(StoreError::Missing { .. })));
    assert_eq!(&*store.read_blob(&shared).await.expect("two still has it"), b"both");
    let hits = store.search_passages("shuttle", 9).await.expect("readable");
    assert_eq!(hits.iter().map(|hit| hit.session.as_str()).collect::<Vec<_>>(), ["two"]);
    assert_eq!(store.search_passages("heddle", 9).await.expect("readable"), []);
    assert_eq!(store.audit_lines(1, 9).await.expect("readable").len(), 1, "audit lines stay");
    store.delete_session(&two.lease.session).await.expect("it exists");
    assert!(matches!(store.read_blob(&shared).await, Err(StoreError::Missing { .. })));
}

async fn d9_a_deleted_session_begins_anew_and_its_old_writer_stops(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    scribe.write(store, 3).await;
    store.delete_session(&scribe.lease.session).await.expect("it exists");
    let error = store.append(scribe.next(1)).await.expect_err("deleted meanwhile");
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
    let mut anew = Scribe::new(store, "one").await;
    assert!(anew.lease.epoch > scribe.lease.epoch + 1);
    anew.write(store, 2).await;
    let error = store.append(scribe.next(1)).await.expect_err("still void");
    assert!(matches!(error, StoreError::Held { .. }), "{error}");
}

async fn g10_audit_lines_are_chained_over_all_sessions(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    one.write_audited(store, "first").await;
    two.write_audited(store, "second").await;
    one.write(store, 2).await;
    let mut append = one.next(6);
    append.audit = (4..=9).map(|seq| one.audit_entry(seq, "many")).collect();
    store.append(append).await.expect("fits");
    let lines = store.audit_lines(1, 100).await.expect("readable");
    assert_eq!(lines.iter().map(|line| line.n).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(lines[1].entry, two.audit_entry(1, "second"));
    assert_eq!(store.audit_lines(7, 1).await.expect("readable"), lines[6..7]);
    let mut before = GENESIS.to_string();
    for line in lines {
        let entry = serde_json::to_string(&line.entry).expect("it was text");
        let expected =
            weir_core::record::sha256_hex(format!("{before}\n{}\n{entry}", line.n).as_bytes());
        assert_eq!(line.hash, expected, "line {}", line.n);
        before = line.hash;
    }
}

async fn l14_pause_holds_and_is_announced(store: &dyn Store) {
    assert_eq!(store.pause_state().await.expect("readable"), None);
    let pause = StorePause {
        since: weir_core::ids::Timestamp(NOON),
        by: "ada".into(),
        reason: "\"stop\"".into(),
    };
    for wanted in [Some(pause), None] {
        let told = async {
            // Several sessions of one process wait; all hear of it.
            tokio::join!(store.pause_changed(), store.pause_changed());
        };
        let change = async {
            // The waiters come first in `join!`: they are watching now.
            store.set_paused(wanted.clone()).await.expect("writable");
        };
        let both = async { tokio::join!(told, change) };
        tokio::time::timeout(PATIENCE, both).await.expect("it is announced");
        assert_eq!(store.pause_state().await.expect("readable"), wanted);
    }
}

fn letter_to(session: &str, command: PersonCommand) -> RemoteCommand {
    let session = SessionId::new(session);
    RemoteCommand { id: 0, session, by: "ada".into(), ts: Timestamp(NOON), command }
}

fn decision() -> PersonCommand {
    PersonCommand::Decide(ApprovalAnswer {
        approval: ApprovalId::new("a1"),
        decision: Decision::Session,
        reason: Some("\"yes\" \u{0} ü".into()),
        terms: Some(LeaseTerms { uses: Some(5), for_ms: Some(60_000) }),
    })
}

async fn g04_letters_wait_until_they_are_taken_away(store: &dyn Store) {
    let session = SessionId::new("one");
    assert_eq!(store.waiting_remote_commands(&session).await.expect("readable"), []);
    let reply = PersonCommand::Reply { question: QuestionId::new("q1"), answer: "blue".into() };
    let commands = [decision(), reply, PersonCommand::Revoke { lease: 3 }, PersonCommand::Cancel];
    let mut posted = Vec::new();
    for command in commands {
        let mail = letter_to("one", command);
        let id = store.post_remote_command(mail.clone()).await.expect("writable");
        posted.push(RemoteCommand { id, ..mail });
    }
    store.post_remote_command(letter_to("two", PersonCommand::Cancel)).await.expect("writable");
    assert_eq!(store.waiting_remote_commands(&session).await.expect("readable"), posted);
    for lay_there in [true, false] {
        let taken = store.discard_remote_command(posted[1].id).await.expect("twice is no error");
        assert_eq!(taken, lay_there, "who took it away is told so");
    }
    let never = store
        .discard_remote_command(u64::MAX)
        .await
        .expect("taking away what never was is no error");
    assert!(!never, "nothing lay there");
    posted.remove(1);
    assert_eq!(store.waiting_remote_commands(&session).await.expect("readable"), posted);

    store.discard_remote_command(posted[2].id).await.expect("writable");
    let later =
        store.post_remote_command(letter_to("one", PersonCommand::Cancel)).await.expect("writable");
    assert!(later > posted[2].id, "a number is never used twice");

    let mut scribe = Scribe::new(store, "one").await;
    scribe.write(store, 1).await;
    store.delete_session(&session).await.expect("it exists");
    assert_eq!(store.waiting_remote_commands(&session).await.expect("readable"), []);
    assert_eq!(
        store.waiting_remote_commands(&SessionId::new("two")).await.expect("readable").len(),
        1
    );
}

async fn g04_a_letter_is_announced(store: &dyn Store) {
    for _ in 0..2 {
        let told = async {
            // Several sessions of one process wait; all hear of it.
            tokio::join!(store.mail_changed(), store.mail_changed());
        };
        let post = async {
            // The waiters come first in `join!`: they are listening now.
            store
                .post_remote_command(letter_to("one", PersonCommand::Cancel))
                .await
                .expect("writable");
        };
        let both = async { tokio::join!(told, post) };
        tokio::time::timeout(PATIENCE, both).await.expect("it is announced");
    }
    assert_eq!(
        store.waiting_remote_commands(&SessionId::new("one")).await.expect("readable").len(),
        2
    );
}

async fn g04_a_full_box_refuses_letters(store: &dyn Store) {
    let posts =
        (0..1000).map(|_| store.post_remote_command(letter_to("one", PersonCommand::Cancel)));
    for posted in futures::future::join_all(posts).await {
        posted.expect("there is room");
    }
    let full =
        store.post_remote_command(letter_to("one", PersonCommand::Cancel)).await.expect_err("full");
    assert!(full.to_string().contains("1000 letters wait for it already"), "{full}");
    store.post_remote_command(letter_to("two", PersonCommand::Cancel)).await.expect("another box");
    let first =
        store.waiting_remote_commands(&SessionId::new("one")).await.expect("readable")[0].id;
    store.discard_remote_command(first).await.expect("writable");
    store
        .post_remote_command(letter_to("one", PersonCommand::Cancel))
        .await
        .expect("there is room again");
}

fn mark(scribe: &Scribe, path: &str, origin: &str) -> FileMark {
    FileMark {
        workspace: "/home/ada/loom".into(),
        path: path.into(),
        origin: origin.into(),
        session: scribe.lease.session.clone(),
        ts: Timestamp(NOON),
    }
}

async fn z01_marks_are_written_with_the_facts(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let mut append = scribe.next(1);
    append.marks = vec![mark(&scribe, "b.txt", "web"), mark(&scribe, "a.txt", "web")];
    let elsewhere = FileMark { workspace: "/elsewhere".into(), ..mark(&scribe, "c.txt", "mail") };
    append.marks.push(elsewhere.clone());
    let mut refused = append.clone();
    refused.expected = 7;
    store.append(refused).await.expect_err("wrong place");
    assert_eq!(store.file_marks("/home/ada/loom").await.expect("readable"), [], "all or none");

    store.append(append.clone()).await.expect("fits");
    scribe.wrote(&append);
    let mut again = scribe.next(1);
    again.marks = vec![mark(&scribe, "b.txt", "mail"), mark(&scribe, "b.txt", "mcp")];
    store.append(again.clone()).await.expect("fits");
    scribe.wrote(&again);
    let expected = [mark(&scribe, "a.txt", "web"), mark(&scribe, "b.txt", "mcp")];
    assert_eq!(store.file_marks("/home/ada/loom").await.expect("readable"), expected);
    assert_eq!(store.file_marks("/elsewhere").await.expect("readable"), [elsewhere]);
    // The same files, as a session in a folder above or below sees them.
    let paths = |marks: Vec<FileMark>| marks.into_iter().map(|mark| mark.path).collect::<Vec<_>>();
    let above = store.file_marks("/home/ada").await.expect("readable");
    assert!(above.iter().all(|mark| mark.workspace == "/home/ada"), "{above:?}");
    assert_eq!(paths(above), ["loom/a.txt", "loom/b.txt"]);
    for other in ["/home/ada/loo", "/home/ada/loom2", "/home/ada/loom/sub", "/home/ad"] {
        assert_eq!(store.file_marks(other).await.expect("readable"), [], "{other}");
    }
}

async fn z01_a_mark_counts_wherever_its_file_can_be_read(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    let mut append = scribe.next(1);
    let paths = ["src/a.txt", "build/", "/home/ada/other/b.txt", ".git/"];
    append.marks = paths.iter().map(|path| mark(&scribe, path, "web")).collect();
    store.append(append.clone()).await.expect("fits");
    scribe.wrote(&append);
    for (folder, expected) in [
        ("/home/ada/loom/src", vec!["/home/ada/loom/.git/", "a.txt"]),
        ("/home/ada/loom/build/x", vec!["", "/home/ada/loom/.git/"]),
        ("/home/ada/other", vec!["b.txt"]),
        (
            "/",
            vec![
                "home/ada/loom/.git/",
                "home/ada/loom/build/",
                "home/ada/loom/src/a.txt",
                "home/ada/other/b.txt",
            ],
        ),
    ] {
        let marks = store.file_marks(folder).await.expect("readable");
        let paths: Vec<&str> = marks.iter().map(|mark| mark.path.as_str()).collect();
        assert_eq!(paths, expected, "{folder}");
    }
    // Of several folders at once, in their order.
    let folders = ["/home/ada/other", "/nowhere", "/home/ada/loom/src"].map(str::to_owned);
    let marks = store.file_marks_in(&folders).await.expect("readable");
    let seen = marks.iter().map(|mark| (mark.workspace.as_str(), mark.path.as_str()));
    let expected = [
        ("/home/ada/other", "b.txt"),
        ("/home/ada/loom/src", "/home/ada/loom/.git/"),
        ("/home/ada/loom/src", "a.txt"),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    assert_eq!(store.file_marks_in(&[]).await.expect("readable"), []);
    // What is the name of a folder as far as the letters go.
    assert_eq!(store.file_marks("/home/ada/loom/srcs").await.expect("readable").len(), 1);
    // Whoever vouches for it there vouches for it.
    assert!(store.unmark_file("/home/ada/loom/src", "a.txt").await.expect("writable"));
    assert!(!store.unmark_file("/home/ada/loom", "src/a.txt").await.expect("writable"));
}

async fn z01_a_mark_outlives_its_session_and_a_person_takes_it_away(store: &dyn Store) {
    let scribe = Scribe::new(store, "one").await;
    let mut append = scribe.next(1);
    append.marks = vec![mark(&scribe, "a.txt", "web")];
    store.append(append).await.expect("fits");
    store.delete_session(&scribe.lease.session).await.expect("it exists");
    assert_eq!(store.file_marks("/home/ada/loom").await.expect("readable").len(), 1);
    assert!(!store.unmark_file("/elsewhere", "a.txt").await.expect("writable"));
    assert!(store.unmark_file("/home/ada/loom", "a.txt").await.expect("writable"));
    assert!(!store.unmark_file("/home/ada/loom", "a.txt").await.expect("writable"), "it is gone");
    assert_eq!(store.file_marks("/home/ada/loom").await.expect("readable"), []);
}

/// Ten thousand browsers wait with these at once, and what a future can come to hold it holds all the time.
async fn q18_whoever_waits_holds_little(store: &dyn Store) {
    let session = SessionId::new("one");
    let waiting = [
        size_of_val(&*store.facts_changed(&session, 0)),
        size_of_val(&*store.journals_changed()),
        size_of_val(&*store.mail_changed()),
        size_of_val(&*store.pause_changed()),
    ];
    assert!(waiting.iter().all(|bytes| *bytes < 4_096), "{waiting:?} bytes");
}

async fn lists_are_filtered_and_newest_first(store: &dyn Store) {
    for (n, workspace) in ["/a", "/b", "/a"].into_iter().enumerate() {
        let scribe = Scribe::new(store, &format!("s{n}")).await;
        let mut append = scribe.next(n as u64 + 1);
        append.meta.workspace = workspace.into();
        append.meta.parent = (n == 2).then(|| SessionId::new("s0"));
        store.append(append).await.expect("fits");
    }
    let ids = async |filter: SessionFilter| -> Vec<String> {
        let found = store.list_sessions(&filter).await.expect("readable");
        found.into_iter().map(|meta| meta.id.to_string()).collect()
    };
    assert_eq!(ids(SessionFilter::default()).await, ["s2", "s1", "s0"]);
    let here = SessionFilter { workspace: Some("/a".into()), limit: None };
    assert_eq!(ids(here).await, ["s2", "s0"]);
    assert_eq!(ids(SessionFilter { workspace: None, limit: Some(1) }).await, ["s2"]);
    let third =
        store.session_meta(&SessionId::new("s2")).await.expect("readable").expect("written");
    assert_eq!((third.parent, third.facts), (Some(SessionId::new("s0")), 3));
}

async fn search_finds_passages_with_all_words(store: &dyn Store) {
    let mut scribe = Scribe::new(store, "one").await;
    scribe.write_text(store, "The quick brown fox").await;
    scribe.write_text(store, "A lazy brown dog, ÜBER all").await;
    for n in 0..450 {
        scribe.write_text(store, &format!("filler{n}")).await;
    }
    let found = async |words: &str| -> Vec<u64> {
        let hits = store.search_passages(words, 9).await.expect("readable");
        hits.iter().map(|hit| hit.seq).collect()
    };
    let mut brown = found("brown").await;
    brown.sort_unstable();
    assert_eq!(brown, [1, 2]);
    assert_eq!(found("Brown FOX").await, [1]);
    assert_eq!(found("über").await, [2]);
    assert_eq!(found("filler449").await, [452], "indexed in batches");
    for nothing in ["fox dog", "", "  ", "\"", "* -", "missing"] {
        assert_eq!(found(nothing).await, [0; 0], "{nothing:?}");
    }
    assert_eq!(found("fox OR dog").await, [0; 0], "words are words, not operators");
    let hits = store.search_passages("lazy", 1).await.expect("readable");
    assert!(hits[0].snippet.contains("lazy brown"), "{:?}", hits[0]);
}

async fn large_and_odd_contents_survive(store: &dyn Store) {
    let scribe = Scribe::new(store, "sé ssion/'\"$1;--").await;
    let mut append = scribe.next(2);
    append.records = append.records[..1].to_vec();
    append.records[0].payload = format!("{{\"text\":\"{}\"}}", "x".repeat(3_000_000));
    append.records[0].hash = append.records[0].hash_after(GENESIS);
    let bytes: Arc<[u8]> = (0..2_000_000_u32).map(|n| (n % 251) as u8).collect();
    append.blobs = vec![(blob_id(&bytes), Arc::clone(&bytes)), (blob_id(b""), Arc::from([]))];
    append.texts = vec![crate::support::indexed(1, "odd \u{0} text")];
    append.meta.title = "a \u{0} b".into();
    append.meta.facts = 1;
    store.append(append.clone()).await.expect("fits");
    let session = &scribe.lease.session;
    assert_eq!(store.read_records(session, 1, 9).await.expect("readable"), append.records);
    assert_eq!(store.read_blob(&blob_id(&bytes)).await.expect("there"), bytes);
    assert_eq!(store.read_blob(&blob_id(b"")).await.expect("there").len(), 0);
    let meta = store.session_meta(session).await.expect("readable").expect("written");
    assert_eq!(meta.title, "a \u{0} b");
}
