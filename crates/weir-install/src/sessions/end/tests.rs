//! The end of a session is looked at again without what stands before it. That it is told as all of the journal
//! tells it is held for every scenario, beside the faces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::json;
use weir_core::event::{Event, ModelRetried, SessionOpened};
use weir_core::ids::{Timestamp, TurnId};
use weir_core::model::{FailureClass, ModelInfo, ModelRef, Usage};
use weir_core::profile::built_in_profiles;
use weir_core::record::{GENESIS, Record, SessionSnapshot};
use weir_core::session::SessionConfig;
use weir_core::view::wire::fact_record;
use weir_engine::embed::StoreLayer;
use weir_engine::ports::{Append, AskChanges, Lease};
use weir_store::{MemoryStore, this_process};

use super::super::last::read_last_entries;
use super::super::visit_session_facts;
use super::*;

const NOW: Timestamp = Timestamp(1_767_367_800_000_000);

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

/// Someone who writes a journal.
struct Writer {
    lease: Lease,
    facts: Seq,
    last: String,
}

impl Writer {
    async fn of(store: &dyn Store, id: &SessionId) -> Writer {
        let lease = store.acquire_lease(id, &this_process("test")).await.expect("free");
        Writer { lease, facts: 0, last: GENESIS.to_string() }
    }

    fn meta(&self) -> SessionMeta {
        SessionMeta {
            id: self.lease.session.clone(),
            workspace: "/w".into(),
            title: "Weave".into(),
            model: "acme/large".into(),
            profile: "code".into(),
            status: "idle".into(),
            created: NOW,
            updated: NOW,
            facts: self.facts,
            parent: None,
        }
    }

    async fn write_facts(&mut self, store: &dyn Store, events: &[Event]) {
        let expected = self.facts;
        let mut records = Vec::new();
        for event in events {
            self.facts += 1;
            let record = fact_record(&self.lease.session, self.facts, NOW, event, &self.last);
            self.last.clone_from(&record.hash);
            records.push(record);
        }
        self.write_records(store, expected, records).await;
    }

    async fn write_records(&self, store: &dyn Store, expected: Seq, records: Vec<Record>) {
        let append = Append {
            lease: self.lease.clone(),
            expected,
            records,
            texts: Vec::new(),
            blobs: Vec::new(),
            audit: Vec::new(),
            marks: Vec::new(),
            recipe_use: Vec::new(),
            solved: Vec::new(),
            usage: Vec::new(),
            asks: AskChanges::default(),
            meta: self.meta(),
        };
        store.append(append).await.expect("it fits");
    }
}

fn opened() -> Event {
    let profile = built_in_profiles().into_iter().next().expect("there is one");
    let model = ModelInfo {
        model: ModelRef { provider: "acme".into(), name: "large".into() },
        window: 100_000,
        max_output: 1_000,
        price: None,
        abilities: ["tools".to_owned()].into(),
        may_cut: false,
    };
    let name = profile.name.clone();
    let config = SessionConfig::with_defaults("/w", profile, model);
    SessionOpened {
        workspace: "/w".into(),
        profile: name,
        permission: config.permission,
        model: "acme/large".into(),
        engine: "0".into(),
        tools: Vec::new(),
        parent: None,
        config: config.into(),
    }
    .into()
}

/// A request that failed, and what it used.
fn failed() -> Event {
    ModelRetried {
        turn: TurnId(1),
        attempt: 1,
        class: FailureClass::Overloaded,
        wait_ms: 0,
        message: String::new(),
        usage: Usage { input: 10, ..Usage::default() },
        cost_usd: Some(0.5),
    }
    .into()
}

fn said() -> Event {
    let fields = json!({
        "input": "i1", "content": [{"type": "text", "text": "Look."}], "by": "person",
    });
    Event::from_payload("input.accepted", &fields.to_string()).expect("a fact")
}

