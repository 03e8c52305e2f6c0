//! Cases of searches: what is sent, and what a documented answer becomes (`tests/search`).

use std::path::{Path, PathBuf};

use serde_json::json;
use weir_core::model::Price;

use super::*;
use crate::catalogue::ModelCatalogue;

/// Each shape with its folder and a model of it.
const SHAPES: [(SearchShape, &str, &str); 5] = [
    (SearchShape::Anthropic, "anthropic", "anthropic/claude-haiku-5-5"),
    (SearchShape::OpenaiResponses, "openai-responses", "openai/gpt-6.1-sol"),
    (SearchShape::OpenaiChat, "openai-chat", "openai-chat/gpt-4o-search-preview"),
    (SearchShape::Openrouter, "openrouter", "openrouter/anthropic/claude-sonnet-5.5"),
    (SearchShape::Gemini, "gemini", "gemini/gemini-3.1-pro-preview"),
];

fn question() -> VendorQuestion {
    VendorQuestion { words: "tide tables".into(), site: None, age: None, limit: 3 }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/search")
}

fn compare(path: &Path, found: &Value) {
    let found = serde_json::to_string_pretty(found).expect("JSON") + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).expect("writable");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(found, expected, "{} differs; UPDATE=1 writes it anew", path.display());
}

fn info(model: &str) -> ModelInfo {
    ModelCatalogue::built_in().resolve_model(model).expect("a known model").info
}

fn reading_json(read: &Result<SearchReading, String>) -> Value {
    let read = match read {
        Ok(read) => read,
        Err(why) => return json!({ "error": why }),
    };
    let pages: Vec<Value> = read
        .pages
        .iter()
        .map(|page| {
            json!({ "title": page.title, "url": page.url, "passage": page.passage, "date": page.date })
        })
        .collect();
    json!({
        "pages": pages,
        "text": read.text,
        "searched": read.searched,
        "searches": read.searches,
        "usage": read.usage,
        "told_cost": read.told_cost,
        "refusal": read.refusal,
        "paused": read.paused,
    })
}

/// `answer.json` is what the vendor's documentation shows; `status`, where it stands, is its HTTP status.
#[test]
fn k10_documented_answers_of_vendors_become_pages() {
    for (shape, name, model) in SHAPES {
        let catalogue = ModelCatalogue::built_in();
        let vendor = catalogue.resolve_model(model).expect("a known model").vendor;
        let dialect = crate::find_dialect(&vendor.dialect).expect("its dialect");
        let mut cases: Vec<PathBuf> = std::fs::read_dir(folder().join(name))
            .expect("a folder for each shape")
            .map(|entry| entry.expect("readable").path())
            .filter(|path| path.is_dir())
            .collect();
        cases.sort();
        assert!(cases.len() >= 4, "{name} has too few cases");
        for case in cases {
            let answer = std::fs::read(case.join("answer.json")).expect("an answer");
            let status = std::fs::read_to_string(case.join("status")).ok();
            let found = match status.and_then(|text| text.trim().parse().ok()) {
                Some(status) => match dialect.classify_failure(status, None, &answer) {
                    ModelReply::Failed { message, .. } => Err(message),
                    ModelReply::Whole { .. } => Err("no failure".into()),
                },
                None => read_answer(shape, &serde_json::from_slice(&answer).expect("JSON")),
            };
            compare(&case.join("read.json"), &reading_json(&found));
        }
    }
}

#[test]
fn k10_each_vendor_is_asked_as_it_documents_it() {
    for (shape, name, model) in SHAPES {
        let plain = request_body(shape, &info(model), &question());
        let narrow =
            VendorQuestion { site: Some("noaa.example".into()), age: Some("week"), ..question() };
        let narrow = request_body(shape, &info(model), &narrow);
        let path = request_path(shape, &info(model).model.name);
        let found = json!({ "path": path, "plain": plain, "narrow": narrow });
        compare(&folder().join(name).join("request.json"), &found);
    }
}

/// What the vendor sealed goes back as it came, after what was asked.
#[test]
fn k10_a_paused_search_goes_on_with_what_the_vendor_sealed_unchanged() {
    let path = folder().join("anthropic/paused/answer.json");
    let answer: Value =
        serde_json::from_slice(&std::fs::read(path).expect("a case")).expect("JSON");
    let mut body =
        request_body(SearchShape::Anthropic, &info("anthropic/claude-haiku-5-5"), &question());
    let read = read_answer(SearchShape::Anthropic, &answer).expect("an answer");
    assert!(anthropic::continue_request(&mut body, &read.paused.expect("it paused")));
    assert_eq!(body["messages"][1]["role"], "assistant");
    assert_eq!(body["messages"][1]["content"], answer["content"]);
    assert!(body["messages"][1].to_string().contains("\"encrypted_content\":\"EqgfCioIARgBIiQ3\""));
}

