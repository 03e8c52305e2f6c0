//! What the tests of the dialects share: requests, media, and the vendors' rules as a checker.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use weir_core::ids::{BlobId, SessionId, TurnId};
use weir_core::message::{Message, StoredMedia};
use weir_core::model::{ModelInfo, ModelRef, ModelRequest, Thinking};
use weir_core::tool::{ToolGroup, ToolSpec};
use weir_engine::ports::MediaMap;

pub(crate) const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
pub(crate) const PDF: &str = "JVBERi0xLjQKJSVFT0YK";

/// Media whose blob is named after its type.
pub(crate) fn media(media_type: &str, data: &str) -> StoredMedia {
    StoredMedia {
        media_type: media_type.into(),
        blob: BlobId::new(media_type),
        bytes: data.len() as u64 / 4 * 3,
        name: Some(media_type.replace('/', ".")),
    }
}

pub(crate) fn media_map() -> MediaMap {
    [("image/png", IMAGE), ("application/pdf", PDF)]
        .into_iter()
        .map(|(name, data)| (BlobId::new(name), Arc::from(data)))
        .collect()
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        group: ToolGroup::Read,
        input_schema: json!({
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Which."}},
            "required": ["path"]
        })
        .into(),
        deferred: false,
        parallel_safe: true,
        poll: false,
        keeps_result: false,
        timeout_ms: None,
    }
}

pub(crate) fn model(dialect: &str) -> Arc<ModelInfo> {
    let abilities = ["tools", "images", "pdf", "thinking"];
    Arc::new(ModelInfo {
        model: ModelRef { provider: "test".into(), name: name_of(dialect).into() },
        window: 200_000,
        max_output: 32_000,
        price: None,
        abilities: abilities.map(str::to_owned).to_vec(),
        may_cut: false,
    })
}

fn name_of(dialect: &str) -> &'static str {
    match dialect {
        "anthropic" => "claude-sonnet-4-5",
        "gemini" => "gemini-2.5-pro",
        "ollama" => "qwen3:8b",
        _ => "gpt-5",
    }
}

pub(crate) fn request(dialect: &str, history: Vec<Message>) -> ModelRequest {
    ModelRequest {
        session: SessionId::new("s1"),
        turn: TurnId(1),
        model: model(dialect),
        system: "You are a careful assistant.".into(),
        tools: Arc::new(vec![tool("read_file"), tool("mcp.fs/list files"), tool("list_files")]),
        history: Arc::new(history.into_iter().map(Arc::new).collect()),
        tail: Some("[ ] one task".into()),
        thinking: Thinking::Medium,
    }
}

/// The same of a model that makes pictures.
pub(crate) fn drawing(request: ModelRequest) -> ModelRequest {
    let mut model = request.model.as_ref().clone();
    model.abilities.push("image_output".into());
    ModelRequest { model: Arc::new(model), ..request }
}

