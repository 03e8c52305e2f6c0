//! A reply in the words of Chat Completions, with what the vendors made of them.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Map, Value};
use weir_core::message::MessageBlock;
use weir_core::model::{
    FailureClass, ModelReply, ModelSignal, ReplyBlock, ReplyCall, StopReason, Usage,
};

use super::super::VendorQuirks;
use super::super::failure::{self, ProviderFailure};
use super::super::stream::{AssembleReply, REPLY_PIECES_MAX, damaged_event, too_many_pieces};
use super::NAME;

pub(super) struct OpenAiChatAssembly {
    quirks: VendorQuirks,
    text: String,
    thinking: String,
    /// Structured reasoning of a gateway, put together again from its pieces.
    details: Vec<Map<String, Value>>,
    citations: Vec<Value>,
    images: Vec<(String, Vec<u8>)>,
    calls: Vec<OpenAiChatCall>,
    refused: bool,
    usage: Usage,
    stop: Option<StopReason>,
    done: bool,
    kept: usize,
}

struct OpenAiChatCall {
    index: u32,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct OpenAiChatChunk<'a> {
    #[serde(borrow, default = "Vec::new")]
    choices: Vec<OpenAiChatChoice<'a>>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct OpenAiChatChoice<'a> {
    #[serde(borrow)]
    delta: Option<OpenAiChatDelta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<OpenAiChatText<'a>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct OpenAiChatDelta<'a> {
    #[serde(borrow)]
    content: Option<OpenAiChatContent<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<OpenAiChatText<'a>>,
    #[serde(borrow)]
    reasoning: Option<OpenAiChatText<'a>>,
    reasoning_details: Option<Vec<Map<String, Value>>>,
    #[serde(borrow)]
    refusal: Option<OpenAiChatText<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    annotations: Option<Vec<Value>>,
    images: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    id: Option<OpenAiChatText<'a>>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow)]
    name: Option<OpenAiChatText<'a>>,
    #[serde(borrow)]
    arguments: Option<OpenAiChatContent<'a>>,
}

/// Text that is borrowed from the event where it has no escapes.
#[derive(Deserialize)]
struct OpenAiChatText<'a>(#[serde(borrow)] Cow<'a, str>);

/// Text, or what some vendors send in its place.
enum OpenAiChatContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Value>),
    Object(Value),
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    prompt_cache_hit_tokens: Option<u64>,
}

impl WireUsage {
    fn to_usage(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|d| d.cached_tokens).or(self.prompt_cache_hit_tokens);
        let cache_read = cached.unwrap_or(0).min(self.prompt_tokens);
        let written = details.and_then(|d| d.cache_write_tokens).unwrap_or(0);
        let reasoning = self.completion_tokens_details.as_ref();
        let reasoning = reasoning.and_then(|d| d.reasoning_tokens).unwrap_or(0);
        // One vendor counts reasoning beside the completion, not in it; the total tells.
        let with_reasoning = self.completion_tokens.saturating_add(reasoning);
        let apart = self.total_tokens == Some(self.prompt_tokens.saturating_add(with_reasoning))
            && reasoning > 0;
        Usage {
            input: self.prompt_tokens.saturating_sub(cache_read).saturating_sub(written),
            output: if apart { with_reasoning } else { self.completion_tokens },
            cache_read,
            cache_write: written,
            reasoning,
        }
    }
}

/// What the vendor counted.
pub(crate) fn read_usage(usage: &Value) -> Usage {
    WireUsage::deserialize(usage).map(|usage| usage.to_usage()).unwrap_or_default()
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl<'de: 'a, 'a> Deserialize<'de> for OpenAiChatContent<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = OpenAiChatContent<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("text, a list of parts or an object")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(OpenAiChatContent::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(OpenAiChatContent::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element::<Value>()? {
                    parts.push(part);
                }
                Ok(OpenAiChatContent::Parts(parts))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let map = Map::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(OpenAiChatContent::Object(Value::Object(map)))
            }
        }
        d.deserialize_any(ContentVisitor)
    }
}

impl OpenAiChatAssembly {
    pub(super) fn new(quirks: &VendorQuirks) -> OpenAiChatAssembly {
        OpenAiChatAssembly {
            quirks: quirks.clone(),
            text: String::new(),
            thinking: String::new(),
            details: Vec::new(),
            citations: Vec::new(),
            images: Vec::new(),
            calls: Vec::new(),
            refused: false,
            usage: Usage::default(),
            stop: None,
            done: false,
            kept: 0,
        }
    }

