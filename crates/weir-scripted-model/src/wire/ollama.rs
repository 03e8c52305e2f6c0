//! Ollama's chat as its server speaks it: JSON objects, one a line.

use serde_json::{Value, json};
use weir_core::model::StopReason;

use super::{
    RefusalResponse, ReplyContext, ReplyPiece, ReplyWriter, WholePart, Wire, arguments_value,
    put_together, status_and_message,
};
use crate::fault::ScriptedFault;

/// When all replies were made: the scripted model has no clock.
const CREATED_AT: &str = "2025-10-09T08:53:20Z";
const LINES: &str = "application/x-ndjson";

pub(crate) struct OllamaWire;

impl Wire for OllamaWire {
    fn name(&self) -> &'static str {
        "ollama"
    }
    fn messages_key(&self) -> &'static str {
        "messages"
    }
    fn stream_type(&self) -> &'static str {
        LINES
    }
    fn new_writer(&self, context: ReplyContext) -> Box<dyn ReplyWriter> {
        Box::new(OllamaWriter { context, call: None })
    }
    fn whole_reply(
        &self,
        context: &ReplyContext,
        pieces: &mut dyn Iterator<Item = ReplyPiece>,
    ) -> Vec<u8> {
        let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
        for part in put_together(pieces) {
            match part {
                WholePart::Thinking(more) => thinking.push_str(&more),
                WholePart::Text(more) => text.push_str(&more),
                WholePart::Call { tool, arguments, .. } => {
                    calls.push(call_value(&tool, &arguments));
                }
                // It makes none.
                WholePart::Image { .. } => (),
            }
        }
        let mut message = json!({ "role": "assistant", "content": text });
        if !thinking.is_empty() {
            message["thinking"] = thinking.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        last_line(context, &message).to_string().into_bytes()
    }
    fn refusal_for(&self, fault: &ScriptedFault) -> RefusalResponse {
        let (status, message) = status_and_message(
            fault,
            "the prompt is too long: it exceeds the maximum context length of 32768 tokens",
            "Your request was rejected as a result of our safety system.",
        );
        RefusalResponse::from_json(status, &json!({ "error": message }))
    }
}

fn call_value(tool: &str, arguments: &str) -> Value {
    json!({ "function": { "name": tool, "arguments": arguments_value(arguments) } })
}

fn last_line(context: &ReplyContext, message: &Value) -> Value {
    let usage = &context.usage;
    json!({
        "model": context.model,
        "created_at": CREATED_AT,
        "message": message,
        "done": true,
        "done_reason": if context.stop == StopReason::MaxTokens { "length" } else { "stop" },
        "total_duration": 4_883_583_458_u64,
        "load_duration": 1_334_875,
        "prompt_eval_count": usage.input + usage.cache_read + usage.cache_write,
        "prompt_eval_duration": 342_546_000,
        "eval_count": usage.output,
        "eval_duration": 4_535_599_000_u64,
    })
}

struct OllamaWriter {
    context: ReplyContext,
    /// A call whose arguments are not whole yet: it is sent at once.
    call: Option<(String, String)>,
}

impl OllamaWriter {
    fn write_line(line: &Value, out: &mut Vec<u8>) {
        // Writing JSON into memory cannot fail; were it to, the reader would see a broken line.
        let _ = serde_json::to_writer(&mut *out, line);
        out.push(b'\n');
    }

    fn write_message(&self, more: Value, out: &mut Vec<u8>) {
        let mut message = json!({ "role": "assistant", "content": "" });
        if let (Some(message), Value::Object(more)) = (message.as_object_mut(), more) {
            message.extend(more);
        }
        let line = json!({
            "model": self.context.model,
            "created_at": CREATED_AT,
            "message": message,
            "done": false,
        });
        OllamaWriter::write_line(&line, out);
    }
}

impl ReplyWriter for OllamaWriter {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn write_piece(&mut self, piece: ReplyPiece, out: &mut Vec<u8>) {
        match piece {
            ReplyPiece::Thinking(text) => self.write_message(json!({ "thinking": text }), out),
            ReplyPiece::Text(text) => self.write_message(json!({ "content": text }), out),
            ReplyPiece::CallBegin { tool, .. } => self.call = Some((tool, String::new())),
            ReplyPiece::Arguments(more) => {
                self.call.iter_mut().for_each(|(_, arguments)| arguments.push_str(&more));
            }
            ReplyPiece::CallEnd => {
                if let Some((tool, arguments)) = self.call.take() {
                    let calls = json!({ "tool_calls": [call_value(&tool, &arguments)] });
                    self.write_message(calls, out);
                }
            }
            ReplyPiece::ThinkingBegin
            | ReplyPiece::ThinkingEnd
            | ReplyPiece::TextBegin
            | ReplyPiece::TextEnd
            | ReplyPiece::Image { .. } => {}
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let message = json!({ "role": "assistant", "content": "" });
        OllamaWriter::write_line(&last_line(&self.context, &message), out);
    }

    fn write_stream_error(&mut self, out: &mut Vec<u8>) {
        let error =
            json!({ "error": "an error was encountered while running the model (scripted)" });
        OllamaWriter::write_line(&error, out);
    }
}
