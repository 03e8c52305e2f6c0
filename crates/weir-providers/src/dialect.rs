//! A provider is a codec: a request becomes bytes, bytes become signals and a reply (V1). No I/O.

pub mod anthropic;
pub mod gemini;
pub mod names;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;

mod failure;
mod json;
mod ledger;
mod schema;
mod stream;

use weir_core::message::VendorSeal;
use weir_core::model::{ModelReply, ModelRequest, ModelSignal};
use weir_engine::ports::{AttachmentSupport, MediaMap, PreparedRequest};

pub(crate) use openai_chat::decode::decode_base64;
pub(crate) use openai_chat::encode::output_modalities;
pub use stream::REPLY_BYTES_MAX;

/// The failure that an error in an answer with a good status tells.
pub(crate) fn failure_in_answer(error: &serde_json::Value) -> ModelReply {
    failure::from_stream(error).into_reply()
}

/// What a vendor of a known dialect does differently: a row of `vendors.toml`, as data.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VendorQuirks {
    /// The request may carry `stream_options.include_usage`.
    pub stream_usage: bool,
    /// The request may carry `prompt_cache_key`.
    pub prompt_cache_key: bool,
    /// Output limit is called `max_completion_tokens` instead of `max_tokens`.
    pub max_completion_tokens: bool,
    /// Reasoning text comes (and, where `replay_reasoning`, goes back) in this field of a message.
    pub reasoning_field: Option<String>,
    /// Reasoning is sent back.
    pub replay_reasoning: bool,
    /// The system prompt goes as role `developer`.
    pub developer_role: bool,
    /// How thinking effort is asked for in Chat Completions: `effort` (`reasoning_effort`),
    /// `object` (`reasoning.effort`), or not at all.
    pub reasoning_param: Option<String>,
    /// Ids of calls must be nine letters and digits.
    pub short_call_ids: bool,
    /// A user message must not follow results of calls: the assistant says a word in between.
    pub assistant_after_results: bool,
    /// Chat Completions of this vendor take `file` parts (PDF).
    pub file_parts: bool,
    /// What a model is to make is named in `modalities`, or it makes words alone.
    pub modalities: bool,
    /// Whose quirks these are. What a vendor sealed goes back to that vendor only, so that a
    /// signature never reaches another vendor of the same dialect. Filled by the catalogue.
    pub vendor: String,
}

impl VendorQuirks {
    /// The seal's data, when this dialect and vendor made it, and this model where the vendor binds
    /// it to one.
    pub(crate) fn own_seal<'a>(
        &self,
        dialect: &str,
        model: &str,
        seal: Option<&'a VendorSeal>,
    ) -> Option<&'a serde_json::Value> {
        let seal = seal.filter(|seal| seal.dialect == dialect)?;
        let text = |name: &str| seal.data.get(name).and_then(serde_json::Value::as_str);
        let same_model =
            text("model").is_none_or(|made_by| without_date(made_by) == without_date(model));
        (same_model && text("vendor").unwrap_or("") == self.vendor).then_some(&seal.data)
    }

    /// A seal of this dialect and vendor.
    pub(crate) fn make_seal(
        &self,
        dialect: &str,
        mut data: serde_json::Map<String, serde_json::Value>,
    ) -> VendorSeal {
        if !self.vendor.is_empty() {
            data.insert("vendor".into(), self.vendor.clone().into());
        }
        VendorSeal { dialect: dialect.into(), data: data.into() }
    }
}

/// `claude-sonnet-4-5-20250929` and `gpt-5-2025-08-07` are snapshots of the name before the date.
pub(crate) fn without_date(name: &str) -> &str {
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((head, day)) = name.rsplit_once('-') {
        if digits(day, 8) {
            return head;
        }
        if digits(day, 2)
            && let Some((head, month)) = head.rsplit_once('-')
            && digits(month, 2)
            && let Some((head, year)) = head.rsplit_once('-')
            && digits(year, 4)
        {
            return head;
        }
    }
    name
}

/// One wire format. One value per dialect, in [`crate::DIALECTS`].
pub trait Dialect: Sync {
    /// The word of the config: `anthropic`, `openai-responses`, `openai-chat`, `gemini`, `ollama`.
    fn name(&self) -> &'static str;
    /// The words of a form in which a person chooses it.
    fn title(&self) -> &'static str;
    /// Path below the base URL, for this model: `/v1/messages`.
    fn request_path(&self, model: &str) -> String;
    /// Headers that carry the key and the protocol's version; values of `key` stay out of logs.
    fn request_headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;
    /// An encoder that keeps what it encoded.
    fn new_encoder(&self, quirks: &VendorQuirks) -> Box<dyn RequestEncoder>;
    /// A decoder for one reply.
    fn new_decoder(&self, quirks: &VendorQuirks) -> Box<dyn ReplyDecoder>;
    /// Class, sentence and wish to wait, from an answer that is not a stream. `retry_after` is in
    /// seconds, with a fraction where the vendor gave milliseconds.
    fn classify_failure(&self, status: u16, retry_after: Option<&str>, body: &[u8]) -> ModelReply {
        failure::from_answer(status, retry_after, body).into_reply()
    }
}

/// Turns the requests of one session into bodies. Keeps the encoded history and extends it, so a
/// turn costs what is new in it (Q4).
pub trait RequestEncoder: Send {
    /// Encodes `request`. Total (V3). The history stands last in the body, so that each body
    /// extends the one before but for the closing brackets, cache markers and tail.
    fn encode(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest;
    /// The first message of the history that [`RequestEncoder::encode`] would write: it reads no media of those
    /// before it.
    fn first_to_write(&self, request: &ModelRequest) -> usize;
    /// Which attachments it encodes as they are; in place of others stand words.
    fn accepted_media(&self) -> AttachmentSupport;
    /// The body that was encoded last; empty once it was taken.
    fn last_body(&self) -> bytes::Bytes;
    /// The same, to be sent. It is not kept: whoever sends again encodes again.
    fn take_body(&mut self) -> bytes::Bytes {
        self.last_body()
    }
}

/// Turns the bytes of one reply into signals and, at the end, the reply. Sans I/O; any chunking
/// gives the same result; bounded memory per event and per reply.
pub trait ReplyDecoder: Send {
    /// Takes some bytes; passes what can be shown to `signal`.
    fn feed(&mut self, bytes: &[u8], signal: &mut dyn FnMut(ModelSignal));
    /// Whether nothing that may still come can change the reply: it is whole, or it has failed.
    fn is_over(&self) -> bool;
    /// The stream is over. A reply that is not whole is `Failed { class: StreamCut }`.
    fn finish(self: Box<Self>) -> ModelReply;
}
