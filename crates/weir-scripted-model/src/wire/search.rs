//! What vendors write when their own search tool searched, each as it documents it. Not here: which pages
//! are found (`search`).

use serde_json::{Value, json};

use super::{RefusalResponse, ReplyContext, Wire};
use crate::search::{ScriptedPage, SearchOutcome};

/// The answer of this vendor to a search for `words`.
pub(crate) fn search_answer(
    wire: &dyn Wire,
    context: &ReplyContext,
    words: &str,
    outcome: &SearchOutcome,
) -> RefusalResponse {
    let (pages, refused): (&[ScriptedPage], Option<&str>) = match outcome {
        SearchOutcome::Pages(pages) => (pages, None),
        SearchOutcome::Refused(code) => (&[], Some(code)),
        SearchOutcome::Fault(fault) => return wire.refusal_for(fault),
    };
    let found = FoundPages { words, pages, refused };
    let body = match wire.name() {
        "anthropic" => anthropic_answer(context, &found),
        "openai-responses" => responses_answer(context, &found),
        "gemini" => gemini_answer(context, &found),
        _ => chat_answer(context, &found),
    };
    RefusalResponse::from_json(200, &body)
}

/// What is answered.
struct FoundPages<'a> {
    words: &'a str,
    pages: &'a [ScriptedPage],
    refused: Option<&'a str>,
}

const NOTHING: &str = "Nothing was found.";

impl FoundPages<'_> {
    fn cited(&self) -> impl Iterator<Item = &ScriptedPage> {
        self.pages.iter().filter(|page| !page.passage.is_empty())
    }

    /// A text that cites each page in a line of its own, with the place of each citation in characters.
    fn cited_text(&self) -> (String, Vec<Value>) {
        let (mut text, mut places) = (String::new(), Vec::new());
        for page in self.cited() {
            text.push_str(&format!("- {} ", page.passage));
            let start = text.chars().count();
            text.push_str(&format!("([{}]({}))", page.title, page.url));
            let end = text.chars().count();
            places.push(json!({
                "url": page.url, "title": page.title, "start_index": start, "end_index": end,
            }));
            text.push('\n');
        }
        if text.is_empty() {
            text.push_str(NOTHING);
        }
        (text, places)
    }
}

fn anthropic_answer(context: &ReplyContext, found: &FoundPages<'_>) -> Value {
    let id = format!("srvtoolu_script_{:04}", context.number);
    let row = |(at, page): (usize, &ScriptedPage)| {
        let date = (!page.date.is_empty()).then_some(&page.date);
        json!({
            "type": "web_search_result", "title": page.title, "url": page.url,
            "encrypted_content": format!("sealed{at}"), "page_age": date,
        })
    };
    let result = match found.refused {
        Some(code) => json!({ "type": "web_search_tool_result_error", "error_code": code }),
        None => Value::Array(found.pages.iter().enumerate().map(row).collect()),
    };
    let mut content = vec![
        json!({
            "type": "server_tool_use", "id": id, "name": "web_search",
            "input": { "query": found.words },
        }),
        json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": result }),
    ];
    for page in found.cited() {
        let citation = json!({
            "type": "web_search_result_location", "url": page.url, "title": page.title,
            "encrypted_index": "sealed", "cited_text": page.passage,
        });
        content.push(json!({ "type": "text", "text": page.passage, "citations": [citation] }));
    }
    if found.cited().next().is_none() {
        content.push(json!({ "type": "text", "text": NOTHING }));
    }
    let usage = &context.usage;
    json!({
        "id": format!("msg_script_{:04}", context.number),
        "type": "message",
        "role": "assistant",
        "model": context.model,
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "server_tool_use": { "web_search_requests": u64::from(found.refused.is_none()) },
        },
    })
}

fn responses_answer(context: &ReplyContext, found: &FoundPages<'_>) -> Value {
    let (text, places) = found.cited_text();
    let annotation = |place: Value| {
        let mut citation = place;
        citation["type"] = "url_citation".into();
        citation
    };
    let annotations: Vec<Value> = places.into_iter().map(annotation).collect();
    let source = |page: &ScriptedPage| json!({ "type": "url", "url": page.url });
    let sources: Vec<Value> = found.pages.iter().map(source).collect();
    let status = if found.refused.is_some() { "failed" } else { "completed" };
    let usage = &context.usage;
    json!({
        "id": format!("resp_script_{:04}", context.number),
        "object": "response",
        "status": "completed",
        "error": null,
        "model": context.model,
        "output": [
            {
                "type": "web_search_call", "id": "ws_script", "status": status,
                "action": { "type": "search", "query": found.words, "sources": sources },
            },
            {
                "type": "message", "id": "msg_script", "status": "completed", "role": "assistant",
                "content": [{ "type": "output_text", "text": text, "annotations": annotations }],
            },
        ],
        "usage": { "input_tokens": usage.input, "output_tokens": usage.output },
    })
}

fn chat_answer(context: &ReplyContext, found: &FoundPages<'_>) -> Value {
    let (text, places) = found.cited_text();
    let annotation = |place: Value| json!({ "type": "url_citation", "url_citation": place });
    let annotations: Vec<Value> = places.into_iter().map(annotation).collect();
    let usage = &context.usage;
    json!({
        "id": format!("chatcmpl-script-{:04}", context.number),
        "object": "chat.completion",
        "created": super::CREATED,
        "model": context.model,
        "choices": [{
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant", "content": text, "refusal": found.refused,
                "annotations": annotations,
            },
        }],
        "usage": { "prompt_tokens": usage.input, "completion_tokens": usage.output },
    })
}

fn gemini_answer(context: &ReplyContext, found: &FoundPages<'_>) -> Value {
    if let Some(reason) = found.refused {
        return json!({
            "promptFeedback": { "blockReason": reason },
            "usageMetadata": { "promptTokenCount": context.usage.input },
            "modelVersion": context.model,
        });
    }
    let chunk = |page: &ScriptedPage| json!({ "web": { "uri": page.url, "title": page.title } });
    let chunks: Vec<Value> = found.pages.iter().map(chunk).collect();
    let (mut text, mut supports) = (String::new(), Vec::new());
    for (at, page) in found.pages.iter().enumerate().filter(|(_, page)| !page.passage.is_empty()) {
        let start = text.len();
        text.push_str(&page.passage);
        supports.push(json!({
            "segment": { "startIndex": start, "endIndex": text.len(), "text": page.passage },
            "groundingChunkIndices": [at],
        }));
        text.push(' ');
    }
    if text.is_empty() {
        text.push_str(NOTHING);
    }
    let usage = &context.usage;
    json!({
        "candidates": [{
            "content": { "parts": [{ "text": text }], "role": "model" },
            "finishReason": "STOP",
            "index": 0,
            "groundingMetadata": {
                "webSearchQueries": [found.words],
                "searchEntryPoint": { "renderedContent": "<div></div>" },
                "groundingChunks": chunks,
                "groundingSupports": supports,
            },
        }],
        "usageMetadata": {
            "promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
        },
        "modelVersion": context.model,
    })
}
