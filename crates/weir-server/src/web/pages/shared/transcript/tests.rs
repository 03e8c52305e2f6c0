//! A chat that is read from a kept place shows what all of its journal shows.

use weir_core::ids::SessionId;
use weir_scenario::counting::CountingStore;
use weir_scenario::long::Long;

use super::*;

/// Turns of a long chat: more than are shown.
const TURNS: usize = 170;

fn share(until: Option<Seq>) -> ShareRecord {
    ShareRecord {
        id: "share".into(),
        session: Long::id(),
        tools: true,
        until,
        created: Timestamp::default(),
        opened: 0,
        last_opened: None,
    }
}

/// What is read is the end of what `facts` show.
fn check_shown(why: &str, read: &SharedTranscript, facts: &[PublishedFact]) {
    let whole = SharedTranscript::from_facts(facts);
    let left_out = whole.shown.len().saturating_sub(ENTRIES_MAX);
    assert_eq!(read.left_out, left_out, "{why}");
    assert_eq!(read.shown, whole.shown[left_out..], "{why}");
}

#[test]
fn q10_a_shared_chat_is_read_from_a_kept_place_and_shows_what_all_of_it_shows() {
    let long = Long::lived(TURNS).expect("it comes to rest");
    let store = CountingStore::new(long.store().clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let layer: &dyn Store = &store;
        let records = layer.read_records(&Long::id(), 1, usize::MAX).await.expect("readable");
        let facts: Vec<_> = records.iter().map(|one| fact_of(one).expect("a fact")).collect();
        let all = facts.len() as u64;
        let look = async |until: Option<Seq>| {
            store.records_read();
            let read = SharedTranscript::read_journal(layer, &share(until)).await;
            (read.expect("readable"), store.records_read())
        };
        // And one more: what is kept is bound to it.
        let (read, count) = look(None).await;
        check_shown("the first look", &read, &facts);
        assert_eq!(count, all + 1, "the first look reads all");
        let (read, count) = look(None).await;
        check_shown("the second look", &read, &facts);
        assert!(count < all / 2, "the second reads {count} of {all} facts");
        // A link that ends earlier shows what stands there, from the kept place or from the beginning.
        for until in (1..facts.len()).step_by(89) {
            let (read, _) = look(Some(until as Seq)).await;
            check_shown(&format!("until {until}"), &read, &facts[..until]);
        }
        // It leaves the place to links that go further.
        let (read, _) = look(Some(all / 2)).await;
        check_shown("half of it", &read, &facts[..facts.len() / 2]);
        let (read, count) = look(None).await;
        check_shown("all of it again", &read, &facts);
        assert!(count < all / 2, "it reads {count} of {all} facts");
        let nobody = ShareRecord { session: SessionId::new("none"), ..share(None) };
        assert!(SharedTranscript::read_journal(layer, &nobody).await.is_err());
    });
}
