//! The fold of a session that is kept beside its journal, against every store (Q10). What a fold holds
//! is not looked at here.

use std::sync::Arc;

use weir_core::ids::{Seq, SessionId};
use weir_core::session::SessionSnapshot;
use weir_engine::ports::Store;
use weir_store::this_process;

use crate::contract::every_store;
use crate::support::Scribe;

every_store! {
    q10_a_kept_fold_comes_back_as_it_was_written
    q10_the_fold_with_the_most_facts_is_kept
    q10_no_fold_is_kept_of_what_has_no_such_journal
    q10_a_fold_is_taken_away_alone
    q10_looks_are_kept_by_their_kinds_and_gone_with_the_session
    d9_the_fold_of_a_deleted_session_is_gone_and_does_not_come_back
}

/// A fold of the first `seq` facts, as far as a store looks at it.
pub(crate) fn snapshot(session: &str, seq: Seq, state: &str) -> SessionSnapshot {
    SessionSnapshot {
        session: SessionId::new(session),
        seq,
        record_hash: format!("hash of {seq}"),
        format: "1+2".into(),
        state: Arc::from(state),
        digest: format!("digest of {seq}"),
    }
}

async fn kept(store: &dyn Store, session: &str) -> Option<SessionSnapshot> {
    store.read_snapshot(&SessionId::new(session)).await.expect("readable")
}

async fn keep(store: &dyn Store, snapshot: &SessionSnapshot) {
    store.write_snapshot(snapshot).await.expect("writable");
}

async fn q10_a_kept_fold_comes_back_as_it_was_written(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    one.write(store, 3).await;
    assert_eq!(kept(store, "one").await, None);
    let long = "ü 🎉 \" \\ \u{FFFF} ".repeat(100_000);
    for state in ["", "{}", "a \u{0} b \u{FFFF}0", &long] {
        let written = snapshot("one", 3, state);
        keep(store, &written).await;
        assert_eq!(kept(store, "one").await, Some(written));
    }
    assert_eq!(kept(store, "two").await, None);
}

async fn q10_the_fold_with_the_most_facts_is_kept(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    one.write(store, 9).await;
    for (seq, stays) in [(4, 4), (7, 7), (5, 7), (9, 9)] {
        keep(store, &snapshot("one", seq, "{}")).await;
        assert_eq!(kept(store, "one").await.map(|kept| kept.seq), Some(stays));
    }
    // Of the same facts the one that was written last: an earlier program's may be of no use.
    let again = SessionSnapshot { format: "3+4".into(), ..snapshot("one", 9, "{}") };
    keep(store, &again).await;
    assert_eq!(kept(store, "one").await, Some(again));
}

async fn q10_no_fold_is_kept_of_what_has_no_such_journal(store: &dyn Store) {
    keep(store, &snapshot("nobody", 1, "{}")).await;
    assert_eq!(kept(store, "nobody").await, None);
    let mut one = Scribe::new(store, "one").await;
    keep(store, &snapshot("one", 1, "{}")).await;
    assert_eq!(kept(store, "one").await, None);
    one.write(store, 2).await;
    keep(store, &snapshot("one", 3, "{}")).await;
    assert_eq!(kept(store, "one").await, None);
}

async fn q10_a_fold_is_taken_away_alone(store: &dyn Store) {
    for session in ["one", "two"] {
        Scribe::new(store, session).await.write(store, 2).await;
        keep(store, &snapshot(session, 2, "{}")).await;
    }
    let one = SessionId::new("one");
    for _ in 0..2 {
        store.drop_snapshot(&one).await.expect("that there is none is no error");
        assert_eq!(kept(store, "one").await, None);
    }
    assert!(kept(store, "two").await.is_some());
    assert_eq!(store.read_records(&one, 1, 9).await.expect("readable").len(), 2);
    keep(store, &snapshot("one", 1, "{}")).await;
    assert!(kept(store, "one").await.is_some(), "another may follow");
}

async fn d9_the_fold_of_a_deleted_session_is_gone_and_does_not_come_back(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    one.write(store, 5).await;
    let late = snapshot("one", 5, "{}");
    keep(store, &late).await;
    store.delete_session(&one.lease.session).await.expect("it exists");
    assert_eq!(kept(store, "one").await, None);
    // Whoever was about to keep it when it was deleted.
    keep(store, &late).await;
    assert_eq!(kept(store, "one").await, None);
    // The name begins anew, with fewer facts.
    let lease = store.acquire_lease(&one.lease.session, &this_process("test")).await;
    let mut again = Scribe { lease: lease.expect("free"), ..Scribe::new(store, "other").await };
    again.write(store, 1).await;
    keep(store, &late).await;
    assert_eq!(kept(store, "one").await, None);
}

async fn q10_looks_are_kept_by_their_kinds_and_gone_with_the_session(store: &dyn Store) {
    let mut one = Scribe::new(store, "one").await;
    one.write(store, 5).await;
    let session = one.lease.session.clone();
    let look = async |kind: &str| {
        let kept = store.read_look(&session, kind).await.expect("readable");
        kept.map(|kept| (kept.seq, kept.state.to_string()))
    };
    assert_eq!(look("usage").await, None);
    let long = "ü 🎉 \" \\ \u{0}".repeat(10_000);
    let written =
        [("usage", 3, "{}"), ("usage", 5, long.as_str()), ("usage", 4, "late"), ("other", 1, "x")];
    for (kind, seq, state) in written {
        store.write_look(kind, &snapshot("one", seq, state)).await.expect("writable");
    }
    assert_eq!(look("usage").await, Some((5, long.clone())));
    assert_eq!(look("other").await, Some((1, "x".to_string())));
    // Neither more facts than there are, nor a session that is not there.
    store.write_look("other", &snapshot("one", 6, "y")).await.expect("nothing to keep");
    store.write_look("usage", &snapshot("nobody", 1, "y")).await.expect("nothing to keep");
    assert_eq!(look("other").await, Some((1, "x".to_string())));
    let nobody = SessionId::new("nobody");
    assert_eq!(store.read_look(&nobody, "usage").await.expect("readable"), None);
    assert_eq!(kept(store, "one").await, None, "the fold of the session is something else");
    store.delete_session(&session).await.expect("it exists");
    store.write_look("usage", &snapshot("one", 5, "late")).await.expect("nothing to keep");
    for kind in ["usage", "other"] {
        assert_eq!(look(kind).await, None);
    }
}
