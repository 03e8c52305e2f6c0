//! What passes between person, model and tools, in no vendor's format (V2).
//!
//! A session may change model and vendor between turns, so nothing here is shaped after one wire
//! dialect. What only its own vendor can read back (signatures, encrypted reasoning) travels as a
//! [`VendorSeal`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{BlobId, CallId};

mod read_block;

/// The side that speaks. Results of calls are the user's side of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, the results of calls, and notes of the engine.
    User,
    /// The model.
    Assistant,
}

/// One entry of the model's view. Immutable once made: history is shared, never rewritten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Message {
    /// The side that speaks; results of calls and notes stand on the side of the person.
    pub role: Role,
    /// What is said, in order.
    pub blocks: Vec<MessageBlock>,
}

/// The messages of a request, shared so that a turn does not copy what was sent before.
pub type MessageHistory = Arc<Vec<Arc<Message>>>;

/// Data that only the vendor who made it can read: sent back verbatim to the same dialect, dropped
/// for every other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct VendorSeal {
    /// Name of the dialect that made it (`anthropic`, `openai-responses`, `gemini`, …).
    pub dialect: String,
    /// The vendor's own data.
    pub data: Value,
}

/// One dated piece of context that the model is told (P2): a section of stability *run*.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PromptNote {
    /// Name of the section.
    pub section: String,
    /// Text of the note as the model reads it.
    pub text: String,
}

/// Bytes that stand in the blob store: an image, a PDF.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct StoredMedia {
    /// IANA media type: `image/png`, `application/pdf`.
    pub media_type: String,
    /// Where the bytes are.
    pub blob: BlobId,
    /// How many bytes.
    pub bytes: u64,
    /// File name, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageBlock {
    /// Plain text.
    Text {
        /// Text as it was written, without markup of its own.
        text: String,
        /// Citations as the vendor gave them; kept, shown, not sent to another vendor.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        citations: Vec<Value>,
        /// Vendor data that belongs to this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<VendorSeal>,
    },
    /// Reasoning of the model. `text` may be empty when the vendor sends it only sealed.
    Thinking {
        /// What may be shown.
        text: String,
        /// Signature or encrypted form, to be sent back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<VendorSeal>,
    },
    /// The model asks for a tool. Only in assistant messages.
    Call(CallBlock),
    /// The result of a call. Only in user messages, in the order the calls were asked.
    Result {
        /// Number of the call in its session.
        call: CallId,
        /// False when it failed, was refused or is unknown.
        ok: bool,
        /// What the model is given.
        blocks: Vec<MessageBlock>,
    },
    /// A picture (PNG, JPEG, GIF, WebP).
    Image {
        /// Type, size and blob of the picture.
        media: StoredMedia,
    },
    /// A document sent natively (PDF).
    Document {
        /// Type, size and blob of the document.
        media: StoredMedia,
    },
}

/// One call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CallBlock {
    /// The session's own id; ids of vendors are repaired into [`CallBlock::wire_id`].
    pub call: CallId,
    /// The vendor's id, unique in the session; rendered into each vendor's alphabet when sent.
    pub wire_id: String,
    /// Name of the tool as the model wrote it.
    pub tool: String,
    /// Arguments. `{}` where they could not be parsed.
    pub input: Value,
    /// The parser's message when the arguments were not JSON (L9): the call is never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// Vendor data that belongs to this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<VendorSeal>,
}

impl MessageBlock {
    /// Plain text without citations or seal.
    pub fn text(text: impl Into<String>) -> MessageBlock {
        MessageBlock::Text { text: text.into(), citations: Vec::new(), seal: None }
    }
}

impl Message {
    /// A message of the user's side.
    pub fn user(blocks: Vec<MessageBlock>) -> Message {
        Message { role: Role::User, blocks }
    }
    /// A message of the model.
    pub fn assistant(blocks: Vec<MessageBlock>) -> Message {
        Message { role: Role::Assistant, blocks }
    }
    /// All plain text of this message, joined without separator.
    pub fn plain_text(&self) -> String {
        plain_text(&self.blocks)
    }
}

/// All plain text in `blocks`, joined without separator; results and thinking left out.
pub fn plain_text(blocks: &[MessageBlock]) -> String {
    plain_texts(blocks).collect()
}

/// The texts of which that is made.
pub(crate) fn plain_texts(blocks: &[MessageBlock]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        MessageBlock::Text { text, .. } => Some(text.as_str()),
        MessageBlock::Thinking { .. }
        | MessageBlock::Call(_)
        | MessageBlock::Result { .. }
        | MessageBlock::Image { .. }
        | MessageBlock::Document { .. } => None,
    })
}
