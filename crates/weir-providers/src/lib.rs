//! Speaks: one codec per wire dialect and one shared transport.
#![warn(missing_docs)]

pub mod catalogue;
pub mod dialect;
pub mod http_model;
pub mod probe;
pub mod sse;
pub mod transport;
pub mod window;

use dialect::Dialect;

/// All dialects.
pub const DIALECTS: &[&dyn Dialect] = &[
    &dialect::anthropic::Anthropic,
    &dialect::openai_responses::OpenAiResponses,
    &dialect::openai_chat::OpenAiChat,
    &dialect::gemini::Gemini,
];

/// The dialect of this name.
pub fn dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
