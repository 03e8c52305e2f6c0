//! Grounding with Google Search: `groundingMetadata` with its chunks, supports and queries. Not here: what
//! of it is told to the model that asked.

use serde_json::{Value, json};
use weir_core::model::ModelInfo;
use weir_engine::ports::{VendorPage, VendorQuestion};

use super::{INSTRUCTIONS, SearchReading, answer_tokens, question_text, text_of};
use crate::dialect::gemini::read_usage;

pub(super) fn request_path(model: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let name: String = model.chars().filter(plain).collect();
    format!("/v1beta/models/{name}:generateContent")
}

pub(super) fn request_body(info: &ModelInfo, question: &VendorQuestion) -> Value {
    json!({
        "systemInstruction": { "parts": [{ "text": INSTRUCTIONS }] },
        "contents": [{ "role": "user", "parts": [{ "text": question_text(question, true) }] }],
        "tools": [{ "google_search": {} }],
        "generationConfig": { "maxOutputTokens": answer_tokens(info) },
    })
}

pub(super) fn read_answer(answer: &Value) -> Option<SearchReading> {
    let mut read =
        SearchReading { usage: read_usage(&answer["usageMetadata"]), ..SearchReading::default() };
    if let Some(reason) = answer["promptFeedback"]["blockReason"].as_str() {
        read.refusal = Some(format!("the vendor's safety rules refused it ({reason})"));
        return Some(read);
    }
    let candidate = answer["candidates"].as_array()?.first()?;
    for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
        if part["thought"] != true {
            read.text.push_str(part["text"].as_str().unwrap_or_default());
        }
    }
    if let Some(reason @ ("SAFETY" | "PROHIBITED_CONTENT" | "BLOCKLIST" | "SPII")) =
        candidate["finishReason"].as_str()
    {
        read.refusal = Some(format!("the vendor's safety rules refused it ({reason})"));
    }
    read_grounding(&candidate["groundingMetadata"], &mut read);
    Some(read)
}

fn read_grounding(grounding: &Value, read: &mut SearchReading) {
    let queries = grounding["webSearchQueries"].as_array().into_iter().flatten();
    read.searched.extend(queries.filter_map(Value::as_str).map(str::to_owned));
    read.searches = read.searched.iter().filter(|words| !words.trim().is_empty()).count() as u64;
    let chunks = grounding["groundingChunks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let page = |chunk: &Value, passage: String| VendorPage {
        title: text_of(&chunk["web"]["title"]),
        url: text_of(&chunk["web"]["uri"]),
        passage,
        date: None,
    };
    for support in grounding["groundingSupports"].as_array().into_iter().flatten() {
        let passage = text_of(&support["segment"]["text"]);
        let cited = support["groundingChunkIndices"].as_array().into_iter().flatten();
        let cited = cited.filter_map(Value::as_u64).filter_map(|at| usize::try_from(at).ok());
        for chunk in cited.filter_map(|at| chunks.get(at)) {
            read.add_page(page(chunk, passage.clone()));
        }
    }
    chunks.iter().for_each(|chunk| read.add_page(page(chunk, String::new())));
    if read.searches == 0 && !chunks.is_empty() {
        read.searches = 1;
    }
}
