//! Reads as much of a request as a script can ask about. One reader for all dialects: they differ
//! in names, and where a name means one thing in one of them, it means it in all.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Wire;

/// A request, its long parts unread until a script asks for them.
pub(crate) struct WireRequest<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    /// How many replies of the model it holds.
    pub(crate) turns: u64,
    entries: Vec<WireEntry<'a>>,
    system: Vec<&'a RawValue>,
    tools: Option<&'a RawValue>,
    /// Search is asked for by `web_search_options`.
    search_options: bool,
}

/// What a user's side of the conversation holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct UserContent {
    pub(crate) text: String,
    pub(crate) results: String,
    pub(crate) media: usize,
    has_results: bool,
}

#[derive(Deserialize)]
struct WireEntry<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parts: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RequestBody<'a> {
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "systemInstruction", alias = "system_instruction")]
    system_instruction: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    web_search_options: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

impl<'a> WireRequest<'a> {
    /// Reads `body`. Of a Gemini request, model and streaming stand in the address.
    ///
    /// # Errors
    /// A sentence for the one who sent it.
    pub(crate) fn parse_body(wire: &dyn Wire, body: &'a [u8]) -> Result<WireRequest<'a>, String> {
        let text = std::str::from_utf8(body)
            .map_err(|error| format!("the body of the request is not UTF-8: {error}"))?;
        let parsed: RequestBody<'a> = serde_json::from_str(text).map_err(|error| {
            format!("the body of the request is not the JSON expected: {error}")
        })?;
        let key = wire.messages_key();
        let list = match key {
            "input" => parsed.input,
            "contents" => parsed.contents,
            _ => parsed.messages,
        };
        let list = list.ok_or_else(|| format!("{key}: field required"))?;
        let entries = parse_entries(list).map_err(|error| format!("{key}: {error}"))?;
        let turns = group_entries(&entries).filter(|group| group.model).count() as u64;
        Ok(WireRequest {
            body,
            model: parsed.model.map(Cow::into_owned).unwrap_or_default(),
            stream: parsed.stream.unwrap_or(false),
            include_usage: parsed
                .stream_options
                .is_some_and(|options| options.include_usage.unwrap_or(false)),
            turns,
            entries,
            system: [parsed.system, parsed.instructions, parsed.system_instruction]
                .into_iter()
                .flatten()
                .collect(),
            tools: parsed.tools,
            search_options: parsed.web_search_options.is_some(),
        })
    }

    /// What the user's side said since the last reply.
    pub(crate) fn last_user_content(&self) -> UserContent {
        match group_entries(&self.entries).last() {
            Some(group) if !group.model => user_content(&self.entries[group.from..group.to]),
            _ => UserContent::default(),
        }
    }

    /// The last thing the user's side said that answers no call, and how many replies came since.
    pub(crate) fn last_prompt(&self) -> (String, u64) {
        let all: Vec<EntryGroup> = group_entries(&self.entries).collect();
        let mut replies = 0;
        for group in all.iter().rev() {
            if group.model {
                replies += 1;
                continue;
            }
            let said = user_content(&self.entries[group.from..group.to]);
            if !said.has_results {
                return (said.text, replies);
            }
        }
        (String::new(), replies)
    }

    pub(crate) fn system_text(&self) -> String {
        let mut text = String::new();
        for raw in &self.system {
            collect_strings(&parse_value(raw), &mut text);
        }
        for entry in &self.entries {
            if matches!(entry.role.as_deref(), Some("system" | "developer"))
                && let Some(content) = entry.content
            {
                collect_strings(&parse_value(content), &mut text);
            }
        }
        text
    }

    /// Names of the tools offered.
    pub(crate) fn offered_tools(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(tools) = self.tools {
            tool_names(&parse_value(tools), &mut names);
        }
        names
    }

    /// Whether the vendor's own search tool is offered.
    pub(crate) fn wants_search(&self) -> bool {
        let offered = self.tools.map(parse_value).unwrap_or_default();
        let is_search = |tool: &Value| {
            let kind = tool["type"].as_str().unwrap_or_default();
            kind.starts_with("web_search")
                || kind == "openrouter:web_search"
                || tool.get("google_search").is_some()
        };
        self.search_options || offered.as_array().into_iter().flatten().any(is_search)
    }

    /// A number that is the same for the same messages.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for entry in &self.entries {
            for raw in [entry.content, entry.parts, entry.output, entry.tool_calls] {
                raw.map(RawValue::get).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

fn parse_entries(list: &RawValue) -> Result<Vec<WireEntry<'_>>, serde_json::Error> {
    if list.get().starts_with('"') {
        // `input: "text"` of the Responses API, `contents: "text"` of helpful libraries.
        return Ok(vec![WireEntry {
            role: Some(Cow::Borrowed("user")),
            kind: None,
            content: Some(list),
            parts: None,
            output: None,
            tool_calls: None,
        }]);
    }
    serde_json::from_str(list.get())
}

