//! OpenAI Responses: `POST /responses`, stateless: nothing is stored by the vendor, encrypted
//! reasoning travels with the history.

mod decode;
mod encode;

pub(crate) use decode::read_usage;

use super::ledger::RequestBuffer;
use super::stream::ReplyStreamDecoder;
use super::{Dialect, ReplyDecoder, RequestEncoder, VendorQuirks};

/// Name of this dialect.
pub const NAME: &str = "openai-responses";

/// OpenAI's Responses.
pub struct OpenAiResponses;

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "OpenAI responses"
    }

    fn request_path(&self, _model: &str) -> String {
        "/responses".into()
    }

    fn request_headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn new_encoder(&self, quirks: &VendorQuirks) -> Box<dyn RequestEncoder> {
        Box::new(RequestBuffer::new(encode::ResponsesItems::new(quirks)))
    }

    fn new_decoder(&self, quirks: &VendorQuirks) -> Box<dyn ReplyDecoder> {
        Box::new(ReplyStreamDecoder::<_>::new(decode::ResponsesAssembly::new(quirks)))
    }
}
