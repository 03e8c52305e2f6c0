//! OpenAI Chat Completions: `POST /chat/completions`, spoken by most vendors and local servers.

pub(crate) mod decode;
pub(super) mod encode;

use super::ledger::RequestBuffer;
use super::stream::ReplyStreamDecoder;
use super::{Dialect, ReplyDecoder, RequestEncoder, VendorQuirks};

/// Name of this dialect.
pub const NAME: &str = "openai-chat";

/// OpenAI's Chat Completions, which many vendors speak.
pub struct OpenAiChat;

impl Dialect for OpenAiChat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "OpenAI-compatible (chat completions)"
    }

    fn request_path(&self, _model: &str) -> String {
        "/chat/completions".into()
    }

    fn request_headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
    }

    fn new_encoder(&self, quirks: &VendorQuirks) -> Box<dyn RequestEncoder> {
        Box::new(RequestBuffer::new(encode::OpenAiChatMessages::new(quirks)))
    }

    fn new_decoder(&self, quirks: &VendorQuirks) -> Box<dyn ReplyDecoder> {
        Box::new(ReplyStreamDecoder::<_>::new(decode::OpenAiChatAssembly::new(quirks)))
    }
}
