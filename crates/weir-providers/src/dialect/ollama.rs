//! Ollama's own chat: `POST /api/chat`. It takes the window with each request (`options.num_ctx`), which its
//! OpenAI-compatible endpoint does not, and answers in JSON objects, one a line. Written after its public
//! documentation.

mod decode;
mod encode;

use super::ledger::RequestBuffer;
use super::stream::ReplyStreamDecoder;
use super::{Dialect, ReplyDecoder, RequestEncoder, VendorQuirks};
use crate::ndjson::LineDecoder;

/// Name of this dialect.
pub const NAME: &str = "ollama";

/// Ollama's own API.
pub struct OllamaChat;

impl Dialect for OllamaChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Ollama"
    }

    fn request_path(&self, _model: &str) -> String {
        "/api/chat".into()
    }

    fn request_headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        // A proxy before it, or its cloud, may want one.
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn new_encoder(&self, quirks: &VendorQuirks) -> Box<dyn RequestEncoder> {
        Box::new(RequestBuffer::new(encode::OllamaMessages::new(quirks)))
    }

    fn new_decoder(&self, _quirks: &VendorQuirks) -> Box<dyn ReplyDecoder> {
        let assembly = decode::OllamaAssembly::default();
        Box::new(ReplyStreamDecoder::<_, LineDecoder>::new(assembly))
    }
}