/// Numbers that repeat: tests must fail the same way twice.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// Fails when `body` breaks a rule for which the vendor would answer with status 400.
pub(crate) fn lint(dialect: &str, body: &Value) {
    let mut problems = Vec::new();
    match dialect {
        "anthropic" => anthropic(body, &mut problems),
        "openai-chat" => openai_chat(body, &mut problems),
        "openai-responses" => openai_responses(body, &mut problems),
        "gemini" => gemini(body, &mut problems),
        "ollama" => ollama(body, &mut problems),
        other => problems.push(format!("no rules for {other}")),
    }
    assert!(problems.is_empty(), "{dialect}: {problems:#?}\n{body:#}");
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

fn is_word(text: &str, length_max: usize) -> bool {
    (1..=length_max).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn names<'a>(names: impl Iterator<Item = &'a str>, problems: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for name in names {
        if !is_word(name, 64) {
            problems.push(format!("tool name {name:?}"));
        }
        if !seen.insert(name.to_owned()) {
            problems.push(format!("tool name {name:?} twice"));
        }
    }
}

fn kind_is(block: &Value, kind: &str) -> bool {
    block["type"] == kind
}

fn anthropic(body: &Value, problems: &mut Vec<String>) {
    if body.to_string().matches("\"cache_control\"").count() > 4 {
        problems.push("more than 4 cache markers".into());
    }
    let messages = list(&body["messages"]);
    if messages.first().is_none_or(|first| first["role"] != "user") {
        problems.push("the first message is not the user's".into());
    }
    if messages.last().is_none_or(|last| last["role"] != "user") {
        problems.push("the last message is not the user's".into());
    }
    let ids = |at: Option<usize>, kind: &str, name: &str| -> Vec<String> {
        let blocks = at.and_then(|at| messages.get(at)).map_or(&[][..], |m| list(&m["content"]));
        blocks.iter().filter(|b| kind_is(b, kind)).map(|b| text(&b[name]).to_owned()).collect()
    };
    let mut all_uses = HashSet::new();
    let last_said = messages.iter().rposition(|message| message["role"] == "assistant");
    let thinking = matches!(text(&body["thinking"]["type"]), "enabled" | "adaptive");
    for (at, message) in messages.iter().enumerate() {
        let blocks = list(&message["content"]);
        if blocks.is_empty() {
            problems.push(format!("message {at} is empty"));
        }
        if at > 0 && messages[at - 1]["role"] == message["role"] {
            problems.push(format!("message {at} has the role of the one before"));
        }
        let uses = ids(Some(at), "tool_use", "id");
        let results = ids(Some(at), "tool_result", "tool_use_id");
        if uses != ids(Some(at + 1), "tool_result", "tool_use_id") && !uses.is_empty() {
            problems.push(format!("message {at}: calls and results differ"));
        }
        if results != ids(at.checked_sub(1), "tool_use", "id") && !results.is_empty() {
            problems.push(format!("message {at}: results without calls"));
        }
        if blocks.iter().take(results.len()).any(|block| !kind_is(block, "tool_result")) {
            problems.push(format!("message {at}: results do not come first"));
        }
        for id in uses.iter().filter(|id| !is_word(id, 64) || !all_uses.insert((*id).clone())) {
            problems.push(format!("message {at}: id {id:?}"));
        }
        for block in blocks {
            let inner = list(&block["content"]);
            for block in inner.iter().chain([block]) {
                if kind_is(block, "text") && is_blank(text(&block["text"])) {
                    problems.push(format!("message {at}: empty text"));
                }
            }
            if kind_is(block, "thinking") && text(&block["signature"]).is_empty() {
                problems.push(format!("message {at}: thinking without signature"));
            }
        }
        let is_thought = |block: &Value| text(&block["type"]).contains("thinking");
        if message["role"] == "assistant" && blocks.last().is_some_and(is_thought) {
            problems.push(format!("message {at} ends in thinking"));
        }
        if thinking && !uses.is_empty() && Some(at) == last_said && !blocks.iter().any(is_thought) {
            problems.push(format!("message {at}: calls lost their thinking"));
        }
    }
    names(list(&body["tools"]).iter().map(|tool| text(&tool["name"])), problems);
}

fn openai_chat(body: &Value, problems: &mut Vec<String>) {
    let messages = list(&body["messages"]);
    let mut open: Vec<String> = Vec::new();
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        if role == "tool" {
            let id = text(&message["tool_call_id"]);
            match open.iter().position(|known| known == id) {
                Some(place) => drop(open.remove(place)),
                None => problems.push(format!("message {at} answers no call")),
            }
            before = role;
            continue;
        }
        if !open.is_empty() {
            problems.push(format!("message {at}: unanswered {open:?}"));
            open.clear();
        }
        if role == before && role != "system" {
            problems.push(format!("message {at} has the role of the one before"));
        }
        before = role;
        for call in list(&message["tool_calls"]) {
            let id = text(&call["id"]);
            if !is_word(id, 40) || open.iter().any(|known| known == id) {
                problems.push(format!("message {at}: id {id:?}"));
            }
            open.push(id.to_owned());
            if !serde_json::from_str::<Value>(text(&call["function"]["arguments"]))
                .is_ok_and(|arguments| arguments.is_object())
            {
                problems.push(format!("message {at}: arguments are no JSON object"));
            }
        }
        let content = &message["content"];
        let has_calls = message.get("tool_calls").is_some();
        if !has_calls && (content.as_str().is_some_and(is_blank) || content.is_null()) {
            problems.push(format!("message {at} is empty"));
        }
        for part in list(content) {
            if kind_is(part, "text") && is_blank(text(&part["text"])) {
                problems.push(format!("message {at}: empty text"));
            }
        }
    }
    if !open.is_empty() || !matches!(before, "user" | "tool") {
        problems.push(format!("ends with {before:?}, open {open:?}"));
    }
    let tools = list(&body["tools"]).iter();
    names(tools.map(|tool| text(&tool["function"]["name"])), problems);
}