/// A run of neighbours of one side.
struct EntryGroup {
    model: bool,
    from: usize,
    to: usize,
}

fn is_model(entry: &WireEntry<'_>) -> bool {
    match entry.role.as_deref() {
        Some(role) => matches!(role, "assistant" | "model"),
        None => matches!(
            entry.kind.as_deref(),
            Some("function_call" | "reasoning" | "image_generation_call" | "custom_tool_call")
        ),
    }
}

fn group_entries<'e>(entries: &'e [WireEntry<'_>]) -> impl Iterator<Item = EntryGroup> + 'e {
    let mut from = 0;
    std::iter::from_fn(move || {
        let model = is_model(entries.get(from)?);
        let length = entries[from..].iter().take_while(|entry| is_model(entry) == model).count();
        let group = EntryGroup { model, from, to: from + length };
        from = group.to;
        Some(group)
    })
}

fn parse_value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

fn user_content(entries: &[WireEntry<'_>]) -> UserContent {
    let mut said = UserContent::default();
    for entry in entries {
        if matches!(entry.role.as_deref(), Some("system" | "developer")) {
            continue;
        }
        if let Some(output) = entry.output {
            said.has_results = true;
            collect_parts(&parse_value(output), true, &mut said);
        }
        let result = entry.role.as_deref() == Some("tool");
        said.has_results |= result;
        for raw in [entry.content, entry.parts].into_iter().flatten() {
            collect_parts(&parse_value(raw), result, &mut said);
        }
    }
    said
}

fn collect_parts(value: &Value, result: bool, said: &mut UserContent) {
    match value {
        Value::String(text) => add_line(said, result, text),
        Value::Array(list) => list.iter().for_each(|part| collect_parts(part, result, said)),
        Value::Object(part) => {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            let response = part.get("functionResponse").or_else(|| part.get("function_response"));
            if kind == "tool_result" {
                said.has_results = true;
                collect_parts(part.get("content").unwrap_or(&Value::Null), true, said);
            } else if let Some(response) = response {
                said.has_results = true;
                let mut text = String::new();
                collect_strings(response.get("response").unwrap_or(&Value::Null), &mut text);
                add_line(said, true, &text);
                let inner = response.get("parts").unwrap_or(&Value::Null);
                collect_parts(inner, true, said);
            } else if let Some(Value::String(text)) = part.get("text") {
                add_line(said, result, text);
            } else if is_media(kind) || part.keys().any(|key| is_media(key)) {
                said.media += 1;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_media(word: &str) -> bool {
    matches!(
        word,
        "image"
            | "document"
            | "image_url"
            | "input_image"
            | "input_file"
            | "file"
            | "inlineData"
            | "inline_data"
            | "fileData"
    )
}

fn add_line(said: &mut UserContent, result: bool, text: &str) {
    let target = if result { &mut said.results } else { &mut said.text };
    if !target.is_empty() {
        target.push('\n');
    }
    target.push_str(text);
}

/// All strings in `value`, one a line.
fn collect_strings(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
        Value::Array(list) => list.iter().for_each(|value| collect_strings(value, out)),
        Value::Object(map) => map.values().for_each(|value| collect_strings(value, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn tool_names(value: &Value, names: &mut Vec<String>) {
    let Value::Array(list) = value else { return };
    for tool in list {
        let name = tool.get("name").or_else(|| tool.get("function")?.get("name"));
        if let Some(Value::String(name)) = name {
            names.push(name.clone());
        }
        for key in ["functionDeclarations", "function_declarations"] {
            tool_names(tool.get(key).unwrap_or(&Value::Null), names);
        }
    }
}
