//! Anthropic's server tool `web_search_20250305`: `server_tool_use`, `web_search_tool_result`, citations
//! of text blocks. Not here: what of it is told to the model that asked.

use serde_json::{Value, json};
use weir_core::model::ModelInfo;
use weir_engine::ports::{VendorPage, VendorQuestion};

use super::{INSTRUCTIONS, SearchReading, answer_tokens, count_of, question_text, text_of};
use crate::dialect::anthropic::read_usage;

pub(super) fn request_body(info: &ModelInfo, question: &VendorQuestion) -> Value {
    let mut tool = json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 1 });
    if let Some(site) = &question.site {
        tool["allowed_domains"] = json!([site]);
    }
    json!({
        "model": info.model.name,
        "max_tokens": answer_tokens(info),
        "system": INSTRUCTIONS,
        "tools": [tool],
        "messages": [{ "role": "user", "content": question_text(question, false) }],
    })
}

/// Adds what the vendor said when it paused, as it came: what it sealed of the pages
/// (`encrypted_content`) is of use to it only unchanged. Whether there is something to go on with.
pub(super) fn continue_request(body: &mut Value, paused: &Value) -> bool {
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else {
        return false;
    };
    messages.push(json!({ "role": "assistant", "content": paused }));
    true
}

pub(super) fn read_answer(answer: &Value) -> Option<SearchReading> {
    let content = answer["content"].as_array()?;
    let mut read =
        SearchReading { usage: read_usage(&answer["usage"]), ..SearchReading::default() };
    read.searches = count_of(&answer["usage"]["server_tool_use"]["web_search_requests"]);
    for block in content {
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                read.text.push_str(block["text"].as_str().unwrap_or_default());
                let citations = block["citations"].as_array().into_iter().flatten();
                citations.for_each(|citation| read.add_page(cited_page(citation)));
            }
            "server_tool_use" if block["name"] == "web_search" => {
                read.searched.push(text_of(&block["input"]["query"]));
            }
            "web_search_tool_result" => read_results(&block["content"], &mut read),
            _ => {}
        }
    }
    match answer["stop_reason"].as_str() {
        Some("pause_turn") => read.paused = Some(answer["content"].clone()),
        Some("refusal") => read.refusal = Some("the vendor's safety rules refused it".into()),
        _ => {}
    }
    Some(read)
}

fn read_results(content: &Value, read: &mut SearchReading) {
    let Some(rows) = content.as_array() else {
        read.refusal = Some(refusal_text(content["error_code"].as_str().unwrap_or_default()));
        return;
    };
    for row in rows.iter().filter(|row| row["type"] == "web_search_result") {
        read.add_page(VendorPage {
            title: text_of(&row["title"]),
            url: text_of(&row["url"]),
            passage: String::new(),
            date: row["page_age"].as_str().map(str::to_owned),
        });
    }
}

fn cited_page(citation: &Value) -> VendorPage {
    VendorPage {
        title: text_of(&citation["title"]),
        url: text_of(&citation["url"]),
        passage: text_of(&citation["cited_text"]),
        date: None,
    }
}

fn refusal_text(code: &str) -> String {
    let said = match code {
        "too_many_requests" => "too many searches for now; wait before the next one",
        "max_uses_exceeded" => "it wanted to search more than once",
        "query_too_long" => "the words are too long; write fewer",
        "invalid_input" | "invalid_tool_input" => {
            "it does not take these words; write plainer ones"
        }
        "unavailable" => "the vendor's search failed; try again later",
        _ => "the vendor refused the search",
    };
    let code: String = code.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    if code.is_empty() { said.to_owned() } else { format!("{said} ({code})") }
}
