//! A reply in the words of Anthropic Messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_core::message::MessageBlock;
use weir_core::model::{
    FailureClass, ModelReply, ModelSignal, ReplyBlock, ReplyCall, StopReason, Usage,
};

use super::super::VendorQuirks;
use super::super::failure::{self, ProviderFailure};
use super::super::stream::{AssembleReply, REPLY_PIECES_MAX, damaged_event, too_many_pieces};
use super::NAME;

pub(super) struct AnthropicAssembly {
    quirks: VendorQuirks,
    /// Who answered: the vendor binds thinking to the model.
    model: Option<String>,
    pieces: Vec<(u32, AnthropicBlock)>,
    usage: Usage,
    stop: Option<StopReason>,
    whole: bool,
    kept: usize,
}

enum AnthropicBlock {
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
struct AnthropicText<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct AnthropicEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    index: Option<u32>,
    #[serde(borrow)]
    delta: Option<AnthropicDelta<'a>>,
    content_block: Option<Value>,
    message: Option<MessageStart>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct AnthropicDelta<'a> {
    #[serde(borrow)]
    text: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    thinking: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    signature: Option<AnthropicText<'a>>,
    #[serde(borrow)]
    partial_json: Option<AnthropicText<'a>>,
    citation: Option<Value>,
    #[serde(borrow)]
    stop_reason: Option<AnthropicText<'a>>,
}

#[derive(Deserialize)]
struct MessageStart {
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

impl WireUsage {
    /// Takes over what it counts; the rest stays as it was known.
    fn add_to(&self, usage: &mut Usage) {
        let take = |known: &mut u64, new: Option<u64>| *known = new.unwrap_or(*known);
        take(&mut usage.input, self.input_tokens);
        take(&mut usage.output, self.output_tokens);
        take(&mut usage.cache_write, self.cache_creation_input_tokens);
        take(&mut usage.cache_read, self.cache_read_input_tokens);
        let thinking = self.output_tokens_details.as_ref();
        take(&mut usage.reasoning, thinking.and_then(|details| details.thinking_tokens));
    }
}

/// What the vendor counted.
pub(crate) fn read_usage(usage: &Value) -> Usage {
    let mut counted = Usage::default();
    if let Ok(usage) = WireUsage::deserialize(usage) {
        usage.add_to(&mut counted);
    }
    counted
}

impl AnthropicAssembly {
    pub(super) fn new(quirks: &VendorQuirks) -> AnthropicAssembly {
        AnthropicAssembly {
            quirks: quirks.clone(),
            model: None,
            pieces: Vec::new(),
            usage: Usage::default(),
            stop: None,
            whole: false,
            kept: 0,
        }
    }

    fn find_piece(&mut self, index: Option<u32>) -> Option<&mut AnthropicBlock> {
        let index = index?;
        // The one that grows is nearly always the last.
        let found = self.pieces.iter_mut().rev().find(|(at, _)| *at == index);
        found.map(|(_, piece)| piece)
    }

    fn begin_block(
        &mut self,
        index: Option<u32>,
        block: &Value,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        if self.pieces.len() >= REPLY_PIECES_MAX {
            return Err(too_many_pieces());
        }
        let text =
            |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let piece = match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => AnthropicBlock::Text {
                text: text("text"),
                citations: block
                    .get("citations")
                    .and_then(Value::as_array)
                    .cloned()
                    .unwrap_or_default(),
            },
            "thinking" => {
                AnthropicBlock::Thinking { text: text("thinking"), signature: text("signature") }
            }
            "redacted_thinking" => AnthropicBlock::Redacted(text("data")),
            "tool_use" => {
                signal(ModelSignal::CallBegun(text("name")));
                AnthropicBlock::Call {
                    id: text("id"),
                    name: text("name"),
                    input: block.get("input").cloned().unwrap_or_default(),
                    arguments: String::new(),
                }
            }
            _ => AnthropicBlock::Other,
        };
        match &piece {
            AnthropicBlock::Text { text, .. } if !text.is_empty() => {
                signal(ModelSignal::Text(text.clone()))
            }
            AnthropicBlock::Thinking { text, .. } if !text.is_empty() => {
                signal(ModelSignal::Thinking(text.clone()));
            }
            _ => {}
        }
        self.pieces.push((index.unwrap_or(u32::MAX), piece));
        Ok(())
    }

