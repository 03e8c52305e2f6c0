//! The vendors' side of the wire: what a request says, and the bytes a real server would answer.
//! Not a codec: the codecs of Weir stand in [`weir_providers::dialect`] and are judged against this.

pub(super) mod anthropic;
pub(super) mod gemini;
pub(super) mod ollama;
pub(super) mod openai_chat;
pub(super) mod openai_responses;
mod request;
mod search;

use weir_core::model::{StopReason, Usage};

use super::fault::ScriptedFault;
use super::pieces::ReplyPiece;
pub(super) use request::WireRequest;
pub(super) use search::search_answer;

/// One vendor's way to read requests and write replies.
pub(super) trait Wire: Send + Sync {
    /// The dialect's name in [`weir_providers::DIALECTS`].
    fn name(&self) -> &'static str;
    /// Key of the list of messages in a body.
    fn messages_key(&self) -> &'static str;
    /// The type of a streamed answer.
    fn stream_type(&self) -> &'static str {
        EVENTS
    }
    /// Writes a reply as a stream.
    fn new_writer(&self, context: ReplyContext) -> Box<dyn ReplyWriter>;
    /// Writes a reply as one JSON object.
    fn whole_reply(
        &self,
        context: &ReplyContext,
        pieces: &mut dyn Iterator<Item = ReplyPiece>,
    ) -> Vec<u8>;
    /// The vendor's answer to a request that it does not accept.
    fn refusal_for(&self, fault: &ScriptedFault) -> RefusalResponse;
}

/// Every dialect that the scripted model speaks.
pub(super) const WIRES: &[&dyn Wire] = &[
    &anthropic::AnthropicWire,
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &gemini::GeminiWire,
    &ollama::OllamaWire,
];

/// What a reply needs to know beside its pieces.
#[derive(Debug, Clone)]
pub(super) struct ReplyContext {
    /// The model's name as asked for.
    pub(super) model: String,
    /// Number of the reply in its session: part of made ids.
    pub(super) number: u64,
    pub(super) usage: Usage,
    pub(super) stop: StopReason,
    /// A chunk with usage was asked for (Chat Completions).
    pub(super) include_usage: bool,
}

/// When all replies of the scripted model were made: it has no clock, so that runs can be compared.
pub(super) const CREATED: u64 = 1_760_000_000;

/// Writes one reply piece by piece. Appends whole events or lines.
pub(super) trait ReplyWriter: Send {
    fn begin(&mut self, out: &mut Vec<u8>);
    fn write_piece(&mut self, piece: ReplyPiece, out: &mut Vec<u8>);
    fn finish(&mut self, out: &mut Vec<u8>);
    /// An error in the middle of the stream, as the vendor sends it.
    fn write_stream_error(&mut self, out: &mut Vec<u8>);
}

/// An answer that is not a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusalResponse {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream; charset=utf-8";

impl RefusalResponse {
    fn from_json(status: u16, body: &serde_json::Value) -> RefusalResponse {
        RefusalResponse { status, content_type: JSON, body: body.to_string().into_bytes() }
    }
}

/// Status and sentence of a fault that is told before a stream begins.
fn status_and_message(fault: &ScriptedFault, overflow: &str, safety: &str) -> (u16, String) {
    match fault {
        ScriptedFault::Status { status, message, .. } if message.is_empty() => {
            (*status, usual_message(*status).to_owned())
        }
        ScriptedFault::Status { status, message, .. } => (*status, message.clone()),
        ScriptedFault::Overflow => (400, overflow.to_owned()),
        ScriptedFault::Safety => (400, safety.to_owned()),
        ScriptedFault::Cut
        | ScriptedFault::Reset
        | ScriptedFault::Stall
        | ScriptedFault::Midstream
        | ScriptedFault::Garbage
        | ScriptedFault::Hang
        | ScriptedFault::Network => (500, usual_message(500).to_owned()),
    }
}

fn usual_message(status: u16) -> &'static str {
    match status {
        400 => "The request is invalid (scripted).",
        401 => "The API key is invalid (scripted).",
        403 => "The API key may not use this model (scripted).",
        404 => "The model does not exist (scripted).",
        408 | 504 => "The request timed out (scripted).",
        413 => "The request is too large (scripted).",
        429 => "Too many requests (scripted).",
        503 | 529 => "Overloaded (scripted).",
        _ => "Internal server error (scripted).",
    }
}

/// One server-sent event with a name.
fn write_event(out: &mut Vec<u8>, name: &str, data: &serde_json::Value) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\n");
    data_line(out, data, b"\n\n");
}

/// One server-sent event without a name.
fn data_line(out: &mut Vec<u8>, data: &serde_json::Value, end: &[u8]) {
    out.extend_from_slice(b"data: ");
    // Writing JSON into memory cannot fail; were it to, the reader would see a broken event.
    let _ = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(end);
}

/// A signature as vendors attach it to reasoning: opaque to the reader.
fn scripted_signature(number: u64) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(format!("scripted signature {number}"))
}

/// The arguments as the object that a whole reply holds; text that is no object stays text.
fn arguments_value(arguments: &str) -> serde_json::Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| serde_json::Value::from(arguments))
}

/// A reply whose pieces were put together, for answers that are not streamed.
pub(super) enum WholePart {
    Thinking(String),
    Text(String),
    Call { id: String, tool: String, arguments: String },
    Image { media_type: String, base64: String },
}

fn put_together(pieces: &mut dyn Iterator<Item = ReplyPiece>) -> Vec<WholePart> {
    let mut out = Vec::new();
    for piece in pieces {
        match (piece, out.last_mut()) {
            (ReplyPiece::ThinkingBegin, _) => out.push(WholePart::Thinking(String::new())),
            (ReplyPiece::TextBegin, _) => out.push(WholePart::Text(String::new())),
            (ReplyPiece::CallBegin { id, tool }, _) => {
                out.push(WholePart::Call { id, tool, arguments: String::new() });
            }
            (ReplyPiece::Image { media_type, base64 }, _) => {
                out.push(WholePart::Image { media_type, base64 });
            }
            (ReplyPiece::Thinking(more), Some(WholePart::Thinking(text)))
            | (ReplyPiece::Text(more), Some(WholePart::Text(text)))
            | (ReplyPiece::Arguments(more), Some(WholePart::Call { arguments: text, .. })) => {
                text.push_str(&more);
            }
            _ => {}
        }
    }
    out
}
