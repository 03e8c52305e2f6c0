//! A provider is a codec: a request becomes bytes, bytes become signals and a reply (V1). No I/O.

use weir_core::model::{ModelRequest, Reply, Signal};
use weir_engine::ports::{MediaMap, Prepared};

/// What a vendor of a known dialect does differently: a row of `vendors.toml`, as data.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
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
}

/// One wire format. One value per dialect, in [`crate::DIALECTS`].
pub trait Dialect: Sync {
    /// The word of the config: `anthropic`, `openai-responses`, `openai-chat`, `gemini`.
    fn name(&self) -> &'static str;
    /// Path below the base URL, for this model: `/v1/messages`.
    fn path(&self, model: &str) -> String;
    /// Headers that carry the key and the protocol's version; values of `key` stay out of logs.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;
    /// An encoder that keeps what it encoded.
    fn encoder(&self, quirks: &Quirks) -> Box<dyn Encoder>;
    /// A decoder for one reply.
    fn decoder(&self, quirks: &Quirks) -> Box<dyn Decoder>;
    /// Class, sentence and wish to wait, from an answer that is not a stream.
    fn classify(&self, status: u16, retry_after: Option<&str>, body: &[u8]) -> Reply;
}

/// Turns the requests of one session into bodies. Keeps the encoded history and extends it, so a
/// turn costs what is new in it (Q4).
pub trait Encoder: Send {
    /// Encodes `request`. Total (V3). The history stands last in the body, so that each body
    /// extends the one before but for the closing brackets, cache markers and tail.
    fn encode(&mut self, request: &ModelRequest, media: &MediaMap) -> Prepared;
    /// The body that was encoded last.
    fn body(&self) -> bytes::Bytes;
}

/// Turns the bytes of one reply into signals and, at the end, the reply. Sans I/O; any chunking
/// gives the same result; bounded memory per event.
pub trait Decoder: Send {
    /// Takes some bytes; passes what can be shown to `signal`.
    fn feed(&mut self, bytes: &[u8], signal: &mut dyn FnMut(Signal));
    /// The stream is over. A reply that is not whole is `Failed { class: StreamCut }`.
    fn finish(self: Box<Self>) -> Reply;
}
