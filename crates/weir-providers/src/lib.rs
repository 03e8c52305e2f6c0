//! Speaks: one codec per wire dialect and one shared transport.

pub mod catalogue;
pub mod dialect;
pub mod http_model;
pub mod probe;
pub mod sse;
pub mod transport;
pub mod window;

use dialect::Dialect;

pub const DIALECTS: &[&dyn Dialect] = &[
    &dialect::anthropic::AnthropicDialect,
    &dialect::openai_responses::OpenAiResponses,
    &dialect::openai_chat::OpenAiChat,
    &dialect::gemini::GeminiDialect,
];

pub fn find_dialect(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name() == name)
}
