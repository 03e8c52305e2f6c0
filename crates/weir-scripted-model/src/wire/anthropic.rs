//! Anthropic Messages as the vendor's server speaks it.

use serde_json::{Value, json};
use weir_core::model::StopReason;

use super::{
    RefusalResponse, ReplyContext, ReplyPiece, ReplyWriter, WholePart, Wire, arguments_value,
    put_together, scripted_signature, status_and_message, write_event,
};
use crate::fault::ScriptedFault;

pub(crate) struct AnthropicWire;

impl Wire for AnthropicWire {
    fn name(&self) -> &'static str {
        "anthropic"
    }
    fn messages_key(&self) -> &'static str {
        "messages"
    }
    fn new_writer(&self, context: ReplyContext) -> Box<dyn ReplyWriter> {
        Box::new(AnthropicWriter { context, index: 0 })
    }
    fn whole_reply(
        &self,
        context: &ReplyContext,
        pieces: &mut dyn Iterator<Item = ReplyPiece>,
    ) -> Vec<u8> {
        let content: Vec<Value> = put_together(pieces)
            .into_iter()
            .map(|part| match part {
                WholePart::Thinking(text) => json!({
                    "type": "thinking", "thinking": text, "signature": scripted_signature(context.number),
                }),
                WholePart::Text(text) => json!({"type": "text", "text": text, "citations": null}),
                WholePart::Call { id, tool, arguments } => json!({
                    "type": "tool_use", "id": id, "name": tool,
                    "input": arguments_value(&arguments),
                }),
                WholePart::Image { .. } => {
                    json!({"type": "text", "text": NO_IMAGES, "citations": null})
                }
            })
            .collect();
        let mut message = message_json(context);
        message["content"] = Value::Array(content);
        message["stop_reason"] = stop_reason(context.stop).into();
        message["usage"]["output_tokens"] = context.usage.output.into();
        message.to_string().into_bytes()
    }
    fn refusal_for(&self, fault: &ScriptedFault) -> RefusalResponse {
        let (status, message) = status_and_message(
            fault,
            "prompt is too long: 210000 tokens > 200000 maximum",
            "Output blocked by content filtering policy",
        );
        let body = json!({
            "type": "error",
            "error": {"type": error_type(status), "message": message},
            "request_id": "req_script",
        });
        RefusalResponse::from_json(status, &body)
    }
}

/// This dialect has no way for a model to send a picture.
const NO_IMAGES: &str = "(the script sends a picture here; this dialect cannot carry one)";

fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End | StopReason::Interrupted => "end_turn",
        StopReason::Calls => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
    }
}

fn message_json(context: &ReplyContext) -> Value {
    json!({
        "id": format!("msg_script_{:04}", context.number),
        "type": "message",
        "role": "assistant",
        "model": context.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": context.usage.input,
            "cache_creation_input_tokens": context.usage.cache_write,
            "cache_read_input_tokens": context.usage.cache_read,
            "output_tokens": 1,
            "service_tier": "standard",
        },
    })
}

struct AnthropicWriter {
    context: ReplyContext,
    index: u64,
}

impl AnthropicWriter {
    fn start_block(&self, block: &Value, out: &mut Vec<u8>) {
        let data =
            json!({"type": "content_block_start", "index": self.index, "content_block": block});
        write_event(out, "content_block_start", &data);
        if self.index == 0 {
            write_event(out, "ping", &json!({"type": "ping"}));
        }
    }
    fn write_delta(&self, delta: &Value, out: &mut Vec<u8>) {
        let data = json!({"type": "content_block_delta", "index": self.index, "delta": delta});
        write_event(out, "content_block_delta", &data);
    }
    fn stop_block(&mut self, out: &mut Vec<u8>) {
        let data = json!({"type": "content_block_stop", "index": self.index});
        write_event(out, "content_block_stop", &data);
        self.index += 1;
    }
}

impl ReplyWriter for AnthropicWriter {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let data = json!({"type": "message_start", "message": message_json(&self.context)});
        write_event(out, "message_start", &data);
    }

    fn write_piece(&mut self, piece: ReplyPiece, out: &mut Vec<u8>) {
        match piece {
            ReplyPiece::ThinkingBegin => {
                self.start_block(
                    &json!({"type": "thinking", "thinking": "", "signature": ""}),
                    out,
                );
            }
            ReplyPiece::Thinking(text) => {
                self.write_delta(&json!({"type": "thinking_delta", "thinking": text}), out);
            }
            ReplyPiece::ThinkingEnd => {
                let signature = scripted_signature(self.context.number);
                self.write_delta(&json!({"type": "signature_delta", "signature": signature}), out);
                self.stop_block(out);
            }
            ReplyPiece::TextBegin => self.start_block(&json!({"type": "text", "text": ""}), out),
            ReplyPiece::Text(text) => {
                self.write_delta(&json!({"type": "text_delta", "text": text}), out)
            }
            ReplyPiece::TextEnd | ReplyPiece::CallEnd => self.stop_block(out),
            ReplyPiece::CallBegin { id, tool } => {
                let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                self.start_block(&block, out);
                self.write_delta(&json!({"type": "input_json_delta", "partial_json": ""}), out);
            }
            ReplyPiece::Arguments(text) => {
                self.write_delta(&json!({"type": "input_json_delta", "partial_json": text}), out);
            }
            ReplyPiece::Image { .. } => {
                self.start_block(&json!({"type": "text", "text": ""}), out);
                self.write_delta(&json!({"type": "text_delta", "text": NO_IMAGES}), out);
                self.stop_block(out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let usage = &self.context.usage;
        let data = json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(self.context.stop), "stop_sequence": null},
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "output_tokens": usage.output,
            },
        });
        write_event(out, "message_delta", &data);
        write_event(out, "message_stop", &json!({"type": "message_stop"}));
    }

    fn write_stream_error(&mut self, out: &mut Vec<u8>) {
        let data = json!({
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded (scripted)."},
        });
        write_event(out, "error", &data);
    }
}
