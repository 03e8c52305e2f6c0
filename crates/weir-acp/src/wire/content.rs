//! Pieces of prompts and messages. Not here: what becomes of those of a prompt (`crate::prompt`).

use serde::{Deserialize, Serialize};

/// A piece of a prompt or message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    /// Text, Markdown.
    Text {
        /// The words.
        text: String,
    },
    /// An image.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The bytes, in base64.
        data: String,
        /// IANA media type.
        mime_type: String,
    },
    /// Sound. Never offered, and refused.
    Audio {},
    /// A file by its address.
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        /// Its address.
        uri: String,
        /// For people.
        name: String,
        /// IANA media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// A file with its content.
    Resource {
        /// It.
        resource: ResourceContents,
    },
}

impl ContentBlock {
    /// Text.
    pub(crate) fn text_block(text: impl Into<String>) -> ContentBlock {
        ContentBlock::Text { text: text.into() }
    }
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ResourceContents {
    /// Text.
    Text {
        /// Its address.
        uri: String,
        /// The text.
        text: String,
    },
    /// Bytes.
    Blob {
        /// Its address.
        uri: String,
        /// The bytes, in base64.
        blob: String,
    },
}
