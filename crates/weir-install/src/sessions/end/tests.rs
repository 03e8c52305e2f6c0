//! The end of a session is looked at again without what stands before it. That it is told as all of the journal
//! tells it is held for every scenario, beside the faces.

use std::sync::Arc;

use serde_json::json;
use weir_core::event::{Event, SessionOpened};
use weir_core::model::{ModelInfo, ModelRef};
use weir_core::profile::built_in_profiles;
use weir_core::record::SessionSnapshot;
use weir_core::session::SessionConfig;
use weir_core::view::wire::fact_record;
use weir_scenario::counting::CountingStore;
use weir_store::MemoryStore;

use super::super::last::read_last_entries;
use super::super::visit_session_facts;
use super::*;
use crate::set_up::{JournalWriter, NOW, failed_request};

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

fn said() -> Event {
    let fields = json!({
        "input": "i1", "content": [{"type": "text", "text": "Look."}], "by": "person",
    });
    Event::from_payload("input.accepted", &fields.to_string()).expect("a fact")
}

#[tokio::test]
async fn q10_the_end_of_a_session_is_looked_at_again_without_what_stands_before_it() {
    let id = SessionId::new("one");
    let store = CountingStore::new(Arc::new(MemoryStore::new()));
    let layer: &dyn Store = &store;
    let mut writer = JournalWriter::of(layer, &id).await;
    writer.write_facts(layer, &[opened(), said()]).await;
    writer.write_facts(layer, &vec![failed_request(); 1_000]).await;
    let look = async |meta: SessionMeta, failures: u64, read: u64, why: &str| {
        let end = SessionEnd::read(layer, &id).await.expect("readable").expect("it is there");
        let told = json!(end.to_summary(&meta, "idle".into()));
        assert_eq!(told["usage"]["input"], json!(failures * 10), "{why}");
        assert_eq!(told["cost_usd"], json!(failures as f64 * 0.5), "{why}");
        assert_ne!(told["permission"], json!(""), "{why}");
        assert_eq!(store.records_read(), read, "{why}");
        end
    };
    // And its last record once more: what is kept is bound to it.
    look(writer.meta(), 1_000, 1_003, "the first look loads the session").await;
    // The record at its place, and those since.
    look(writer.meta(), 1_000, 1, "the second reads nothing").await;
    writer.write_facts(layer, &[failed_request(), failed_request(), said()]).await;
    let end = look(writer.meta(), 1_002, 4, "then what came since").await;
    let entries = read_last_entries(layer, &id, &end, 1).await.expect("readable");
    assert!(entries.len() == 1 && entries[0].text.contains("Look."), "{}", entries[0].text);
    assert_eq!(store.records_read(), 64, "an entry is looked for at the end");
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
    let mut writer = JournalWriter::of(&store, &id).await;
    let asked = json!({
        "question": "q1", "call": "c1", "text": "Which harbour?", "options": [], "multiple": false,
    });
    let asked = Event::from_payload("question.asked", &asked.to_string()).expect("a fact");
    let answered = json!({ "question": "q1", "answer": "Ayr", "by": "ann" });
    let answered = Event::from_payload("question.answered", &answered.to_string()).expect("a fact");
    writer.write_facts(&store, &[opened(), asked]).await;
    writer.write_facts(&store, &vec![failed_request(); 1_000]).await;
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
    let mut writer = JournalWriter::of(&store, &id).await;
    for more in [0, 512, 88, 424, 1_976] {
        if more > 0 {
            writer.write_facts(&store, &vec![failed_request(); more]).await;
        }
        let mut seen = Vec::new();
        visit_session_facts(&store, &id, |fact| seen.push(fact.seq)).await.expect("whole");
        let (found, written) = (seen.len(), writer.facts);
        assert!(seen.into_iter().eq(1..=written), "{found} of {written}");
    }
    let sound = fact_record(&id, 3_001, NOW, &failed_request(), &writer.last);
    let mut broken = fact_record(&id, 3_002, NOW, &failed_request(), &sound.hash);
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
