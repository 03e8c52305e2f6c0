//! Anthropic Messages: `POST /v1/messages`.

mod decode;
mod encode;

use super::ledger::Ledger;
use super::stream::Stream;
use super::{Decoder, Dialect, Encoder, Quirks};

/// Name of this dialect.
pub const NAME: &str = "anthropic";

pub struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _model: &str) -> String {
        "/v1/messages".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("anthropic-version", "2023-06-01".to_owned()),
            // Thinking between calls, so that every turn with calls has its thinking block.
            ("anthropic-beta", "interleaved-thinking-2025-05-14".to_owned()),
        ];
        headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
        headers
    }

    fn encoder(&self, quirks: &Quirks) -> Box<dyn Encoder> {
        Box::new(Ledger::new(encode::Messages::new(quirks)))
    }

    fn decoder(&self, quirks: &Quirks) -> Box<dyn Decoder> {
        Box::new(Stream::new(decode::Assembly::new(quirks)))
    }
}
