//! A reply in the words of Responses.
//!
//! Deltas are only shown; what counts is each item as it stands when it is done.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::message::Block;
use weir_core::model::{FailureClass, Reply, ReplyBlock, ReplyCall, Signal, Stop, Usage};

use super::super::Quirks;
use super::super::failure::{self, Failure};
use super::super::openai_chat::decode::decode_base64;
use super::super::stream::{Assemble, REPLY_PIECES_MAX, garbage, too_many_pieces};
use super::NAME;

pub(super) struct Assembly {
    quirks: Quirks,
    blocks: Vec<ReplyBlock>,
    refused: bool,
    usage: Usage,
    stop: Option<Stop>,
    kept: usize,
}

/// The part of an event that is read for each of the many small ones.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<Text<'a>>,
}

/// Text that is borrowed from the event where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Assembly {
    pub(super) fn new(quirks: &Quirks) -> Assembly {
        Assembly {
            quirks: quirks.clone(),
            blocks: Vec::new(),
            refused: false,
            usage: Usage::default(),
            stop: None,
            kept: 0,
        }
    }

    /// The events that come once per item or reply.
    fn rare(
        &mut self,
        kind: &str,
        data: &str,
        signal: &mut dyn FnMut(Signal),
    ) -> Result<(), Failure> {
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
        let value: Value = serde_json::from_str(data).map_err(|error| garbage(data, &error))?;
        let response = || value.get("response").unwrap_or(&Value::Null);
        match kind {
            "response.output_item.added" => {
                let item = &value["item"];
                if item["type"] == "function_call" {
                    let name = item["name"].as_str().unwrap_or_default();
                    signal(Signal::CallBegun(name.to_owned()));
                }
            }
            "response.output_item.done" => {
                self.kept += data.len();
                self.item(&value["item"])?;
            }
            "response.completed" => self.completed(response(), Stop::End)?,
            "response.incomplete" => {
                let stop = match response()["incomplete_details"]["reason"].as_str() {
                    Some("content_filter") => Stop::Refusal,
                    Some(_) | None => Stop::MaxTokens,
                };
                self.completed(response(), stop)?;
            }
            "response.cancelled" => {
                return Err(Failure::new(
                    FailureClass::StreamCut,
                    "The provider cancelled the answer.",
                ));
            }
            "response.failed" => return Err(failure::from_stream(&response()["error"])),
            _ => return Err(failure::from_stream(value.get("error").unwrap_or(&value))),
        }
        Ok(())
    }

    fn completed(&mut self, response: &Value, stop: Stop) -> Result<(), Failure> {
        // Some servers send the items only here.
        if self.blocks.is_empty() {
            for item in response["output"].as_array().into_iter().flatten() {
                self.item(item)?;
            }
        }
        let usage = &response["usage"];
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let input = count(&usage["input_tokens"]);
        let cache_read = count(&usage["input_tokens_details"]["cached_tokens"]).min(input);
        let cache_write = count(&usage["input_tokens_details"]["cache_write_tokens"]);
        self.usage = Usage {
            input: input.saturating_sub(cache_read).saturating_sub(cache_write),
            output: count(&usage["output_tokens"]),
            cache_read,
            cache_write,
            reasoning: count(&usage["output_tokens_details"]["reasoning_tokens"]),
        };
        self.stop = Some(stop);
        Ok(())
    }

    fn item(&mut self, item: &Value) -> Result<(), Failure> {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        match item["type"].as_str() {
            Some("message") => self.message(item),
            Some("reasoning") => self.reasoning(item),
            Some("function_call") => self.blocks.push(ReplyBlock::Call(ReplyCall {
                wire_id: text("call_id"),
                tool: text("name"),
                arguments: text("arguments"),
                seal: None,
            })),
            Some("image_generation_call") => {
                if let Some(data) = item["result"].as_str().and_then(decode_base64) {
                    let format = item["output_format"].as_str().unwrap_or("png");
                    let media_type = format!("image/{format}");
                    self.blocks.push(ReplyBlock::Image { media_type, data });
                }
            }
            Some(_) | None => {}
        }
        if self.blocks.len() > REPLY_PIECES_MAX { Err(too_many_pieces()) } else { Ok(()) }
    }

    fn message(&mut self, item: &Value) {
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
            self.quirks.seal(NAME, Map::from_iter([("phase".to_owned(), phase.into())]))
        });
        self.blocks.push(ReplyBlock::Said(Block::Text { text: out, citations, seal }));
    }

    fn reasoning(&mut self, item: &Value) {
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
        let seal = readable.then(|| self.quirks.seal(NAME, data));
        if seal.is_some() || !text.is_empty() {
            self.blocks.push(ReplyBlock::Said(Block::Thinking { text, seal }));
        }
    }
}

impl Assemble for Assembly {
    fn event(&mut self, data: &str, signal: &mut dyn FnMut(Signal)) -> Result<(), Failure> {
        if data.trim_ascii() == "[DONE]" {
            return Ok(());
        }
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return unknown(data, &error),
        };
        match (event.kind.as_ref(), event.delta) {
            ("response.output_text.delta" | "response.refusal.delta", Some(Text(delta))) => {
                signal(Signal::Text(delta.into_owned()));
            }
            (
                "response.reasoning_summary_text.delta" | "response.reasoning_text.delta",
                Some(Text(delta)),
            ) => signal(Signal::Thinking(delta.into_owned())),
            (kind, _) => self.rare(kind, data, signal)?,
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn reply(self) -> Result<Reply, Failure> {
        let calls = self.blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
        let stop = match self.stop {
            Some(Stop::End) | None if calls => Stop::Calls,
            Some(Stop::End) | None if self.refused => Stop::Refusal,
            Some(stop) => stop,
            None => Stop::End,
        };
        Ok(Reply::Whole { blocks: self.blocks, stop, usage: self.usage })
    }
}

/// An event whose fields are odd: passed over when it is of a kind we do not know.
fn unknown(data: &str, error: &serde_json::Error) -> Result<(), Failure> {
    let value: Value = serde_json::from_str(data).map_err(|error| garbage(data, &error))?;
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if !kind.ends_with("text.delta") && kind != "error" => Ok(()),
        None if value.get("error").is_none() => Err(garbage(data, error)),
        Some(_) | None => Err(failure::from_stream(value.get("error").unwrap_or(&value))),
    }
}