/// Results have no ids: each stands in the place of its call, with the name of its tool.
fn ollama(body: &Value, problems: &mut Vec<String>) {
    let mut open: Vec<String> = Vec::new();
    let mut before = "";
    for (at, message) in list(&body["messages"]).iter().enumerate() {
        let role = text(&message["role"]);
        if role == "tool" {
            let name = text(&message["tool_name"]);
            match open.first() {
                Some(first) if first == name => drop(open.remove(0)),
                _ => problems.push(format!("message {at}: {name:?} answers none of {open:?}")),
            }
            before = role;
            continue;
        }
        if !open.is_empty() {
            problems.push(format!("message {at}: unanswered {open:?}"));
            open.clear();
        }
        if role == before && role != "system" {
            problems.push(format!("message {at} has the role of the one before"));
        }
        before = role;
        for call in list(&message["tool_calls"]) {
            open.push(text(&call["function"]["name"]).to_owned());
            if !call["function"]["arguments"].is_object() {
                problems.push(format!("message {at}: arguments are no object"));
            }
        }
        let pictures = list(&message["images"]);
        if pictures.iter().any(|picture| text(picture).is_empty()) {
            problems.push(format!("message {at}: an empty picture"));
        }
        let is_silent = message.get("tool_calls").is_none() && pictures.is_empty();
        if !message["content"].is_string() || is_silent && is_blank(text(&message["content"])) {
            problems.push(format!("message {at} is empty"));
        }
    }
    if !open.is_empty() || !matches!(before, "user" | "tool") {
        problems.push(format!("ends with {before:?}, open {open:?}"));
    }
    if !body["options"]["num_ctx"].is_u64() {
        problems.push("no window is asked for".into());
    }
    let tools = list(&body["tools"]).iter();
    names(tools.map(|tool| text(&tool["function"]["name"])), problems);
}

fn openai_responses(body: &Value, problems: &mut Vec<String>) {
    let items = list(&body["input"]);
    let mut open: Vec<String> = Vec::new();
    let mut ids = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        match text(&item["type"]) {
            "function_call" => {
                let id = text(&item["call_id"]);
                if !is_word(id, 64) || !ids.insert(id.to_owned()) {
                    problems.push(format!("item {at}: id {id:?}"));
                }
                open.push(id.to_owned());
            }
            "function_call_output" => {
                let id = text(&item["call_id"]);
                match open.iter().position(|known| known == id) {
                    Some(place) => drop(open.remove(place)),
                    None => problems.push(format!("item {at} answers no call")),
                }
            }
            "reasoning" => {
                let next = items.get(at + 1).map_or("", |next| text(&next["type"]));
                let by_user = items.get(at + 1).is_some_and(|next| next["role"] == "user");
                if by_user || !matches!(next, "message" | "function_call" | "reasoning") {
                    problems.push(format!("item {at}: reasoning leads to nothing"));
                }
            }
            "message" => {
                if item["role"] == "user" && !open.is_empty() {
                    problems.push(format!("item {at}: unanswered {open:?}"));
                    open.clear();
                }
                let parts = list(&item["content"]);
                let blank = |part: &Value| part.get("text").is_some_and(|t| is_blank(text(t)));
                if parts.iter().any(blank) || item["content"].as_str().is_some_and(is_blank) {
                    problems.push(format!("item {at}: empty text"));
                }
            }
            other => problems.push(format!("item {at}: type {other:?}")),
        }
    }
    if !open.is_empty() {
        problems.push(format!("ends with unanswered {open:?}"));
    }
    // A tool of the vendor's own has no name.
    let own = list(&body["tools"]).iter().filter(|tool| tool["type"] == "function");
    names(own.map(|tool| text(&tool["name"])), problems);
}

fn gemini(body: &Value, problems: &mut Vec<String>) {
    let contents = list(&body["contents"]);
    for (at, content) in contents.iter().enumerate() {
        let parts = list(&content["parts"]);
        if parts.is_empty() {
            problems.push(format!("content {at} is empty"));
        }
        if (at % 2 == 0) != (content["role"] == "user") {
            problems.push(format!("content {at} has role {}", content["role"]));
        }
        let called = |content: &Value, kind: &str| -> Vec<String> {
            let parts = list(&content["parts"]).iter();
            parts.filter_map(|part| Some(text(&part.get(kind)?["name"]).to_owned())).collect()
        };
        let calls = called(content, "functionCall");
        let next = contents.get(at + 1).map_or(Vec::new(), |c| called(c, "functionResponse"));
        if calls != next {
            problems.push(format!("content {at}: calls {calls:?}, responses {next:?}"));
        }
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        if first.is_some_and(|part| part.get("thoughtSignature").is_none()) {
            problems.push(format!("content {at}: the first call has no signature"));
        }
        for part in parts {
            let unsigned = part.get("thoughtSignature").is_none();
            if unsigned && part.get("text").is_some_and(|t| is_blank(text(t))) {
                problems.push(format!("content {at}: empty text"));
            }
        }
    }
    if contents.len().is_multiple_of(2) {
        problems.push("the last content is not the user's".into());
    }
    let tools = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    names(tools.map(|tool| text(&tool["name"])), problems);
}
