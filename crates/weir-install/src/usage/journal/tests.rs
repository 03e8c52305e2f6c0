//! What a session used is read once and then gone on with. That the fold which is kept says what the whole
//! journal does is held for every scenario, beside the faces.

use std::sync::Arc;

use weir_core::event::{Event, HelperAsked};
use weir_core::record::{GENESIS, SessionSnapshot};
use weir_core::view::wire::fact_record;
use weir_scenario::counting::CountingStore;
use weir_store::MemoryStore;

use super::super::read_session_usage;
use super::*;
use crate::set_up::{JournalWriter, NOW, failed_request};

#[tokio::test]
async fn q10_what_a_session_used_is_read_once_and_then_what_came_since() {
    let id = SessionId::new("one");
    let store = CountingStore::new(Arc::new(MemoryStore::new()));
    let layer: &dyn Store = &store;
    let mut writer = JournalWriter::of(layer, &id).await;
    let failures = |count: Seq| vec![failed_request(); usize::try_from(count).expect("few")];
    let look = async |facts: Seq, read: Seq, why: &str| {
        let used = read_session_usage(layer, &id).await.expect("readable");
        assert_eq!((used.usage.input, used.unpriced), (facts * 10, 0), "{why}");
        assert!((used.cost_usd - facts as f64 * 0.5).abs() < 1e-9, "{why}");
        assert_eq!(store.records_read(), read, "{why}");
    };
    writer.write_facts(layer, &failures(KEEP_EVERY)).await;
    // And its last record once more: what is kept is bound to it.
    look(KEEP_EVERY, KEEP_EVERY + 1, "the first look reads all").await;
    // The record at its place, and those since.
    look(KEEP_EVERY, 1, "the second nothing").await;
    writer.write_facts(layer, &failures(3)).await;
    look(KEEP_EVERY + 3, 4, "then what came since").await;
    // Whatever does not fit is not used.
    for how in ["bytes", "format", "place"] {
        let kept = layer.read_look(&id, KIND).await.expect("readable").expect("one is kept");
        let spoilt = match how {
            "bytes" => SessionSnapshot { state: Arc::from("{}"), ..kept },
            "format" => SessionSnapshot { format: "of another".into(), ..kept },
            _ => SessionSnapshot { record_hash: "0".into(), ..kept },
        };
        layer.write_look(KIND, &spoilt).await.expect("writable");
        // The record at its place, all of them, and the last once more.
        look(KEEP_EVERY + 3, KEEP_EVERY + 5, how).await;
    }
}

#[test]
fn r11_what_a_helper_used_beside_all_runs_is_read_from_the_journal() {
    let usage = Usage { input: 10, ..Usage::default() };
    let asked: Event = HelperAsked { work: "title".into(), usage, cost_usd: Some(0.5) }.into();
    let mut read = JournalUsage::default();
    read.apply_record(&fact_record(&SessionId::new("one"), 1, NOW, &asked, GENESIS));
    let day = read.days.get("2026-01-02").expect("it counts to its day");
    assert_eq!((day.usage, day.cost_usd, day.replies, day.runs), (usage, 0.5, 1, 0));
}
