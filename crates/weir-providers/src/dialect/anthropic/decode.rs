//! A reply in the words of Anthropic Messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::message::Block;
use weir_core::model::{FailureClass, Reply, ReplyBlock, ReplyCall, Signal, Stop, Usage};

use super::super::Quirks;
use super::super::failure::{self, Failure};
use super::super::stream::{Assemble, REPLY_PIECES_MAX, garbage, too_many_pieces};
use super::NAME;

pub(super) struct Assembly {
    quirks: Quirks,
    /// Who answered: the vendor binds thinking to the model.
    model: Option<String>,
    pieces: Vec<(u32, Piece)>,
    usage: Usage,
    stop: Option<Stop>,
    whole: bool,
    kept: usize,
}

enum Piece {
    Text {
        text: String,
        citations: Vec<Value>,
    },
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        id: String,
        name: String,
        input: Value,
        arguments: String,
    },
    /// A kind of block that Weir never asks for.
    Other,
}

/// Text that is borrowed from the event where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: Option<u32>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    content_block: Option<Value>,
    message: Option<Begun>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    citation: Option<Value>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Begun {
    model: Option<String>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl Assembly {
    pub(super) fn new(quirks: &Quirks) -> Assembly {
        Assembly {
            quirks: quirks.clone(),
            model: None,
            pieces: Vec::new(),
            usage: Usage::default(),
            stop: None,
            whole: false,
            kept: 0,
        }
    }

    fn piece(&mut self, index: Option<u32>) -> Option<&mut Piece> {
        let index = index?;
        // The one that grows is nearly always the last.
        let found = self.pieces.iter_mut().rev().find(|(at, _)| *at == index);
        found.map(|(_, piece)| piece)
    }

    fn begin(
        &mut self,
        index: Option<u32>,
        block: &Value,
        signal: &mut dyn FnMut(Signal),
    ) -> Result<(), Failure> {
        if self.pieces.len() >= REPLY_PIECES_MAX {
            return Err(too_many_pieces());
        }
        let text =
            |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let piece = match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => Piece::Text {
                text: text("text"),
                citations: block
                    .get("citations")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default(),
            },
            "thinking" => Piece::Thinking { text: text("thinking"), signature: text("signature") },
            "redacted_thinking" => Piece::Redacted(text("data")),
            "tool_use" => {
                signal(Signal::CallBegun(text("name")));
                Piece::Call {
                    id: text("id"),
                    name: text("name"),
                    input: block.get("input").cloned().unwrap_or_default(),
                    arguments: String::new(),
                }
            }
            _ => Piece::Other,
        };
        match &piece {
            Piece::Text { text, .. } if !text.is_empty() => signal(Signal::Text(text.clone())),
            Piece::Thinking { text, .. } if !text.is_empty() => {
                signal(Signal::Thinking(text.clone()));
            }
            _ => {}
        }
        self.pieces.push((index.unwrap_or(u32::MAX), piece));
        Ok(())
    }

    fn grow(&mut self, index: Option<u32>, delta: Delta<'_>, signal: &mut dyn FnMut(Signal)) {
        let mut kept = 0;
        match (self.piece(index), delta) {
            (Some(Piece::Text { text, .. }), Delta { text: Some(Text(more)), .. }) => {
                text.push_str(&more);
                kept = more.len();
                signal(Signal::Text(more.into_owned()));
            }
            (Some(Piece::Call { arguments, .. }), Delta { partial_json: Some(Text(more)), .. }) => {
                arguments.push_str(&more);
                kept = more.len();
            }
            (Some(Piece::Thinking { text, .. }), Delta { thinking: Some(Text(more)), .. }) => {
                text.push_str(&more);
                kept = more.len();
                signal(Signal::Thinking(more.into_owned()));
            }
            (
                Some(Piece::Thinking { signature, .. }),
                Delta { signature: Some(Text(more)), .. },
            ) => {
                signature.push_str(&more);
                kept = more.len();
            }
            (Some(Piece::Text { citations, .. }), Delta { citation: Some(citation), .. }) => {
                kept = 256;
                citations.push(citation);
            }
            _ => {}
        }
        self.kept += kept;
    }

    fn take_usage(&mut self, usage: &WireUsage) {
        let take = |known: &mut u64, new: Option<u64>| *known = new.unwrap_or(*known);
        take(&mut self.usage.input, usage.input_tokens);
        take(&mut self.usage.output, usage.output_tokens);
        take(&mut self.usage.cache_write, usage.cache_creation_input_tokens);
        take(&mut self.usage.cache_read, usage.cache_read_input_tokens);
        let thinking = usage.output_tokens_details.as_ref();
        take(&mut self.usage.reasoning, thinking.and_then(|details| details.thinking_tokens));
    }

    fn stop(&mut self, reason: &str) {
        self.stop = Some(match reason {
            "tool_use" => Stop::Calls,
            "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
            "refusal" => Stop::Refusal,
            _ => Stop::End,
        });
    }
}

