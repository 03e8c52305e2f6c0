//! Entries of a person's brain (K12), their own knowledge store beside their chats, as tools, stores and
//! pages name them. Not here: what an entry must look like and how it is exported (`crate::brain`).

use serde::{Deserialize, Serialize};

use crate::ids::{BrainEntryId, CallId, SessionId, Timestamp};
use crate::label::Label;

/// What an entry is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BrainEntryKind {
    /// Something written down.
    #[default]
    Note,
    /// A piece to be used again: code, a command, a phrase.
    Snippet,
    /// What a page of the web says.
    Page,
    /// What a file says.
    File,
}

impl BrainEntryKind {
    /// Every kind, in the order in which they are offered.
    pub const ALL: [BrainEntryKind; 4] =
        [BrainEntryKind::Note, BrainEntryKind::Snippet, BrainEntryKind::Page, BrainEntryKind::File];

    /// The kind as commands and properties write it.
    pub fn as_str(self) -> &'static str {
        match self {
            BrainEntryKind::Note => "note",
            BrainEntryKind::Snippet => "snippet",
            BrainEntryKind::Page => "page",
            BrainEntryKind::File => "file",
        }
    }

    /// The kind of this word.
    pub fn from_word(word: &str) -> Option<BrainEntryKind> {
        BrainEntryKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Whether an entry counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BrainEntryState {
    /// It is found and read.
    #[default]
    Active,
    /// It is found no more, and can be brought back.
    Forgotten,
}

impl BrainEntryState {
    /// The state as stores and pages write it.
    pub fn as_str(self) -> &'static str {
        match self {
            BrainEntryState::Active => "active",
            BrainEntryState::Forgotten => "forgotten",
        }
    }
}

/// Where an entry came from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BrainOrigin {
    /// The author: `person`, or the tool.
    pub by: String,
    /// The session in which it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// By which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The address or the path of the file that its words are from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// An entry of a person's brain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct BrainEntry {
    /// Its name in commands and addresses.
    pub id: BrainEntryId,
    /// What it is called: one line.
    pub title: String,
    /// What it says, in Markdown.
    pub text: String,
    /// What it is.
    pub kind: BrainEntryKind,
    /// Session, call, address or file that it came from.
    pub origin: BrainOrigin,
    /// A few words to find it by.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Whose words it was made from, and what private data was there (Z1). It keeps this for good.
    #[serde(default)]
    pub label: Label,
    /// When it was first kept.
    pub created: Timestamp,
    /// When it was last changed, forgotten or brought back.
    pub changed: Timestamp,
    /// Whether it counts.
    pub state: BrainEntryState,
    /// 1, 2, 3, … with each change: a change is for the version that was read.
    pub version: u32,
}

/// Title, text and the rest of an entry that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewBrainEntry {
    /// What it is called; empty: its first line says it.
    pub title: String,
    /// What it says, in Markdown.
    pub text: String,
    /// What it is.
    pub kind: BrainEntryKind,
    /// A few words to find it by.
    pub topics: Vec<String>,
    /// Where it comes from.
    pub origin: BrainOrigin,
    /// Whose words it is made from.
    pub label: Label,
}

/// A change of an entry; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BrainEdit {
    /// What it is called from now on.
    pub title: Option<String>,
    /// What it says from now on.
    pub text: Option<String>,
    /// The words to find it by from now on.
    pub topics: Option<Vec<String>>,
    /// Whose words go into the change; joined to the label that the entry has.
    pub label: Label,
}
