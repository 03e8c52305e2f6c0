//! Anthropic Messages: `POST /v1/messages`.

mod decode;
mod encode;

pub(crate) use decode::read_usage;

use super::ledger::RequestBuffer;
use super::stream::ReplyStreamDecoder;
use super::{Dialect, ReplyDecoder, RequestEncoder, VendorQuirks};

/// Name of this dialect.
pub const NAME: &str = "anthropic";

/// Anthropic's Messages.
pub struct AnthropicDialect;

impl Dialect for AnthropicDialect {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Anthropic messages"
    }

    fn request_path(&self, _model: &str) -> String {
        "/v1/messages".into()
    }

    fn request_headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("anthropic-version", "2023-06-01".to_owned()),
            // Thinking between calls, so that every turn with calls has its thinking block.
            ("anthropic-beta", "interleaved-thinking-2025-05-14".to_owned()),
        ];
        headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
        headers
    }

    fn new_encoder(&self, quirks: &VendorQuirks) -> Box<dyn RequestEncoder> {
        Box::new(RequestBuffer::new(encode::AnthropicMessages::new(quirks)))
    }

    fn new_decoder(&self, quirks: &VendorQuirks) -> Box<dyn ReplyDecoder> {
        Box::new(ReplyStreamDecoder::<_>::new(decode::AnthropicAssembly::new(quirks)))
    }
}