impl Assemble for Assembly {
    fn event(&mut self, data: &str, signal: &mut dyn FnMut(Signal)) -> Result<(), Failure> {
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return unknown(data, &error),
        };
        match event.kind.as_ref() {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.grow(event.index, delta, signal);
                }
            }
            "content_block_start" => {
                self.kept += data.len();
                self.begin(event.index, &event.content_block.unwrap_or_default(), signal)?;
            }
            "message_start" => {
                let begun = event.message.unwrap_or(Begun { model: None, usage: None });
                self.model = begun.model.filter(|model| !model.is_empty());
                if let Some(usage) = &begun.usage {
                    self.take_usage(usage);
                }
            }
            "message_delta" => {
                if let Some(usage) = &event.usage {
                    self.take_usage(usage);
                }
                if let Some(Text(reason)) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop(&reason);
                }
            }
            "message_stop" => self.whole = true,
            "error" => return Err(failure::from_stream(&event.error.unwrap_or_default())),
            // `ping`, `content_block_stop`, and what may come one day.
            _ => {}
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.whole
    }

    fn is_over(&self) -> bool {
        self.whole
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn reply(self) -> Result<Reply, Failure> {
        let quirks = self.quirks;
        let mut calls = false;
        let mut blocks = Vec::new();
        for (_, piece) in self.pieces {
            let seal = |name: &str, data: String| {
                let model = self.model.clone().map(|model| ("model".to_owned(), model.into()));
                let sealed = [(name.to_owned(), Value::String(data))];
                quirks.seal(NAME, Map::from_iter(sealed.into_iter().chain(model)))
            };
            blocks.push(match piece {
                Piece::Text { text, .. } if text.is_empty() => continue,
                Piece::Text { text, citations } => {
                    ReplyBlock::Said(Block::Text { text, citations, seal: None })
                }
                Piece::Thinking { text, signature } => {
                    let seal = (!signature.is_empty()).then(|| seal("signature", signature));
                    ReplyBlock::Said(Block::Thinking { text, seal })
                }
                Piece::Redacted(data) => ReplyBlock::Said(Block::Thinking {
                    text: String::new(),
                    seal: Some(seal("redacted", data)),
                }),
                Piece::Call { id, name, input, arguments } => {
                    calls = true;
                    let given = input.as_object().is_some_and(|input| !input.is_empty());
                    let arguments =
                        if arguments.is_empty() && given { input.to_string() } else { arguments };
                    ReplyBlock::Call(ReplyCall { wire_id: id, tool: name, arguments, seal: None })
                }
                Piece::Other => continue,
            });
        }
        let stop = self.stop.unwrap_or(if calls { Stop::Calls } else { Stop::End });
        Ok(Reply::Whole { blocks, stop, usage: self.usage })
    }
}

/// What does not look like an event of ours: an unknown type with odd fields is passed over, a known
/// one is damage.
fn unknown(data: &str, error: &serde_json::Error) -> Result<(), Failure> {
    const KNOWN: &[&str] = &[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
        "error",
    ];
    let value: Value = serde_json::from_str(data).map_err(|error| garbage(data, &error))?;
    match value.get("type").and_then(Value::as_str) {
        Some("error") => Err(failure::from_stream(value.get("error").unwrap_or(&value))),
        Some(kind) if !KNOWN.contains(&kind) => Ok(()),
        None if value.get("error").is_some() => Err(failure::from_stream(&value)),
        Some(_) | None => Err(Failure::new(FailureClass::StreamCut, garbage(data, error).message)),
    }
}
