//! Gemini: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`.

mod decode;
mod encode;

use super::ledger::Ledger;
use super::stream::Stream;
use super::{Decoder, Dialect, Encoder, Quirks};

/// Name of this dialect.
pub const NAME: &str = "gemini";

pub struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, model: &str) -> String {
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

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.to_owned())).into_iter().collect()
    }

    fn encoder(&self, quirks: &Quirks) -> Box<dyn Encoder> {
        Box::new(Ledger::new(encode::Contents::new(quirks)))
    }

    fn decoder(&self, quirks: &Quirks) -> Box<dyn Decoder> {
        Box::new(Stream::new(decode::Assembly::new(quirks)))
    }
}
