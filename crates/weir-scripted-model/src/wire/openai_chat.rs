//! OpenAI Chat Completions as the vendor's server, and those that follow it, speak it.

use serde_json::{Value, json};
use weir_core::model::{StopReason, Usage};

use super::{
    CREATED, RefusalResponse, ReplyContext, ReplyPiece, ReplyWriter, WholePart, Wire, data_line,
    put_together, status_and_message,
};
use crate::fault::ScriptedFault;

pub(crate) struct OpenAiChat;

impl Wire for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }
    fn messages_key(&self) -> &'static str {
        "messages"
    }
    fn new_writer(&self, context: ReplyContext) -> Box<dyn ReplyWriter> {
        Box::new(OpenAiChatWriter { context, calls: 0 })
    }
    fn whole_reply(
        &self,
        context: &ReplyContext,
        pieces: &mut dyn Iterator<Item = ReplyPiece>,
    ) -> Vec<u8> {
        whole_json(context, pieces).to_string().into_bytes()
    }
    fn refusal_for(&self, fault: &ScriptedFault) -> RefusalResponse {
        openai_refusal(fault)
    }
}

/// The error body that both APIs of OpenAI share.
pub(super) fn openai_refusal(fault: &ScriptedFault) -> RefusalResponse {
    let (status, message) = status_and_message(
        fault,
        "This model's maximum context length is 200000 tokens. However, your messages resulted in \
         210000 tokens. Please reduce the length of the messages.",
        "Your request was rejected as a result of our safety system.",
    );
    let code = match (fault, status) {
        (ScriptedFault::Overflow, _) => Some("context_length_exceeded"),
        (ScriptedFault::Safety, _) => Some("content_policy_violation"),
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
    RefusalResponse::from_json(status, &body)
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End | StopReason::Interrupted => "stop",
        StopReason::Calls => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
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

fn whole_json(context: &ReplyContext, pieces: &mut dyn Iterator<Item = ReplyPiece>) -> Value {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let (mut calls, mut images) = (Vec::new(), Vec::new());
    for part in put_together(pieces) {
        match part {
            WholePart::Thinking(more) => reasoning.push_str(&more),
            WholePart::Text(more) => text.push_str(&more),
            WholePart::Call { id, tool, arguments } => calls.push(json!({
                "id": id, "type": "function",
                "function": {"name": tool, "arguments": arguments},
            })),
            WholePart::Image { media_type, base64 } => {
                images.push(image_value(&media_type, &base64))
            }
        }
    }
    let refused = context.stop == StopReason::Refusal;
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

struct OpenAiChatWriter {
    context: ReplyContext,
    calls: u64,
}

impl OpenAiChatWriter {
    fn write_chunk(&self, choices: Value, usage: Value, out: &mut Vec<u8>) {
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

    fn write_delta(&self, delta: &Value, out: &mut Vec<u8>) {
        let choice = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]);
        self.write_chunk(choice, Value::Null, out);
    }

    fn text_key(&self) -> &'static str {
        if self.context.stop == StopReason::Refusal { "refusal" } else { "content" }
    }
}

impl ReplyWriter for OpenAiChatWriter {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.write_delta(&json!({"role": "assistant", "content": "", "refusal": null}), out);
    }

    fn write_piece(&mut self, piece: ReplyPiece, out: &mut Vec<u8>) {
        match piece {
            ReplyPiece::ThinkingBegin
            | ReplyPiece::ThinkingEnd
            | ReplyPiece::TextBegin
            | ReplyPiece::TextEnd
            | ReplyPiece::CallEnd => {}
            ReplyPiece::Thinking(text) => {
                self.write_delta(&json!({"reasoning_content": text}), out)
            }
            ReplyPiece::Text(text) => self.write_delta(&json!({self.text_key(): text}), out),
            ReplyPiece::CallBegin { id, tool } => {
                let call = json!({
                    "index": self.calls, "id": id, "type": "function",
                    "function": {"name": tool, "arguments": ""},
                });
                self.calls += 1;
                self.write_delta(&json!({"tool_calls": [call]}), out);
            }
            ReplyPiece::Arguments(text) => {
                let index = self.calls.saturating_sub(1);
                let call = json!({"index": index, "function": {"arguments": text}});
                self.write_delta(&json!({"tool_calls": [call]}), out);
            }
            ReplyPiece::Image { media_type, base64 } => {
                self.write_delta(&json!({"images": [image_value(&media_type, &base64)]}), out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let reason = finish_reason(self.context.stop);
        let choice = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": reason}]);
        self.write_chunk(choice, Value::Null, out);
        if self.context.include_usage {
            self.write_chunk(json!([]), usage_value(&self.context.usage), out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn write_stream_error(&mut self, out: &mut Vec<u8>) {
        let error = json!({"error": {
            "message": "The server had an error while processing your request (scripted).",
            "type": "server_error", "param": null, "code": null,
        }});
        data_line(out, &error, b"\n\n");
    }
}
