//! Facts that are remembered beyond one session (M4), as journals, tools and stores name them. Not
//! here: which are told, found or private (`crate::memory`).

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, MemoryId, SessionId, Timestamp};
use crate::label::Label;

/// The word in [`MemorySource::by`] for what a person wrote.
pub const BY_PERSON: &str = "person";

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// The identity of the person.
    Identity,
    /// How they want things done.
    Preference,
    /// A fact about this workspace.
    Project,
    /// Something that happened.
    Event,
    /// What was learned from a failure or a correction.
    Lesson,
}

impl MemoryKind {
    /// Every kind, in the order in which facts are told.
    pub const ALL: [MemoryKind; 5] = [
        MemoryKind::Identity,
        MemoryKind::Preference,
        MemoryKind::Project,
        MemoryKind::Lesson,
        MemoryKind::Event,
    ];

    /// What facts of this kind are, as a heading.
    pub fn heading(self) -> &'static str {
        match self {
            MemoryKind::Identity => "About the person",
            MemoryKind::Preference => "How the person wants things done",
            MemoryKind::Project => "About the workspace",
            MemoryKind::Lesson => "What was learned",
            MemoryKind::Event => "What happened",
        }
    }

    /// The kind as settings and journals write it.
    pub fn as_str(self) -> &'static str {
        match self {
            MemoryKind::Identity => "identity",
            MemoryKind::Preference => "preference",
            MemoryKind::Project => "project",
            MemoryKind::Lesson => "lesson",
            MemoryKind::Event => "event",
        }
    }
}

/// How far a fact has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryStatus {
    /// It waits in the inbox.
    Proposed,
    /// It is used.
    Kept,
    /// A person said no: the same words are not proposed again.
    Rejected,
    /// A person took it away.
    Forgotten,
    /// Another fact took its place.
    Superseded,
}

/// Where a fact came from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemorySource {
    /// The author: `person`, `mark_for_memory`, `condensing`, `run`.
    pub by: String,
    /// Id of the session in which it was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// By which call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// From which file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The person who put other words in place of those that were proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_by: Option<String>,
}

/// A fact that is to be remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct NewMemory {
    /// The fact, one sentence or two.
    pub text: String,
    /// Kind of the remembered fact.
    pub kind: MemoryKind,
    /// A few words to find it by.
    #[serde(default)]
    pub topics: Vec<String>,
    /// From 1 (may be lost) to 5 (always told).
    pub importance: u8,
    /// The workspace that it is about; `None`: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Session and call in which it was learned.
    pub source: MemorySource,
    /// Whose words it was made from (Z1). It keeps this for good.
    #[serde(default)]
    pub label: Label,
    /// Whether the fact waits for a person's approval before it counts.
    pub status: MemoryStatus,
    /// The fact whose place it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<MemoryId>,
}

/// A fact that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct MemoryFact {
    /// Its name: derived from its words and workspace, so that the same fact is one fact.
    pub id: MemoryId,
    /// The fact as it was first proposed, with its source.
    #[serde(flatten)]
    pub fact: NewMemory,
    /// How often it was said again.
    pub confirmed: u32,
    /// The fact that took its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<MemoryId>,
    /// When it was first said.
    pub created: Timestamp,
    /// When it was last said or settled.
    pub updated: Timestamp,
}

/// A fact as it stands in a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct MemoryNote {
    /// Id of the remembered fact.
    pub memory: MemoryId,
    /// The remembered fact in words.
    pub text: String,
    /// The subject of the fact. Under another name than the kind of the fact, which it would hide;
    /// journals of earlier versions have it as `kind`.
    #[serde(rename = "memory_kind", alias = "kind")]
    pub kind: MemoryKind,
    /// Whether the fact waits for a person's approval before it counts.
    pub status: MemoryStatus,
    /// The author of the fact, as in [`MemorySource::by`].
    pub by: String,
    /// Whose words it was made from.
    #[serde(default, skip_serializing_if = "Label::is_clean")]
    pub label: Label,
}
