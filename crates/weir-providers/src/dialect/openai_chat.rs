//! OpenAI Chat Completions: `POST /chat/completions`, spoken by most vendors and local servers.

pub(super) mod decode;
pub(super) mod encode;

use super::ledger::Ledger;
use super::stream::Stream;
use super::{Decoder, Dialect, Encoder, Quirks};

/// Name of this dialect.
pub const NAME: &str = "openai-chat";

pub struct OpenAiChat;

impl Dialect for OpenAiChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _model: &str) -> String {
        "/chat/completions".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn encoder(&self, quirks: &Quirks) -> Box<dyn Encoder> {
        Box::new(Ledger::new(encode::Messages::new(quirks)))
    }

    fn decoder(&self, quirks: &Quirks) -> Box<dyn Decoder> {
        Box::new(Stream::new(decode::Assembly::new(quirks)))
    }
}
