//! Gemini `generateContent` and `streamGenerateContent?alt=sse` as the vendor's server speaks them.

use serde_json::{Value, json};
use weir_core::model::StopReason;

use super::{
    EVENTS, RefusalResponse, ReplyContext, ReplyPiece, ReplyWriter, WholePart, Wire, data_line,
    put_together, scripted_signature, status_and_message,
};
use crate::fault::ScriptedFault;

pub(crate) struct GeminiWire;

impl Wire for GeminiWire {
    fn name(&self) -> &'static str {
        "gemini"
    }
    fn messages_key(&self) -> &'static str {
        "contents"
    }
    fn new_writer(&self, context: ReplyContext) -> Box<dyn ReplyWriter> {
        Box::new(GeminiWriter {
            context,
            call: None,
            signed: false,
            thought: false,
            malformed: false,
        })
    }
    fn whole_reply(
        &self,
        context: &ReplyContext,
        pieces: &mut dyn Iterator<Item = ReplyPiece>,
    ) -> Vec<u8> {
        whole_json(context, pieces).to_string().into_bytes()
    }
    fn refusal_for(&self, fault: &ScriptedFault) -> RefusalResponse {
        if *fault == ScriptedFault::Safety {
            // Not an error at this vendor, but a reply without candidates.
            let mut out = Vec::new();
            let data = json!({
                "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []},
                "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1},
                "modelVersion": "script",
            });
            data_line(&mut out, &data, b"\r\n\r\n");
            return RefusalResponse { status: 200, content_type: EVENTS, body: out };
        }
        let (status, message) = status_and_message(
            fault,
            "The input token count (1200000) exceeds the maximum number of tokens allowed \
             (1048576).",
            "",
        );
        let mut error = json!({"code": status, "message": message, "status": status_word(status)});
        if let ScriptedFault::Status { retry_after: Some(seconds), .. } = fault {
            error["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]);
        }
        RefusalResponse::from_json(status, &json!({"error": error}))
    }
}

fn status_word(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        504 => "DEADLINE_EXCEEDED",
        501.. => "UNAVAILABLE",
        _ => "INVALID_ARGUMENT",
    }
}

fn finish_reason(stop: StopReason, malformed: bool) -> &'static str {
    match stop {
        _ if malformed => "MALFORMED_FUNCTION_CALL",
        // This vendor has no reason of its own for calls.
        StopReason::End | StopReason::Calls | StopReason::Interrupted => "STOP",
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
    }
}

fn usage_value(context: &ReplyContext) -> Value {
    let usage = &context.usage;
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    let mut value = json!({
        "promptTokenCount": prompt,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "totalTokenCount": prompt + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    });
    if usage.cache_read > 0 {
        value["cachedContentTokenCount"] = usage.cache_read.into();
    }
    if usage.reasoning > 0 {
        value["thoughtsTokenCount"] = usage.reasoning.into();
    }
    value
}

/// A call, or nothing when the arguments are no object: this vendor never sends broken ones.
fn call_part(tool: &str, arguments: &str) -> Option<Value> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    let args: serde_json::Map<String, Value> = serde_json::from_str(text).ok()?;
    Some(json!({"functionCall": {"name": tool, "args": args}}))
}

fn image_part(media_type: &str, data: &str) -> Value {
    json!({"inlineData": {"mimeType": media_type, "data": data}})
}

fn whole_json(context: &ReplyContext, pieces: &mut dyn Iterator<Item = ReplyPiece>) -> Value {
    let mut parts: Vec<Value> = Vec::new();
    let (mut malformed, mut signed) = (false, false);
    for part in put_together(pieces) {
        match part {
            WholePart::Thinking(text) => parts.push(json!({"text": text, "thought": true})),
            WholePart::Text(text) => parts.push(json!({"text": text})),
            WholePart::Call { tool, arguments, .. } => match call_part(&tool, &arguments) {
                Some(mut call) => {
                    if !signed {
                        call["thoughtSignature"] = scripted_signature(context.number).into();
                        signed = true;
                    }
                    parts.push(call);
                }
                None => malformed = true,
            },
            WholePart::Image { media_type, base64 } => parts.push(image_part(&media_type, &base64)),
        }
    }
    json!({
        "candidates": [{
            "content": {"parts": parts, "role": "model"},
            "finishReason": finish_reason(context.stop, malformed),
            "index": 0,
        }],
        "usageMetadata": usage_value(context),
        "modelVersion": context.model,
        "responseId": format!("script-{:04}", context.number),
    })
}

struct GeminiWriter {
    context: ReplyContext,
    /// The call that is being gathered: this vendor sends calls whole.
    call: Option<(String, String)>,
    signed: bool,
    thought: bool,
    malformed: bool,
}

impl GeminiWriter {
    fn write_chunk(&self, part: &Value, finish: Option<&str>, out: &mut Vec<u8>) {
        let mut candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = finish.into();
        }
        let chunk = json!({
            "candidates": [candidate],
            "usageMetadata": usage_value(&self.context),
            "modelVersion": self.context.model,
            "responseId": format!("script-{:04}", self.context.number),
        });
        data_line(out, &chunk, b"\r\n\r\n");
    }
}

impl ReplyWriter for GeminiWriter {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn write_piece(&mut self, piece: ReplyPiece, out: &mut Vec<u8>) {
        match piece {
            ReplyPiece::ThinkingBegin
            | ReplyPiece::ThinkingEnd
            | ReplyPiece::TextBegin
            | ReplyPiece::TextEnd => {}
            ReplyPiece::Thinking(text) => {
                self.thought = true;
                self.write_chunk(&json!({"text": text, "thought": true}), None, out);
            }
            ReplyPiece::Text(text) => self.write_chunk(&json!({"text": text}), None, out),
            ReplyPiece::CallBegin { tool, .. } => self.call = Some((tool, String::new())),
            ReplyPiece::Arguments(text) => {
                if let Some((_, arguments)) = &mut self.call {
                    arguments.push_str(&text);
                }
            }
            ReplyPiece::CallEnd => {
                let Some((tool, arguments)) = self.call.take() else { return };
                let Some(mut part) = call_part(&tool, &arguments) else {
                    self.malformed = true;
                    return;
                };
                // Only the first call of a reply is signed, thought or not.
                if !self.signed {
                    part["thoughtSignature"] = scripted_signature(self.context.number).into();
                    self.signed = true;
                }
                self.write_chunk(&part, None, out);
            }
            ReplyPiece::Image { media_type, base64 } => {
                self.write_chunk(&image_part(&media_type, &base64), None, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let mut part = json!({"text": ""});
        if self.thought && !self.signed {
            part["thoughtSignature"] = scripted_signature(self.context.number).into();
        }
        self.write_chunk(&part, Some(finish_reason(self.context.stop, self.malformed)), out);
    }

    fn write_stream_error(&mut self, out: &mut Vec<u8>) {
        let error = json!({"error": {
            "code": 503, "message": "The model is overloaded (scripted).", "status": "UNAVAILABLE",
        }});
        data_line(out, &error, b"\r\n\r\n");
    }
}
