//! A reply in the words of Ollama's chat: pieces of a message, and a last line that says that it is done.

use serde::Deserialize;
use serde_json::Value;
use weir_core::message::MessageBlock;
use weir_core::model::{ModelReply, ModelSignal, ReplyBlock, ReplyCall, StopReason, Usage};

use super::super::failure::{self, ProviderFailure};
use super::super::stream::{AssembleReply, REPLY_PIECES_MAX, damaged_event, too_many_pieces};

#[derive(Default)]
pub(super) struct OllamaAssembly {
    text: String,
    thinking: String,
    calls: Vec<ReplyCall>,
    usage: Usage,
    stop: Option<StopReason>,
    kept: usize,
}

#[derive(Deserialize)]
struct OllamaLine {
    #[serde(default)]
    message: Option<OllamaMessage>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct OllamaMessage {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<OllamaCall>>,
}

#[derive(Deserialize)]
struct OllamaCall {
    #[serde(default)]
    id: Option<String>,
    function: OllamaFunction,
}

#[derive(Deserialize)]
struct OllamaFunction {
    #[serde(default)]
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl OllamaAssembly {
    fn add_message(
        &mut self,
        message: OllamaMessage,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        if let Some(thought) = message.thinking.filter(|text| !text.is_empty()) {
            self.kept += thought.len();
            self.thinking.push_str(&thought);
            signal(ModelSignal::Thinking(thought));
        }
        if let Some(text) = message.content.filter(|text| !text.is_empty()) {
            self.kept += text.len();
            self.text.push_str(&text);
            signal(ModelSignal::Text(text));
        }
        for call in message.tool_calls.unwrap_or_default() {
            if self.calls.len() >= REPLY_PIECES_MAX {
                return Err(too_many_pieces());
            }
            // Some versions send them as text, as OpenAI does.
            let arguments = match call.function.arguments {
                Value::Null => String::new(),
                Value::String(text) => text,
                value => value.to_string(),
            };
            self.kept += arguments.len();
            signal(ModelSignal::CallBegun(call.function.name.clone()));
            self.calls.push(ReplyCall {
                wire_id: call.id.unwrap_or_default(),
                tool: call.function.name,
                arguments,
                seal: None,
            });
        }
        Ok(())
    }
}

impl AssembleReply for OllamaAssembly {
    fn take_event(
        &mut self,
        data: &str,
        signal: &mut dyn FnMut(ModelSignal),
    ) -> Result<(), ProviderFailure> {
        let line: OllamaLine =
            serde_json::from_str(data).map_err(|error| damaged_event(data, &error))?;
        if let Some(error) = line.error.filter(|error| !error.is_null()) {
            return Err(failure::from_stream(&error));
        }
        if let Some(message) = line.message {
            self.add_message(message, signal)?;
        }
        if line.done {
            self.usage.input = line.prompt_eval_count.unwrap_or(0);
            self.usage.output = line.eval_count.unwrap_or(0);
            self.stop = Some(match line.done_reason.as_deref() {
                Some("length") => StopReason::MaxTokens,
                Some(_) | None => StopReason::End,
            });
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
        let mut blocks = Vec::new();
        if !self.thinking.is_empty() {
            let thinking = MessageBlock::Thinking { text: self.thinking, seal: None };
            blocks.push(ReplyBlock::Said(thinking));
        }
        if !self.text.is_empty() {
            blocks.push(ReplyBlock::Said(MessageBlock::text(self.text)));
        }
        let stop = match self.stop.unwrap_or(StopReason::End) {
            StopReason::End if !self.calls.is_empty() => StopReason::Calls,
            stop => stop,
        };
        blocks.extend(self.calls.into_iter().map(ReplyBlock::Call));
        Ok(ModelReply::Whole { blocks, stop, usage: self.usage, repairs: Vec::new() })
    }
}
