//! Gemini `generateContent` and `streamGenerateContent?alt=sse` as the vendor's server speaks them.

use serde_json::{Value, json};
use weir_core::model::Stop;

use super::{
    Context, EVENTS, Piece, Refusal, Whole, Wire, Writer, data_line, put_together, signature,
    status_and_message,
};
use crate::step::Fault;

pub(crate) struct Gemini;

impl Wire for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }
    fn messages_key(&self) -> &'static str {
        "contents"
    }
    fn writer(&self, context: Context) -> Box<dyn Writer> {
        Box::new(Stream { context, call: None, signed: false, thought: false, malformed: false })
    }
    fn whole(&self, context: &Context, pieces: &mut dyn Iterator<Item = Piece>) -> Vec<u8> {
        whole(context, pieces).to_string().into_bytes()
    }
    fn refusal(&self, fault: &Fault) -> Refusal {
        if *fault == Fault::Safety {
            // Not an error at this vendor, but a reply without candidates.
            let mut out = Vec::new();
            let data = json!({
                "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []},
                "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1},
                "modelVersion": "script",
            });
            data_line(&mut out, &data, b"\r\n\r\n");
            return Refusal { status: 200, content_type: EVENTS, body: out };
        }
        let (status, message) = status_and_message(
            fault,
            "The input token count (1200000) exceeds the maximum number of tokens allowed \
             (1048576).",
            "",
        );
        let mut error = json!({"code": status, "message": message, "status": status_word(status)});
        if let Fault::Status { retry_after: Some(seconds), .. } = fault {
            error["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]);
        }
        Refusal::json(status, &json!({"error": error}))
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

fn finish_reason(stop: Stop, malformed: bool) -> &'static str {
    match stop {
        _ if malformed => "MALFORMED_FUNCTION_CALL",
        // This vendor has no reason of its own for calls.
        Stop::End | Stop::Calls | Stop::Interrupted => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

fn usage_value(context: &Context) -> Value {
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

fn whole(context: &Context, pieces: &mut dyn Iterator<Item = Piece>) -> Value {
    let mut parts: Vec<Value> = Vec::new();
    let (mut malformed, mut signed) = (false, false);
    for part in put_together(pieces) {
        match part {
            Whole::Thinking(text) => parts.push(json!({"text": text, "thought": true})),
            Whole::Text(text) => parts.push(json!({"text": text})),
            Whole::Call { tool, arguments, .. } => match call_part(&tool, &arguments) {
                Some(mut call) => {
                    if !signed {
                        call["thoughtSignature"] = signature(context.number).into();
                        signed = true;
                    }
                    parts.push(call);
                }
                None => malformed = true,
            },
            Whole::Image { media_type, base64 } => parts.push(image_part(&media_type, &base64)),
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

struct Stream {
    context: Context,
    /// The call that is being gathered: this vendor sends calls whole.
    call: Option<(String, String)>,
    signed: bool,
    thought: bool,
    malformed: bool,
}

impl Stream {
    fn chunk(&self, part: &Value, finish: Option<&str>, out: &mut Vec<u8>) {
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

impl Writer for Stream {
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn piece(&mut self, piece: Piece, out: &mut Vec<u8>) {
        match piece {
            Piece::ThinkingBegin | Piece::ThinkingEnd | Piece::TextBegin | Piece::TextEnd => {}
            Piece::Thinking(text) => {
                self.thought = true;
                self.chunk(&json!({"text": text, "thought": true}), None, out);
            }
            Piece::Text(text) => self.chunk(&json!({"text": text}), None, out),
            Piece::CallBegin { tool, .. } => self.call = Some((tool, String::new())),
            Piece::Arguments(text) => {
                if let Some((_, arguments)) = &mut self.call {
                    arguments.push_str(&text);
                }
            }
            Piece::CallEnd => {
                let Some((tool, arguments)) = self.call.take() else { return };
                let Some(mut part) = call_part(&tool, &arguments) else {
                    self.malformed = true;
                    return;
                };
                // Only the first call of a reply is signed, thought or not.
                if !self.signed {
                    part["thoughtSignature"] = signature(self.context.number).into();
                    self.signed = true;
                }
                self.chunk(&part, None, out);
            }
            Piece::Image { media_type, base64 } => {
                self.chunk(&image_part(&media_type, &base64), None, out);
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let mut part = json!({"text": ""});
        if self.thought && !self.signed {
            part["thoughtSignature"] = signature(self.context.number).into();
        }
        self.chunk(&part, Some(finish_reason(self.context.stop, self.malformed)), out);
    }

    fn broken(&mut self, out: &mut Vec<u8>) {
        let error = json!({"error": {
            "code": 503, "message": "The model is overloaded (scripted).", "status": "UNAVAILABLE",
        }});
        data_line(out, &error, b"\r\n\r\n");
    }
}
