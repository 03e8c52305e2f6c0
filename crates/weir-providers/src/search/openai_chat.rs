//! Search in Chat Completions: `web_search_options` of OpenAI's search models, and OpenRouter's server
//! tool; both answer with annotations `url_citation`. Not here: what of it is told to the model that asked.

use serde_json::{Value, json};
use weir_core::model::ModelInfo;
use weir_engine::ports::VendorQuestion;

use super::openai_responses::read_citations;
use super::{INSTRUCTIONS, SearchReading, answer_tokens, question_text};
use crate::dialect::openai_chat::decode::read_usage;

pub(super) fn request_body(info: &ModelInfo, question: &VendorQuestion) -> Value {
    json!({
        "model": info.model.name,
        "max_completion_tokens": answer_tokens(info),
        "web_search_options": { "search_context_size": "low" },
        "messages": messages(question, true),
    })
}

pub(super) fn openrouter_body(info: &ModelInfo, question: &VendorQuestion) -> Value {
    let limit = question.limit;
    let mut parameters = json!({ "max_results": limit, "max_total_results": limit });
    if let Some(site) = &question.site {
        parameters["allowed_domains"] = json!([site]);
    }
    json!({
        "model": info.model.name,
        "max_tokens": answer_tokens(info),
        "usage": { "include": true },
        "tools": [{ "type": "openrouter:web_search", "parameters": parameters }],
        "messages": messages(question, false),
    })
}

fn messages(question: &VendorQuestion, in_words: bool) -> Value {
    json!([
        { "role": "system", "content": INSTRUCTIONS },
        { "role": "user", "content": question_text(question, in_words) },
    ])
}

pub(super) fn read_answer(answer: &Value) -> Option<SearchReading> {
    let choice = answer["choices"].as_array()?.first()?;
    let message = &choice["message"];
    let usage = &answer["usage"];
    let mut read = SearchReading {
        usage: read_usage(usage),
        told_cost: usage["cost"].as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0),
        ..SearchReading::default()
    };
    let text = message["content"].as_str().unwrap_or_default();
    read.text.push_str(text);
    read_citations(text, &message["annotations"], &mut read);
    if let Some(refusal) = message["refusal"].as_str() {
        read.refusal = Some(format!("the vendor's model refused it: {refusal}"));
    }
    if choice["finish_reason"] == "content_filter" {
        read.refusal = Some("the vendor's safety rules refused it".into());
    }
    // OpenAI's search models search with every request, and count nothing; OpenRouter counts.
    let counted = usage["server_tool_use"]["web_search_requests"].as_u64();
    let is_found = !read.pages.is_empty();
    read.searches = counted.unwrap_or(u64::from(is_found || read.told_cost.is_none()));
    Some(read)
}
