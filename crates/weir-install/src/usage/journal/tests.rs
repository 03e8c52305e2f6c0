//! What a session used is read once and then gone on with. That the fold which is kept says what the whole
//! journal does is held for every scenario, beside the faces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use weir_core::event::{Event, HelperAsked, ModelRetried};
use weir_core::ids::TurnId;
use weir_core::model::FailureClass;
use weir_core::record::{GENESIS, SessionSnapshot};
use weir_core::view::wire::fact_record;
use weir_engine::embed::StoreLayer;
use weir_engine::ports::{Append, AskChanges, Lease};
use weir_store::{MemoryStore, this_process};

use super::super::read_session_usage;
use super::*;

/// A store that counts the records which are read.
struct CountingStore {
    inner: MemoryStore,
    read: AtomicU64,
}

#[async_trait]
impl StoreLayer for CountingStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn read_records(
        &self,
        session: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let records = self.inner.read_records(session, from, limit).await?;
        self.read.fetch_add(records.len() as u64, Ordering::SeqCst);
        Ok(records)
    }
}

/// Someone who writes that requests failed and what they used.
struct Writer {
    lease: Lease,
    facts: Seq,
    last: String,
}

impl Writer {
    async fn write_facts(&mut self, store: &dyn Store, count: Seq) {
        let failed: Event = ModelRetried {
            turn: TurnId(1),
            attempt: 1,
            class: FailureClass::Overloaded,
            wait_ms: 0,
            message: String::new(),
            usage: Usage { input: 10, ..Usage::default() },
            cost_usd: Some(0.5),
        }
        .into();
        let mut records = Vec::new();
        for seq in self.facts + 1..=self.facts + count {
            let ts = Timestamp(1_767_367_800_000_000);
            let record = fact_record(&self.lease.session, seq, ts, &failed, &self.last);
            self.last.clone_from(&record.hash);
            records.push(record);
        }
        let append = Append {
            lease: self.lease.clone(),
            expected: self.facts,
            records,
            texts: Vec::new(),
            blobs: Vec::new(),
            audit: Vec::new(),
            marks: Vec::new(),
            recipe_use: Vec::new(),
            solved: Vec::new(),
            usage: Vec::new(),
            asks: AskChanges::default(),
            meta: SessionMeta {
                id: self.lease.session.clone(),
                workspace: "/w".into(),
                title: "Weave".into(),
                model: "acme/large".into(),
                profile: "code".into(),
                status: "idle".into(),
                created: Timestamp(1_767_367_800_000_000),
                updated: Timestamp(1_767_367_800_000_000),
                facts: self.facts + count,
                parent: None,
            },
        };
        store.append(append).await.expect("it fits");
        self.facts += count;
    }
}

#[tokio::test]
async fn q10_what_a_session_used_is_read_once_and_then_what_came_since() {
    let id = SessionId::new("one");
    let store = CountingStore { inner: MemoryStore::new(), read: AtomicU64::new(0) };
    let layer: &dyn Store = &store;
    let lease = layer.acquire_lease(&id, &this_process("test")).await.expect("free");
    let mut writer = Writer { lease, facts: 0, last: GENESIS.to_string() };
    let look = async |facts: Seq, read: Seq, why: &str| {
        let used = read_session_usage(layer, &id).await.expect("readable");
        assert_eq!((used.usage.input, used.unpriced), (facts * 10, 0), "{why}");
        assert!((used.cost_usd - facts as f64 * 0.5).abs() < 1e-9, "{why}");
        assert_eq!(store.read.swap(0, Ordering::SeqCst), read, "{why}");
    };
    writer.write_facts(layer, KEEP_EVERY).await;
    // And its last record once more: what is kept is bound to it.
    look(KEEP_EVERY, KEEP_EVERY + 1, "the first look reads all").await;
    // The record at its place, and those since.
    look(KEEP_EVERY, 1, "the second nothing").await;
    writer.write_facts(layer, 3).await;
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
    let ts = Timestamp(1_767_367_800_000_000);
    let mut read = JournalUsage::default();
    read.apply_record(&fact_record(&SessionId::new("one"), 1, ts, &asked, GENESIS));
    let day = read.days.get("2026-01-02").expect("it counts to its day");
    assert_eq!((day.usage, day.cost_usd, day.replies, day.runs), (usage, 0.5, 1, 0));
}
