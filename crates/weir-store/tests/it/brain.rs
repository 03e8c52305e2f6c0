//! A person's brain over every store (K12): kept, changed, forgotten, brought back, and by two at once.

use weir_core::brain::{
    BYTES_MAX, BrainEdit, BrainEntry, BrainEntryKind, BrainEntryState, BrainOrigin, NewBrainEntry,
};
use weir_core::governance::label::Label;
use weir_core::ids::{BrainEntryId, CallId, SessionId, Timestamp};
use weir_engine::brain::{self, BRAIN, BrainError, BrainFilter, call_entry_id, person_entry_id};
use weir_engine::ports::{Store, StoredItem};

use crate::contract::every_store;
use crate::support::NOON;

every_store! {
    k12_an_entry_comes_back_as_it_was_kept
    k12_a_call_that_is_repeated_keeps_and_changes_once
    k12_a_change_is_for_the_version_that_was_read
    k12_what_is_forgotten_comes_back_and_what_is_deleted_does_not
    k12_entries_are_listed_by_state_and_kind_and_a_damaged_one_hides_none
    k12_the_brain_is_bounded
}

fn at(n: i64) -> Timestamp {
    Timestamp(NOON + n)
}

fn tides() -> NewBrainEntry {
    NewBrainEntry {
        text: "# Tides\nHigh at six.\n".into(),
        topics: vec!["Sea".into()],
        origin: BrainOrigin { by: "person".into(), ..BrainOrigin::default() },
        label: Label::external("a.example"),
        ..NewBrainEntry::default()
    }
}

fn new_text(text: &str) -> BrainEdit {
    BrainEdit { text: Some(text.into()), ..BrainEdit::default() }
}

async fn kept(store: &dyn Store, id: &str) -> BrainEntry {
    brain::add_entry(store, &BrainEntryId::new(id), tides(), at(1)).await.expect("there is room")
}

async fn k12_an_entry_comes_back_as_it_was_kept(store: &dyn Store) {
    let id = person_entry_id(&tides(), at(1));
    assert_ne!(id, person_entry_id(&tides(), at(2)), "another moment, another entry");
    let entry = brain::add_entry(store, &id, tides(), at(1)).await.expect("there is room");
    let expected = BrainEntry {
        id: id.clone(),
        title: "Tides".into(),
        text: "# Tides\nHigh at six.".into(),
        kind: BrainEntryKind::Note,
        origin: tides().origin,
        topics: vec!["sea".into()],
        label: Label::external("a.example"),
        created: at(1),
        changed: at(1),
        state: BrainEntryState::Active,
        version: 1,
    };
    assert_eq!(entry, expected);
    let found = brain::find_entry(store, id.as_str()).await.expect("it is there");
    assert_eq!(found, expected);
    let missing = brain::find_entry(store, "none").await.expect_err("it is not there");
    assert!(matches!(missing, BrainError::Missing { .. }), "{missing}");
    let empty = NewBrainEntry { text: " ".into(), ..tides() };
    let why = brain::add_entry(store, &id, empty, at(1)).await.expect_err("it says nothing");
    assert!(why.to_string().contains("no text"), "{why}");
}

async fn k12_a_call_that_is_repeated_keeps_and_changes_once(store: &dyn Store) {
    let id = call_entry_id(&SessionId::new("s1"), CallId(4));
    for _ in 0..2 {
        let entry = brain::add_entry(store, &id, tides(), at(1)).await.expect("it is kept");
        assert_eq!(entry.version, 1);
    }
    let edit = new_text("High at seven.");
    for _ in 0..2 {
        let entry = brain::update_entry(store, id.as_str(), 1, &edit, at(2)).await;
        assert_eq!(entry.expect("the very change").version, 2);
    }
    let all = brain::list_entries(store, BrainFilter::default()).await.expect("readable");
    assert_eq!(all.len(), 1);
}