    fn add_text(&mut self, text: Cow<'_, str>, signal: &mut dyn FnMut(ModelSignal)) {
        if !text.is_empty() {
            self.kept += text.len();
            self.text.push_str(&text);
            signal(ModelSignal::Text(text.into_owned()));
        }
    }

    fn add_thinking(&mut self, text: Cow<'_, str>, signal: &mut dyn FnMut(ModelSignal)) {
        if !text.is_empty() {
            self.kept += text.len();
            self.thinking.push_str(&text);
            signal(ModelSignal::Thinking(text.into_owned()));
        }
    }

    fn apply_delta(
        &mut self,
        delta: OpenAiChatDelta<'_>,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        // Some vendors send the same thought under both names.
        match (delta.reasoning_content, delta.reasoning) {
            (Some(OpenAiChatText(text)), _) | (None, Some(OpenAiChatText(text))) => {
                self.add_thinking(text, signal)
            }
            (None, None) => {}
        }
        match delta.content {
            Some(OpenAiChatContent::Text(text)) => self.add_text(text, signal),
            Some(OpenAiChatContent::Parts(parts)) => self.add_parts(parts, signal),
            Some(OpenAiChatContent::Object(_)) | None => {}
        }
        if let Some(OpenAiChatText(text)) = delta.refusal {
            self.refused |= !text.is_empty();
            self.add_text(text, signal);
        }
        for detail in delta.reasoning_details.unwrap_or_default() {
            self.add_detail(detail)?;
        }
        for citation in delta.annotations.unwrap_or_default() {
            self.kept += 256;
            self.citations.push(citation);
        }
        for image in delta.images.unwrap_or_default() {
            let url = image.pointer("/image_url/url").and_then(Value::as_str).unwrap_or_default();
            if let Some(image) = data_url(url) {
                self.kept += image.1.len();
                self.images.push(image);
            }
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.add_call_delta(call, signal)?;
        }
        Ok(())
    }

    /// Content as a list: thinking and text in turn.
    fn add_parts(&mut self, parts: Vec<Value>, signal: &mut dyn FnMut(ModelSignal)) {
        for part in parts {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match part.get("type").and_then(Value::as_str) {
                Some("text") => self.add_text(Cow::Owned(text(&part["text"])), signal),
                Some("thinking") => {
                    for thought in part["thinking"].as_array().into_iter().flatten() {
                        self.add_thinking(Cow::Owned(text(&thought["text"])), signal);
                    }
                    self.add_thinking(Cow::Owned(text(&part["thinking"])), signal);
                }
                Some("reference") => {
                    self.kept += 256;
                    self.citations.push(part);
                }
                Some(_) | None => {}
            }
        }
    }

    /// Pieces of one detail have the same index and type; their texts are joined.
    fn add_detail(&mut self, detail: Map<String, Value>) -> Result<(), ProviderFailure> {
        const JOINED: &[&str] = &["text", "summary", "data"];
        if self.details.len() >= REPLY_PIECES_MAX {
            return Err(too_many_pieces());
        }
        self.kept += detail.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
        let same = |known: &&mut Map<String, Value>| {
            known.get("index") == detail.get("index") && known.get("type") == detail.get("type")
        };
        let Some(known) = self.details.last_mut().filter(same) else {
            self.details.push(detail);
            return Ok(());
        };
        for (name, value) in detail {
            match (known.get_mut(&name), value) {
                (Some(Value::String(text)), Value::String(more))
                    if JOINED.contains(&name.as_str()) =>
                {
                    text.push_str(&more);
                }
                (_, Value::Null) => {}
                (_, value) => {
                    known.insert(name, value);
                }
            }
        }
        Ok(())
    }