#[tokio::test]
async fn q10_the_end_of_a_session_is_looked_at_again_without_what_stands_before_it() {
    let id = SessionId::new("one");
    let store = CountingStore { inner: MemoryStore::new(), read: AtomicU64::new(0) };
    let layer: &dyn Store = &store;
    let mut writer = Writer::of(layer, &id).await;
    writer.write_facts(layer, &[opened(), said()]).await;
    writer.write_facts(layer, &vec![failed(); 1_000]).await;
    let look = async |meta: SessionMeta, failures: u64, read: u64, why: &str| {
        let end = SessionEnd::read(layer, &id).await.expect("readable").expect("it is there");
        let told = json!(end.to_summary(&meta, "idle".into()));
        assert_eq!(told["usage"]["input"], json!(failures * 10), "{why}");
        assert_eq!(told["cost_usd"], json!(failures as f64 * 0.5), "{why}");
        assert_ne!(told["permission"], json!(""), "{why}");
        assert_eq!(store.read.swap(0, Ordering::SeqCst), read, "{why}");
        end
    };
    // And its last record once more: what is kept is bound to it.
    look(writer.meta(), 1_000, 1_003, "the first look loads the session").await;
    // The record at its place, and those since.
    look(writer.meta(), 1_000, 1, "the second reads nothing").await;
    writer.write_facts(layer, &[failed(), failed(), said()]).await;
    let end = look(writer.meta(), 1_002, 4, "then what came since").await;
    let entries = read_last_entries(layer, &id, &end, 1).await.expect("readable");
    assert!(entries.len() == 1 && entries[0].text.contains("Look."), "{}", entries[0].text);
    assert_eq!(store.read.swap(0, Ordering::SeqCst), 64, "an entry is looked for at the end");
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
        look(writer.meta(), 1_002, 1_007, how).await;
    }
    let nobody = SessionEnd::read(layer, &SessionId::new("none")).await.expect("readable");
    assert!(nobody.is_none());
}

#[tokio::test]
async fn q10_what_a_session_asks_is_told_at_its_end_however_long_ago_it_asked() {
    let id = SessionId::new("one");
    let store = MemoryStore::new();
    let mut writer = Writer::of(&store, &id).await;
    let asked = json!({
        "question": "q1", "call": "c1", "text": "Which harbour?", "options": [], "multiple": false,
    });
    let asked = Event::from_payload("question.asked", &asked.to_string()).expect("a fact");
    let answered = json!({ "question": "q1", "answer": "Ayr", "by": "ann" });
    let answered = Event::from_payload("question.answered", &answered.to_string()).expect("a fact");
    writer.write_facts(&store, &[opened(), asked]).await;
    writer.write_facts(&store, &vec![failed(); 1_000]).await;
    for why in ["loaded", "kept"] {
        let end = SessionEnd::read(&store, &id).await.expect("readable").expect("it is there");
        let told = json!(end.to_summary(&writer.meta(), "waiting".into()));
        assert_eq!(told["question"]["text"], "Which harbour?", "{why}");
    }
    writer.write_facts(&store, &[answered]).await;
    let end = SessionEnd::read(&store, &id).await.expect("readable").expect("it is there");
    let told = json!(end.to_summary(&writer.meta(), "idle".into()));
    assert_eq!(told.get("question"), None, "it was answered");
}

#[tokio::test]
async fn d2_facts_are_visited_once_and_in_order_and_none_behind_a_break() {
    let id = SessionId::new("one");
    let store = MemoryStore::new();
    let mut writer = Writer::of(&store, &id).await;
    for more in [0, 512, 88, 424, 1_976] {
        if more > 0 {
            writer.write_facts(&store, &vec![failed(); more]).await;
        }
        let mut seen = Vec::new();
        visit_session_facts(&store, &id, |fact| seen.push(fact.seq)).await.expect("whole");
        let (found, written) = (seen.len(), writer.facts);
        assert!(seen.into_iter().eq(1..=written), "{found} of {written}");
    }
    let sound = fact_record(&id, 3_001, NOW, &failed(), &writer.last);
    let mut broken = fact_record(&id, 3_002, NOW, &failed(), &sound.hash);
    broken.payload = broken.payload.replace("10", "11");
    writer.facts += 2;
    writer.write_records(&store, 3_000, vec![sound, broken]).await;
    let mut seen = Vec::new();
    let found = visit_session_facts(&store, &id, |fact| seen.push(fact.seq)).await;
    let why = format!("{:#}", found.expect_err("it was changed"));
    assert!(why.contains("record 3002 was changed"), "{why}");
    // Those that were read with it were not given out.
    let found = seen.len();
    assert!(seen.into_iter().eq(1..=2_560), "{found}");
}