async fn k12_a_change_is_for_the_version_that_was_read(store: &dyn Store) {
    let entry = kept(store, "e1").await;
    let (one, other) = (new_text("High at seven."), new_text("High at eight."));
    let (one, other) = tokio::join!(
        brain::update_entry(store, "e1", entry.version, &one, at(2)),
        brain::update_entry(store, "e1", entry.version, &other, at(2)),
    );
    let (won, lost) = match (one, other) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        both => panic!("one of the two: {both:?}"),
    };
    assert!(matches!(lost, BrainError::Changed { version: 1, found: 2, .. }), "{lost}");
    assert!(lost.to_string().contains("look at it again"), "{lost}");
    assert_eq!(brain::find_entry(store, "e1").await.expect("it is there"), won);
    assert!(won.label.is_external(), "whoever changes it, whose words were there stays");
}

async fn k12_what_is_forgotten_comes_back_and_what_is_deleted_does_not(store: &dyn Store) {
    kept(store, "e1").await;
    let set = async |state| brain::set_entry_state(store, "e1", state, at(5)).await;
    for _ in 0..2 {
        let entry = set(BrainEntryState::Forgotten).await.expect("it is there");
        assert_eq!((entry.state, entry.version), (BrainEntryState::Forgotten, 2));
    }
    assert_eq!(brain::list_entries(store, BrainFilter::active_only()).await.expect("readable"), []);
    let why = brain::update_entry(store, "e1", 2, &new_text("x"), at(6)).await;
    assert!(why.expect_err("it is forgotten").to_string().contains("bring it back"));
    let entry = set(BrainEntryState::Active).await.expect("it is there");
    assert_eq!((entry.text.as_str(), entry.version), ("# Tides\nHigh at six.", 3));
    brain::delete_entry(store, "e1").await.expect("it is there");
    let gone = brain::delete_entry(store, "e1").await.expect_err("it is gone");
    assert!(matches!(gone, BrainError::Missing { .. }), "{gone}");
}

async fn k12_entries_are_listed_by_state_and_kind_and_a_damaged_one_hides_none(store: &dyn Store) {
    kept(store, "e1").await;
    let snippet = NewBrainEntry { kind: BrainEntryKind::Snippet, ..tides() };
    brain::add_entry(store, &BrainEntryId::new("e2"), snippet, at(3)).await.expect("room");
    brain::set_entry_state(store, "e1", BrainEntryState::Forgotten, at(9)).await.expect("there");
    let torn = StoredItem {
        what: BRAIN.into(),
        name: "e3".into(),
        text: "{".into(),
        state: "active".into(),
        hash: String::new(),
        version: 1,
        label: Label::default(),
        by: "ada".into(),
        ts: at(1),
    };
    store.store_item(&torn).await.expect("writable");
    let ids = async |filter| -> Vec<String> {
        let found = brain::list_entries(store, filter).await.expect("readable");
        found.into_iter().map(|entry| entry.id.to_string()).collect()
    };
    assert_eq!(ids(BrainFilter::default()).await, ["e1", "e2"], "what changed last first");
    assert_eq!(ids(BrainFilter::active_only()).await, ["e2"]);
    let snippets = BrainFilter { kind: Some(BrainEntryKind::Snippet), state: None };
    assert_eq!(ids(snippets).await, ["e2"]);
    let why = brain::find_entry(store, "e3").await.expect_err("it is damaged");
    assert!(why.to_string().contains("damaged"), "{why}");
}

async fn k12_the_brain_is_bounded(store: &dyn Store) {
    // By hand, since what is looked at is how much there is.
    let large = StoredItem {
        what: BRAIN.into(),
        name: "large".into(),
        text: "x".repeat(BYTES_MAX),
        state: "active".into(),
        hash: String::new(),
        version: 1,
        label: Label::default(),
        by: "ada".into(),
        ts: at(1),
    };
    store.store_item(&large).await.expect("writable");
    let full = brain::add_entry(store, &BrainEntryId::new("more"), tides(), at(2)).await;
    let why = full.expect_err("it is full").to_string();
    assert!(why.contains("20 MB") && why.contains("delete entries"), "{why}");
    brain::delete_entry(store, "large").await.expect("although it cannot be read");
    kept(store, "more").await;
}
