//! Speaks: one codec per wire dialect and one shared transport.
//!
//! # A request is encoded, and a stream decoded
//!
//! A dialect has no I/O: a request becomes a body, and the bytes of the answer, however they are cut,
//! become signals and a reply.
//!
//! ```
//! use std::sync::Arc;
//!
//! use weir_core::ids::{SessionId, TurnId};
//! use weir_core::message::{Message, MessageBlock};
//! use weir_core::model::{
//!     ModelInfo, ModelRef, ModelReply, ModelRequest, ModelSignal, StopReason, Thinking,
//! };
//! use weir_engine::ports::MediaMap;
//! use weir_providers::dialect::VendorQuirks;
//! use weir_providers::find_dialect;
//!
//! let dialect = find_dialect("openai-chat").expect("it is in the list");
//! let quirks = VendorQuirks { stream_usage: true, ..VendorQuirks::default() };
//! let model = ModelRef { provider: "example".into(), name: "small".into() };
//! let request = ModelRequest {
//!     session: SessionId::new("s1"),
//!     turn: TurnId(1),
//!     model: Arc::new(ModelInfo { max_output: 1_000, ..ModelInfo::with_name(model) }),
//!     system: "You are brief.".into(),
//!     tools: Arc::default(),
//!     history: vec![Arc::new(Message::user(vec![MessageBlock::text("Hello")]))].into(),
//!     tail: None,
//!     thinking: Thinking::Off,
//! };
//! let mut encoder = dialect.new_encoder(&quirks);
//! encoder.encode(&request, &MediaMap::new());
//! let body: serde_json::Value = serde_json::from_slice(&encoder.last_body()).expect("JSON");
//! assert_eq!(body["model"], "small");
//!
//! let stream = concat!(
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"}}]}\n\n",
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
//!     "data: [DONE]\n\n",
//! );
//! let mut decoder = dialect.new_decoder(&quirks);
//! let mut shown = String::new();
//! for chunk in stream.as_bytes().chunks(7) {
//!     decoder.feed(chunk, &mut |signal| {
//!         if let ModelSignal::Text(text) = signal {
//!             shown.push_str(&text);
//!         }
//!     });
//! }
//! assert_eq!(shown, "Hi.");
//! assert!(matches!(decoder.finish(), ModelReply::Whole { stop: StopReason::End, .. }));
//! ```
#![warn(missing_docs)]

pub mod catalogue;
pub mod dialect;
pub mod embedding;
pub mod http_model;
pub mod ndjson;
pub mod picture;
pub mod probe;
pub mod search;
pub mod sse;
pub mod text_calls;
pub mod text_tools;
pub mod transport;
pub mod window;

use dialect::Dialect;

/// Every wire format that is spoken.
pub const DIALECTS: &[&dyn Dialect] = &[
    &dialect::anthropic::AnthropicDialect,
    &dialect::openai_responses::OpenAiResponses,
    &dialect::openai_chat::OpenAiChat,
    &dialect::gemini::GeminiDialect,
    &dialect::ollama::OllamaChat,
];

/// The dialect of this name; `None`: there is none.
pub fn find_dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
