//! A reply in the words of Responses.
//!
//! Deltas are only shown; what counts is each item as it stands when it is done.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::message::MessageBlock;
use weir_core::model::{
    FailureClass, ModelReply, ModelSignal, ReplyBlock, ReplyCall, StopReason, Usage,
};

use super::super::VendorQuirks;
use super::super::failure::{self, ProviderFailure};
use super::super::openai_chat::decode::decode_base64;
use super::super::stream::{AssembleReply, REPLY_PIECES_MAX, damaged_event, too_many_pieces};
use super::NAME;

pub(super) struct ResponsesAssembly {
    quirks: VendorQuirks,
    blocks: Vec<ReplyBlock>,
    refused: bool,
    usage: Usage,
    stop: Option<StopReason>,
    kept: usize,
}

/// The part of an event that is read for each of the many small ones.
#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<ResponsesText<'a>>,
}

/// Text that is borrowed from the event where it has no escapes.
#[derive(Deserialize)]
struct ResponsesText<'a>(#[serde(borrow)] Cow<'a, str>);

impl ResponsesAssembly {
    pub(super) fn new(quirks: &VendorQuirks) -> ResponsesAssembly {
        ResponsesAssembly {
            quirks: quirks.clone(),
            blocks: Vec::new(),
            refused: false,
            usage: Usage::default(),
            stop: None,
            kept: 0,
        }
    }

    /// The events that come once per item or reply.
    fn handle_rare_event(
        &mut self,
        kind: &str,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        if !matches!(
            kind,
            "response.output_item.added"
                | "response.output_item.done"
                | "response.completed"
                | "response.incomplete"
                | "response.failed"
                | "response.cancelled"
                | "error"
        ) {
            return Ok(());
        }
        let value: Value =
            serde_json::from_str(data).map_err(|error| damaged_event(data, &error))?;
        let response = || value.get("response").unwrap_or(&Value::Null);
        match kind {
            "response.output_item.added" => {
                let item = &value["item"];
                if item["type"] == "function_call" {
                    let name = item["name"].as_str().unwrap_or_default();
                    signal(ModelSignal::CallBegun(name.to_owned()));
                }
            }
            "response.output_item.done" => {
                self.kept += data.len();
                self.take_item(&value["item"])?;
            }
            "response.completed" => self.handle_completed(response(), StopReason::End)?,
            "response.incomplete" => {
                let stop = match response()["incomplete_details"]["reason"].as_str() {
                    Some("content_filter") => StopReason::Refusal,
                    Some(_) | None => StopReason::MaxTokens,
                };
                self.handle_completed(response(), stop)?;
            }
            "response.cancelled" => {
                return Err(ProviderFailure::new(
                    FailureClass::StreamCut,
                    "The provider cancelled the answer.",
                ));
            }
            "response.failed" => return Err(failure::from_stream(&response()["error"])),
            _ => return Err(failure::from_stream(value.get("error").unwrap_or(&value))),
        }
        Ok(())
    }

    fn handle_completed(
        &mut self,
        response: &Value,
        stop: StopReason,
    ) -> Result<(), ProviderFailure> {
        // Some servers send the items only here.
        if self.blocks.is_empty() {
            for item in response["output"].as_array().into_iter().flatten() {
                self.take_item(item)?;
            }
        }
        self.usage = read_usage(&response["usage"]);
        self.stop = Some(stop);
        Ok(())
    }