/// Counted as by the dialect of the conversation, whatever a vendor sends.
#[test]
fn z10_numbers_of_tokens_beyond_all_reason_do_not_overflow() {
    let most = u64::MAX;
    let answer = json!({
        "candidates": [{ "content": { "parts": [{ "text": "x" }] }, "finishReason": "STOP" }],
        "usageMetadata": {
            "promptTokenCount": most, "toolUsePromptTokenCount": most,
            "candidatesTokenCount": most, "thoughtsTokenCount": most,
        },
    });
    let read = read_answer(SearchShape::Gemini, &answer).expect("an answer");
    assert_eq!((read.usage.input, read.usage.output), (most, most));
}

#[test]
fn k10_searches_are_priced_by_the_vendors_table() {
    let cost = |model: &str, searches| {
        let resolved = ModelCatalogue::built_in().resolve_model(model).expect("known");
        let offer = resolved.vendor.search_offer(&resolved.info.model.name)?.clone();
        offer.cost_of(&resolved.info.model.name, searches)
    };
    assert_eq!(cost("anthropic/claude-haiku-5-5", 2), Some(0.02));
    assert_eq!(cost("openai/gpt-6.1-sol", 1), Some(0.01));
    assert_eq!(cost("openai-chat/gpt-4o-search-preview", 1), Some(0.025));
    assert_eq!(cost("gemini/gemini-3.1-pro-preview", 3), Some(0.042));
    // One price for the request, however much it searches.
    assert_eq!(cost("gemini/gemini-2.5-flash", 3), Some(0.035));
    // OpenRouter tells the price with its answer; whoever searched nothing pays nothing.
    assert_eq!(cost("openrouter/x/y", 1), None);
    assert_eq!(cost("openrouter/x/y", 0), Some(0.0));
    // Only OpenAI's search models search in Chat Completions.
    assert_eq!(cost("openai-chat/gpt-6.1-sol", 1), None);
    assert_eq!(cost("mistral/mistral-large-latest", 1), None);
}

#[test]
fn k10_a_told_price_beats_the_table_and_an_unknown_one_is_never_free() {
    let catalogue = ModelCatalogue::built_in();
    let model = |name: &str, price| {
        let resolved = catalogue.resolve_model(name).expect("known");
        let info = ModelInfo { price, ..resolved.info };
        let endpoint = ModelEndpoint::from_env(resolved.vendor, &|_| None);
        let transport = ModelTransport::new(crate::transport::TransportOptions::default());
        SearchModel::new(endpoint, Arc::new(info), transport)
    };
    let price = Price { input: 1.0, output: 2.0, cache_read: 0.1, cache_write: 1.0 };
    let usage = Usage { input: 1_000_000, ..Usage::default() };
    let total = SearchReading { usage, searches: 1, ..SearchReading::default() };
    let told = SearchReading { told_cost: Some(0.5), ..total.clone() };
    let known = model("anthropic/claude-haiku-5-5", Some(price)).expect("it searches");
    assert_eq!(known.cost(&total), Some(1.01));
    assert_eq!(known.cost(&told), Some(0.5));
    assert_eq!(known.price_text(), "$10 for 1000 searches, and the tokens");
    let unknown = model("anthropic/claude-haiku-5-5", None).expect("it searches");
    assert_eq!(unknown.cost(&total), None);
    let unfit = model("mistral/mistral-large-latest", None).err().expect("it does not");
    assert!(unfit.to_string().contains("mistral/mistral-large-latest cannot search"), "{unfit}");
}

/// Whatever a vendor sends, reading ends, and ends without a page that has no address.
#[test]
fn k10_odd_answers_are_errors_or_empty() {
    let odd = [
        json!(null),
        json!([]),
        json!({ "content": [1, null, { "type": "web_search_tool_result", "content": {} }] }),
        json!({ "output": [{ "type": "web_search_call" }, { "type": "message", "content": 7 }] }),
        json!({ "choices": [{ "message": { "content": "é", "annotations": [
            { "type": "url_citation", "url_citation": { "url": "", "start_index": 9, "end_index": 3 } },
        ] } }] }),
        json!({ "candidates": [{ "groundingMetadata": { "groundingChunks": [{}],
            "groundingSupports": [{ "groundingChunkIndices": [99, -1, "x"] }] } }] }),
    ];
    for (shape, name, _) in SHAPES {
        for answer in &odd {
            if let Ok(read) = read_answer(shape, answer) {
                assert!(read.pages.iter().all(|page| !page.url.is_empty()), "{name}: {answer}");
            }
        }
    }
}
