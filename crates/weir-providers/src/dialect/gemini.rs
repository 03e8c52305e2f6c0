//! Gemini: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`.

mod decode;
mod encode;

pub(crate) use decode::read_usage;

use super::ledger::RequestBuffer;
use super::stream::ReplyStreamDecoder;
use super::{Dialect, ReplyDecoder, RequestEncoder, VendorQuirks};

/// Name of this dialect.
pub const NAME: &str = "gemini";

/// Gemini's generateContent.
pub struct GeminiDialect;

impl Dialect for GeminiDialect {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Gemini"
    }

    fn request_path(&self, model: &str) -> String {
        // A name from the config may hold anything; it must stay one piece of the path.
        let mut name = String::new();
        for byte in model.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                    name.push(char::from(byte));
                }
                other => name.push_str(&format!("%{other:02X}")),
            }
        }
        format!("/v1beta/models/{name}:streamGenerateContent?alt=sse")
    }

    fn request_headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn new_encoder(&self, quirks: &VendorQuirks) -> Box<dyn RequestEncoder> {
        Box::new(RequestBuffer::new(encode::GeminiContents::new(quirks)))
    }

    fn new_decoder(&self, quirks: &VendorQuirks) -> Box<dyn ReplyDecoder> {
        Box::new(ReplyStreamDecoder::<_>::new(decode::GeminiAssembly::new(quirks)))
    }
}