    fn add_call_delta(
        &mut self,
        delta: CallDelta<'_>,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        let id = delta.id.map_or(Cow::Borrowed(""), |OpenAiChatText(id)| id);
        let (name, arguments) = match delta.function {
            Some(function) => (
                function.name.map_or(Cow::Borrowed(""), |OpenAiChatText(name)| name),
                function.arguments,
            ),
            None => (Cow::Borrowed(""), None),
        };
        let index = delta.index.unwrap_or_else(|| match self.calls.last() {
            Some(last) if id.is_empty() && name.is_empty() => last.index,
            Some(last) => last.index.wrapping_add(1),
            None => 0,
        });
        // A new id under a known index is a new call: some servers number all of them 0.
        let known = self.calls.iter().rposition(|call| {
            call.index == index && (id.is_empty() || call.id.is_empty() || call.id == id)
        });
        let at = match known {
            Some(at) => at,
            None if self.calls.len() >= REPLY_PIECES_MAX => return Err(too_many_pieces()),
            None => {
                let (id, name) = (String::new(), String::new());
                self.calls.push(OpenAiChatCall { index, id, name, arguments: String::new() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            call.id.push_str(&id);
        }
        if !name.is_empty() && call.name.is_empty() {
            call.name.push_str(&name);
            signal(ModelSignal::CallBegun(name.into_owned()));
        }
        let more = match arguments {
            Some(OpenAiChatContent::Text(text)) => text,
            Some(OpenAiChatContent::Object(object)) => Cow::Owned(object.to_string()),
            Some(OpenAiChatContent::Parts(_)) | None => Cow::Borrowed(""),
        };
        call.arguments.push_str(&more);
        self.kept += more.len();
        Ok(())
    }

    fn finish_reason(&mut self, reason: &str) -> Result<(), ProviderFailure> {
        self.stop = Some(match reason {
            "tool_calls" | "function_call" => StopReason::Calls,
            "length" | "model_length" => StopReason::MaxTokens,
            "content_filter" => StopReason::Refusal,
            "error" | "network_error" | "insufficient_system_resource" => {
                return Err(ProviderFailure::new(
                    FailureClass::Overloaded,
                    format!("The provider stopped in mid-answer and gave as reason: {reason}."),
                ));
            }
            _ => StopReason::End,
        });
        Ok(())
    }
}

impl AssembleReply for OpenAiChatAssembly {
    fn take_event(
        &mut self,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        if data.trim_ascii() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: OpenAiChatChunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => return Err(unreadable_event(data, &error)),
        };
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(failure::from_stream(&error));
        }
        if let Some(usage) = &chunk.usage {
            self.usage = usage.to_usage();
        }
        // Only one choice was asked for.
        if let Some(choice) = chunk.choices.into_iter().next() {
            if let Some(error) = choice.error.filter(|error| !error.is_null()) {
                return Err(failure::from_stream(&error));
            }
            if let Some(delta) = choice.delta {
                self.apply_delta(delta, signal)?;
            }
            if let Some(OpenAiChatText(reason)) = choice.finish_reason
                && !reason.is_empty()
            {
                self.finish_reason(&reason)?;
            }
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    /// Usage comes after the stop reason, so only the vendor's last word ends the wait.
    fn is_over(&self) -> bool {
        self.done
    }

    fn kept_bytes(&self) -> usize {
        self.kept
    }

    fn into_reply(self) -> Result<ModelReply, ProviderFailure> {
        let mut blocks = Vec::new();
        if !self.thinking.is_empty() || !self.details.is_empty() {
            let mut data = Map::new();
            if !self.details.is_empty() {
                let details = self.details.into_iter().map(Value::Object).collect();
                data.insert("details".into(), Value::Array(details));
            }
            let seal = self.quirks.replay_reasoning.then(|| self.quirks.make_seal(NAME, data));
            blocks.push(ReplyBlock::Said(MessageBlock::Thinking { text: self.thinking, seal }));
        }
        if !self.text.is_empty() {
            let (text, citations) = (self.text, self.citations);
            blocks.push(ReplyBlock::Said(MessageBlock::Text { text, citations, seal: None }));
        }
        for (media_type, data) in self.images {
            blocks.push(ReplyBlock::Image { media_type, data });
        }
        let calls = !self.calls.is_empty();
        blocks.extend(self.calls.into_iter().map(|call| {
            ReplyBlock::Call(ReplyCall {
                wire_id: call.id,
                tool: call.name,
                arguments: call.arguments,
                seal: None,
            })
        }));
        let stop = match self.stop {
            // Local servers say `stop` although they called.
            Some(StopReason::End) | None if calls => StopReason::Calls,
            Some(StopReason::End) if self.refused => StopReason::Refusal,
            Some(stop) => stop,
            None => StopReason::End,
        };
        Ok(ModelReply::Whole { blocks, stop, usage: self.usage, repairs: Vec::new() })
    }
}

fn unreadable_event(data: &str, error: &serde_json::Error) -> ProviderFailure {
    if serde_json::from_str::<IgnoredAny>(data).is_ok()
        && let Ok(value) = serde_json::from_str::<Value>(data)
        && let Some(error) = value.get("error").filter(|error| !error.is_null())
    {
        return failure::from_stream(error);
    }
    damaged_event(data, error)
}

/// Media type and bytes of a `data:` address.
pub(in crate::dialect) fn data_url(url: &str) -> Option<(String, Vec<u8>)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    // What is no base64 is an empty picture: it is told, not lost.
    Some((media_type.to_owned(), decode_base64(data).unwrap_or_default()))
}

/// Bytes of base64 text, with or without padding.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
    let engines = [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE];
    engines.iter().find_map(|engine| engine.decode(text).ok())
}
