//! Anthropic Messages as the vendor's server speaks it.

use serde_json::{Value, json};
use weir_core::model::Stop;

use super::{
    Context, Piece, Refusal, Whole, Wire, Writer, arguments_value, event, put_together, signature,
    status_and_message,
};
use crate::step::Fault;

pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }
    fn messages_key(&self) -> &'static str {
        "messages"
    }
    fn writer(&self, context: Context) -> Box<dyn Writer> {
        Box::new(Stream { context, index: 0 })
    }
    fn whole(&self, context: &Context, pieces: &mut dyn Iterator<Item = Piece>) -> Vec<u8> {
        let content: Vec<Value> = put_together(pieces)
            .into_iter()
            .map(|part| match part {
                Whole::Thinking(text) => json!({
                    "type": "thinking", "thinking": text, "signature": signature(context.number),
                }),
                Whole::Text(text) => json!({"type": "text", "text": text, "citations": null}),
                Whole::Call { id, tool, arguments } => json!({
                    "type": "tool_use", "id": id, "name": tool,
                    "input": arguments_value(&arguments),
                }),
                Whole::Image { .. } => {
                    json!({"type": "text", "text": NO_IMAGES, "citations": null})
                }
            })
            .collect();
        let mut message = message(context);
        message["content"] = Value::Array(content);
        message["stop_reason"] = stop_reason(context.stop).into();
        message["usage"]["output_tokens"] = context.usage.output.into();
        message.to_string().into_bytes()
    }
    fn refusal(&self, fault: &Fault) -> Refusal {
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
        Refusal::json(status, &body)
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

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Interrupted => "end_turn",
        Stop::Calls => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal => "refusal",
    }
}

fn message(context: &Context) -> Value {
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

struct Stream {
    context: Context,
    index: u64,
}

impl Stream {
    fn start(&self, block: &Value, out: &mut Vec<u8>) {
        let data =
            json!({"type": "content_block_start", "index": self.index, "content_block": block});
        event(out, "content_block_start", &data);
        if self.index == 0 {
            event(out, "ping", &json!({"type": "ping"}));
        }
    }
    fn delta(&self, delta: &Value, out: &mut Vec<u8>) {
        let data = json!({"type": "content_block_delta", "index": self.index, "delta": delta});
        event(out, "content_block_delta", &data);
    }
    fn stop(&mut self, out: &mut Vec<u8>) {
        let data = json!({"type": "content_block_stop", "index": self.index});
        event(out, "content_block_stop", &data);
        self.index += 1;
    }
}

impl Writer for Stream {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let data = json!({"type": "message_start", "message": message(&self.context)});
        event(out, "message_start", &data);
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) {
        match piece {
            Piece::ThinkingBegin => {
                self.start(&json!({"type": "thinking", "thinking": "", "signature": ""}), out);
            }
            Piece::Thinking(text) => {
                self.delta(&json!({"type": "thinking_delta", "thinking": text}), out);
            }
            Piece::ThinkingEnd => {
                let signature = signature(self.context.number);
                self.delta(&json!({"type": "signature_delta", "signature": signature}), out);
                self.stop(out);
            }
            Piece::TextBegin => self.start(&json!({"type": "text", "text": ""}), out),
            Piece::Text(text) => self.delta(&json!({"type": "text_delta", "text": text}), out),
            Piece::TextEnd | Piece::CallEnd => self.stop(out),
            Piece::CallBegin { id, tool } => {
                let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
                self.start(&block, out);
                self.delta(&json!({"type": "input_json_delta", "partial_json": ""}), out);
            }
            Piece::Arguments(text) => {
                self.delta(&json!({"type": "input_json_delta", "partial_json": text}), out);
            }
            Piece::Image { .. } => {
                self.start(&json!({"type": "text", "text": ""}), out);
                self.delta(&json!({"type": "text_delta", "text": NO_IMAGES}), out);
                self.stop(out);
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
        event(out, "message_delta", &data);
        event(out, "message_stop", &json!({"type": "message_stop"}));
    }

    fn broken(&mut self, out: &mut Vec<u8>) {
        let data = json!({
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded (scripted)."},
        });
        event(out, "error", &data);
    }
}