    fn apply_delta(
        &mut self,
        index: Option<u32>,
        delta: AnthropicDelta<'_>,
        signal: &mut dyn FnMut(ModelSignal),
    ) {
        let mut kept = 0;
        match (self.find_piece(index), delta) {
            (
                Some(AnthropicBlock::Text { text, .. }),
                AnthropicDelta { text: Some(AnthropicText(more)), .. },
            ) => {
                text.push_str(&more);
                kept = more.len();
                signal(ModelSignal::Text(more.into_owned()));
            }
            (
                Some(AnthropicBlock::Call { arguments, .. }),
                AnthropicDelta { partial_json: Some(AnthropicText(more)), .. },
            ) => {
                arguments.push_str(&more);
                kept = more.len();
            }
            (
                Some(AnthropicBlock::Thinking { text, .. }),
                AnthropicDelta { thinking: Some(AnthropicText(more)), .. },
            ) => {
                text.push_str(&more);
                kept = more.len();
                signal(ModelSignal::Thinking(more.into_owned()));
            }
            (
                Some(AnthropicBlock::Thinking { signature, .. }),
                AnthropicDelta { signature: Some(AnthropicText(more)), .. },
            ) => {
                signature.push_str(&more);
                kept = more.len();
            }
            (
                Some(AnthropicBlock::Text { citations, .. }),
                AnthropicDelta { citation: Some(citation), .. },
            ) => {
                kept = 256;
                citations.push(citation);
            }
            _ => {}
        }
        self.kept += kept;
    }

    fn set_stop_reason(&mut self, reason: &str) {
        self.stop = Some(match reason {
            "tool_use" => StopReason::Calls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
            "refusal" => StopReason::Refusal,
            _ => StopReason::End,
        });
    }
}

impl AssembleReply for AnthropicAssembly {
    fn take_event(
        &mut self,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        let event: AnthropicEvent<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(error) => return tolerate_unknown_event(data, &error),
        };
        match event.kind.as_ref() {
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.apply_delta(event.index, delta, signal);
                }
            }
            "content_block_start" => {
                self.kept += data.len();
                self.begin_block(event.index, &event.content_block.unwrap_or_default(), signal)?;
            }
            "message_start" => {
                let begun = event.message.unwrap_or(MessageStart { model: None, usage: None });
                self.model = begun.model.filter(|model| !model.is_empty());
                if let Some(usage) = &begun.usage {
                    usage.add_to(&mut self.usage);
                }
            }
            "message_delta" => {
                if let Some(usage) = &event.usage {
                    usage.add_to(&mut self.usage);
                }
                if let Some(AnthropicText(reason)) = event.delta.and_then(|delta| delta.stop_reason)
                {
                    self.set_stop_reason(&reason);
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

    fn kept_bytes(&self) -> usize {
        self.kept
    }

    fn into_reply(self) -> Result<ModelReply, ProviderFailure> {
        let quirks = self.quirks;
        let mut calls = false;
        let mut blocks = Vec::new();
        for (_, piece) in self.pieces {
            let seal = |name: &str, data: String| {
                let model = self.model.clone().map(|model| ("model".to_owned(), model.into()));
                let sealed = [(name.to_owned(), Value::String(data))];
                quirks.make_seal(NAME, Map::from_iter(sealed.into_iter().chain(model)))
            };
            blocks.push(match piece {
                AnthropicBlock::Text { text, .. } if text.is_empty() => continue,
                AnthropicBlock::Text { text, citations } => {
                    ReplyBlock::Said(MessageBlock::Text { text, citations, seal: None })
                }
                AnthropicBlock::Thinking { text, signature } => {
                    let seal = (!signature.is_empty()).then(|| seal("signature", signature));
                    ReplyBlock::Said(MessageBlock::Thinking { text, seal })
                }
                AnthropicBlock::Redacted(data) => ReplyBlock::Said(MessageBlock::Thinking {
                    text: String::new(),
                    seal: Some(seal("redacted", data)),
                }),
                AnthropicBlock::Call { id, name, input, arguments } => {
                    calls = true;
                    let given = input.as_object().is_some_and(|input| !input.is_empty());
                    let arguments =
                        if arguments.is_empty() && given { input.to_string() } else { arguments };
                    ReplyBlock::Call(ReplyCall { wire_id: id, tool: name, arguments, seal: None })
                }
                AnthropicBlock::Other => continue,
            });
        }
        let stop = self.stop.unwrap_or(if calls { StopReason::Calls } else { StopReason::End });
        Ok(ModelReply::Whole { blocks, stop, usage: self.usage, repairs: Vec::new() })
    }
}

/// What does not look like an event of ours: an unknown type with odd fields is passed over, a known
/// one is damage.
fn tolerate_unknown_event(data: &str, error: &serde_json::Error) -> Result<(), ProviderFailure> {
    const KNOWN: &[&str] = &[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
        "error",
    ];
    let value: Value = serde_json::from_str(data).map_err(|error| damaged_event(data, &error))?;
    match value.get("type").and_then(Value::as_str) {
        Some("error") => Err(failure::from_stream(value.get("error").unwrap_or(&value))),
        Some(kind) if !KNOWN.contains(&kind) => Ok(()),
        None if value.get("error").is_some() => Err(failure::from_stream(&value)),
        Some(_) | None => {
            Err(ProviderFailure::new(FailureClass::StreamCut, damaged_event(data, error).message))
        }
    }
}
