//! OpenAI Chat Completions as the vendor's server, and those that follow it, speak it.

use serde_json::{Value, json};
use weir_core::model::{Stop, Usage};

use super::{
    CREATED, Context, Piece, Refusal, Whole, Wire, Writer, data_line, put_together,
    status_and_message,
};
use crate::step::Fault;

pub(crate) struct OpenAiChat;

impl Wire for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }
    fn messages_key(&self) -> &'static str {
        "messages"
    }
    fn writer(&self, context: Context) -> Box<dyn Writer> {
        Box::new(Stream { context, calls: 0 })
    }
    fn whole(&self, context: &Context, pieces: &mut dyn Iterator<Item = Piece>) -> Vec<u8> {
        whole(context, pieces).to_string().into_bytes()
    }
    fn refusal(&self, fault: &Fault) -> Refusal {
        openai_refusal(fault)
    }
}

/// The error body that both APIs of OpenAI share.
pub(super) fn openai_refusal(fault: &Fault) -> Refusal {
    let (status, message) = status_and_message(
        fault,
        "This model's maximum context length is 200000 tokens. However, your messages resulted in \
         210000 tokens. Please reduce the length of the messages.",
        "Your request was rejected as a result of our safety system.",
    );
    let code = match (fault, status) {
        (Fault::Overflow, _) => Some("context_length_exceeded"),
        (Fault::Safety, _) => Some("content_policy_violation"),
        (_, 401) => Some("invalid_api_key"),
        (_, 404) => Some("model_not_found"),
        (_, 429) => Some("rate_limit_exceeded"),
        _ => None,
    };
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "requests",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let body = json!({"error": {"message": message, "type": kind, "param": null, "code": code}});
    Refusal::json(status, &body)
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Interrupted => "stop",
        Stop::Calls => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
    }
}

fn usage_value(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
        },
    })
}

fn image_value(media_type: &str, base64: &str) -> Value {
    let url = format!("data:{media_type};base64,{base64}");
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn whole(context: &Context, pieces: &mut dyn Iterator<Item = Piece>) -> Value {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let (mut calls, mut images) = (Vec::new(), Vec::new());
    for part in put_together(pieces) {
        match part {
            Whole::Thinking(more) => reasoning.push_str(&more),
            Whole::Text(more) => text.push_str(&more),
            Whole::Call { id, tool, arguments } => calls.push(json!({
                "id": id, "type": "function",
                "function": {"name": tool, "arguments": arguments},
            })),
            Whole::Image { media_type, base64 } => images.push(image_value(&media_type, &base64)),
        }
    }
    let refused = context.stop == Stop::Refusal;
    let mut message = json!({
        "role": "assistant",
        "content": if refused || text.is_empty() { Value::Null } else { text.clone().into() },
        "refusal": if refused { text.into() } else { Value::Null },
        "annotations": [],
    });
    if !reasoning.is_empty() {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if !images.is_empty() {
        message["images"] = images.into();
    }
    json!({
        "id": format!("chatcmpl-script-{:04}", context.number),
        "object": "chat.completion",
        "created": CREATED,
        "model": context.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_reason(context.stop),
        }],
        "usage": usage_value(&context.usage),
        "service_tier": "default",
        "system_fingerprint": "fp_script",
    })
}

struct Stream {
    context: Context,
    calls: u64,
}

impl Stream {
    fn chunk(&self, choices: Value, usage: Value, out: &mut Vec<u8>) {
        let mut chunk = json!({
            "id": format!("chatcmpl-script-{:04}", self.context.number),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": self.context.model,
            "service_tier": "default",
            "system_fingerprint": "fp_script",
        });
        chunk["choices"] = choices;
        if self.context.include_usage {
            chunk["usage"] = usage;
        }
        data_line(out, &chunk, b"\n\n");
    }

    fn delta(&self, delta: &Value, out: &mut Vec<u8>) {
        let choice = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        self.chunk(choice, Value::Null, out);
    }

    fn text_key(&self) -> &'static str {
        if self.context.stop == Stop::Refusal { "refusal" } else { "content" }
    }
}

impl Writer for Stream {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.delta(&json!({"role": "assistant", "content": "", "refusal": null}), out);
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) {
        match piece {
            Piece::ThinkingBegin
            | Piece::ThinkingEnd
            | Piece::TextBegin
            | Piece::TextEnd
            | Piece::CallEnd => {}
            Piece::Thinking(text) => self.delta(&json!({"reasoning_content": text}), out),
            Piece::Text(text) => self.delta(&json!({self.text_key(): text}), out),
            Piece::CallBegin { id, tool } => {
                let call = json!({
                    "index": self.calls, "id": id, "type": "function",
                    "function": {"name": tool, "arguments": ""},
                });
                self.calls += 1;
                self.delta(&json!({"tool_calls": [call]}), out);
            }
            Piece::Arguments(text) => {
                let index = self.calls.saturating_sub(1);
                let call = json!({"index": index, "function": {"arguments": text}});
                self.delta(&json!({"tool_calls": [call]}), out);
            }
            Piece::Image { media_type, base64 } => {
                self.delta(&json!({"images": [image_value(&media_type, &base64)]}), out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let reason = finish_reason(self.context.stop);
        let choice = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]);
        self.chunk(choice, Value::Null, out);
        if self.context.include_usage {
            self.chunk(json!([]), usage_value(&self.context.usage), out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn broken(&mut self, out: &mut Vec<u8>) {
        let error = json!({"error": {
            "message": "The server had an error while processing your request (scripted).",
            "type": "server_error", "param": null, "code": null,
        }});
        data_line(out, &error, b"\n\n");
    }
}