    fn take_item(&mut self, item: &Value) -> Result<(), ProviderFailure> {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("message") => self.take_message(item),
            Some("reasoning") => self.take_reasoning(item),
            Some("function_call") => self.blocks.push(ReplyBlock::Call(ReplyCall {
                wire_id: text("call_id"),
                tool: text("name"),
                arguments: text("arguments"),
                seal: None,
            })),
            Some("image_generation_call") => {
                // Without one it was not made. What is no base64 is an empty picture: it is told.
                if let Some(data) = item["result"].as_str() {
                    let data = decode_base64(data).unwrap_or_default();
                    let format = item["output_format"].as_str().unwrap_or("png");
                    let media_type = format!("image/{format}");
                    self.blocks.push(ReplyBlock::Image { media_type, data });
                }
            }
            Some(_) | None => {}
        }
        if self.blocks.len() > REPLY_PIECES_MAX { Err(too_many_pieces()) } else { Ok(()) }
    }

    fn take_message(&mut self, item: &Value) {
        let mut out = String::new();
        let mut citations = Vec::new();
        for part in item["content"].as_array().into_iter().flatten() {
            if let Some(text) = part["text"].as_str().or(part["refusal"].as_str()) {
                out.push_str(text);
            }
            self.refused |= part["type"] == "refusal";
            citations.extend(part["annotations"].as_array().into_iter().flatten().cloned());
        }
        if out.is_empty() {
            return;
        }
        // The vendor tells commentary from the final answer, and wants it back.
        let seal = item["phase"].as_str().map(|phase| {
            self.quirks.make_seal(NAME, Map::from_iter([("phase".to_owned(), phase.into())]))
        });
        self.blocks.push(ReplyBlock::Said(MessageBlock::Text { text: out, citations, seal }));
    }

    fn take_reasoning(&mut self, item: &Value) {
        let mut text = String::new();
        for part in ["summary", "content"].iter().flat_map(|n| item[*n].as_array()).flatten() {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(part["text"].as_str().unwrap_or_default());
        }
        let mut data = Map::new();
        for name in ["id", "summary", "encrypted_content"] {
            if let Some(value) = item.get(name).filter(|value| !value.is_null()) {
                data.insert(name.into(), value.clone());
            }
        }
        // Without its encrypted form the vendor, who stored nothing, could not read it.
        let readable = data.contains_key("encrypted_content");
        let seal = readable.then(|| self.quirks.make_seal(NAME, data));
        if seal.is_some() || !text.is_empty() {
            self.blocks.push(ReplyBlock::Said(MessageBlock::Thinking { text, seal }));
        }
    }
}

/// What the vendor counted.
pub(crate) fn read_usage(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let input = count(&usage["input_tokens"]);
    let cache_read = count(&usage["input_tokens_details"]["cached_tokens"]).min(input);
    let cache_write = count(&usage["input_tokens_details"]["cache_write_tokens"]);
    Usage {
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: count(&usage["output_tokens"]),
        cache_read,
        cache_write,
        reasoning: count(&usage["output_tokens_details"]["reasoning_tokens"]),
    }
}

impl AssembleReply for ResponsesAssembly {
    fn take_event(
        &mut self,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        if data.trim_ascii() == "[DONE]" {
            return Ok(());
        }
        let event: ResponsesEvent<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return tolerate_unknown_event(data, &error),
        };
        match (event.kind.as_ref(), event.delta) {
            (
                "response.output_text.delta" | "response.refusal.delta",
                Some(ResponsesText(delta)),
            ) => {
                signal(ModelSignal::Text(delta.into_owned()));
            }
            (
                "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
                Some(ResponsesText(delta)),
            ) => signal(ModelSignal::Thinking(delta.into_owned())),
            (kind, _) => self.handle_rare_event(kind, data, signal)?,
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    fn kept_bytes(&self) -> usize {
        self.kept
    }

    fn into_reply(self) -> Result<ModelReply, ProviderFailure> {
        let calls = self.blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
        let stop = match self.stop {
            Some(StopReason::End) | None if calls => StopReason::Calls,
            Some(StopReason::End) | None if self.refused => StopReason::Refusal,
            Some(stop) => stop,
            None => StopReason::End,
        };
        Ok(ModelReply::Whole { blocks: self.blocks, stop, usage: self.usage, repairs: Vec::new() })
    }
}

/// An event whose fields are odd: passed over when it is of a kind we do not know.
fn tolerate_unknown_event(data: &str, error: &serde_json::Error) -> Result<(), ProviderFailure> {
    let value: Value = serde_json::from_str(data).map_err(|error| damaged_event(data, &error))?;
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if !kind.ends_with("text.delta") && kind != "error" => Ok(()),
        None if value.get("error").is_none() => Err(damaged_event(data, error)),
        Some(_) | None => Err(failure::from_stream(value.get("error").unwrap_or(&value))),
    }
}
