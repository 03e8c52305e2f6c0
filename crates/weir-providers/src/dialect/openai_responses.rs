//! OpenAI Responses: `POST /responses`, stateless: nothing is stored by the vendor, encrypted
//! reasoning travels with the history.

mod decode;
mod encode;

use super::ledger::Ledger;
use super::stream::Stream;
use super::{Decoder, Dialect, Encoder, Quirks};

/// Name of this dialect.
pub const NAME: &str = "openai-responses";

pub struct OpenAiResponses;

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self, _model: &str) -> String {
        "/responses".into()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn encoder(&self, quirks: &Quirks) -> Box<dyn Encoder> {
        Box::new(Ledger::new(encode::Items::new(quirks)))
    }

    fn decoder(&self, quirks: &Quirks) -> Box<dyn Decoder> {
        Box::new(Stream::new(decode::Assembly::new(quirks)))
    }
}
