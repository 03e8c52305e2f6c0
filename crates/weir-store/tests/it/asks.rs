//! What waits for a person and which runs ended, in every store: written with the facts, read without
//! a journal (R5).

use weir_core::ids::Timestamp;
use weir_core::record::Record;
use weir_engine::ports::{ASK_KINDS, AskChanges, AskReference, RunEndReference, Store};
use weir_test_kit::PATIENCE;

use crate::contract::every_store;
use crate::support::{NOON, Scribe};

every_store! {
    r5_what_waits_is_kept_with_the_facts_and_gone_when_answered
    r5_a_refused_append_changes_nothing_that_waits
    r5_the_last_end_of_a_run_takes_the_place_of_the_one_before
    r5_what_waits_goes_with_its_session
    r5_whoever_listens_hears_of_any_journal
    q10_what_was_asked_and_answered_is_read_without_the_rest
}

fn asked(open: &[&str], places: &[(&str, u64)]) -> AskChanges {
    AskChanges {
        open: Some(open.iter().map(|name| (*name).to_string()).collect()),
        asked: places
            .iter()
            .map(|(name, seq)| AskReference { name: (*name).to_string(), seq: *seq })
            .collect(),
        run_ended: None,
    }
}

fn ended(seq: u64) -> AskChanges {
    let end = RunEndReference { seq, ts: Timestamp(NOON + seq.cast_signed()) };
    AskChanges { run_ended: Some(end), ..AskChanges::default() }
}

async fn write(
    store: &dyn Store,
    scribe: &mut Scribe,
    count: u64,
    asks: AskChanges,
) -> Vec<Record> {
    let mut append = scribe.next(count);
    append.asks = asks;
    store.append(append.clone()).await.expect("fits");
    scribe.wrote(&append);
    append.records
}

async fn open(store: &dyn Store) -> Vec<Record> {
    store.open_asks().await.expect("readable")
}

async fn r5_what_waits_is_kept_with_the_facts_and_gone_when_answered(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    assert_eq!(open(store).await, []);
    let first = write(store, &mut one, 3, asked(&["one-a1"], &[("one-a1", 3)])).await;
    let second = write(store, &mut two, 2, asked(&["two-q1"], &[("two-q1", 2)])).await;
    let expected = [second[1].clone(), first[2].clone()];
    assert_eq!(open(store).await, expected, "the oldest first, whole facts");
    // What says nothing of it leaves it as it is.
    one.write(store, 1).await;
    assert_eq!(open(store).await, expected);
    // One is answered, another asked by the same facts.
    let third = write(store, &mut one, 2, asked(&["one-a2"], &[("one-a2", 6)])).await;
    assert_eq!(open(store).await, [second[1].clone(), third[1].clone()]);
    write(store, &mut two, 1, asked(&[], &[])).await;
    write(store, &mut one, 1, asked(&[], &[])).await;
    assert_eq!(open(store).await, []);
}

async fn r5_a_refused_append_changes_nothing_that_waits(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let first = write(store, &mut one, 1, asked(&["one-a1"], &[("one-a1", 1)])).await;
    let mut refused = one.next(1);
    refused.expected = 9;
    refused.asks = AskChanges { run_ended: ended(2).run_ended, ..asked(&[], &[]) };
    store.append(refused).await.expect_err("wrong place");
    assert_eq!(open(store).await, first);
    assert_eq!(store.ended_runs(Timestamp(0)).await.expect("readable"), []);
}

async fn r5_the_last_end_of_a_run_takes_the_place_of_the_one_before(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    write(store, &mut one, 1, ended(1)).await;
    let second = write(store, &mut one, 2, ended(3)).await;
    let other = write(store, &mut two, 1, ended(1)).await;
    let all = [other[0].clone(), second[1].clone()];
    assert_eq!(store.ended_runs(Timestamp(0)).await.expect("readable"), all);
    assert_eq!(store.ended_runs(Timestamp(NOON + 3)).await.expect("readable"), all[1..]);
    assert_eq!(store.ended_runs(Timestamp(NOON + 4)).await.expect("readable"), []);
}

async fn r5_what_waits_goes_with_its_session(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    let changes =
        AskChanges { run_ended: ended(1).run_ended, ..asked(&["one-a1"], &[("one-a1", 2)]) };
    write(store, &mut one, 2, changes).await;
    let stays = write(store, &mut two, 1, asked(&["two-a1"], &[("two-a1", 1)])).await;
    store.delete_session(&one.lease.session).await.expect("it exists");
    assert_eq!(open(store).await, stays);
    assert_eq!(store.ended_runs(Timestamp(0)).await.expect("readable"), []);
}

async fn r5_whoever_listens_hears_of_any_journal(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    for _ in 0..3 {
        let mut changed = std::pin::pin!(store.journals_changed());
        let early = futures::poll!(&mut changed).is_ready();
        one.write(store, 1).await;
        if !early {
            let heard = tokio::time::timeout(PATIENCE, changed).await;
            heard.expect("it hears of it");
        }
    }
}

async fn q10_what_was_asked_and_answered_is_read_without_the_rest(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    let mut two = Scribe::new(store, "two").await;
    let session = one.lease.session.clone();
    assert_eq!(store.ask_facts(&session).await.expect("readable"), []);
    let mut asked = Vec::new();
    for kind in ASK_KINDS {
        for scribe in [&mut one, &mut two] {
            let mut append = scribe.next(1);
            let record = &mut append.records[0];
            record.kind = kind.into();
            record.hash = record.hash_after(&scribe.last);
            store.append(append.clone()).await.expect("fits");
            scribe.wrote(&append);
            asked.extend(append.records.into_iter().filter(|record| record.session == session));
            scribe.write(store, 400).await;
        }
    }
    assert_eq!(store.ask_facts(&session).await.expect("readable"), asked);
    store.delete_session(&session).await.expect("it exists");
    assert_eq!(store.ask_facts(&session).await.expect("readable"), []);
}
