//! The person's own prompt files, with versions (S5).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use super::HouseError;

/// A text of a person that stands in prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptFile {
    /// `SOUL.md`: who the agent is.
    Soul,
    /// `USER.md`: who the person is.
    User,
    /// How the agent is to behave towards them: the setting `prompt.instructions`.
    Personality,
}

impl PromptFile {
    /// All, in the order in which people read of them.
    pub const ALL: [PromptFile; 3] = [PromptFile::Soul, PromptFile::User, PromptFile::Personality];

    /// Its name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            PromptFile::Soul => "soul",
            PromptFile::User => "user",
            PromptFile::Personality => "personality",
        }
    }

    /// The file of this name.
    pub fn named(name: &str) -> Option<PromptFile> {
        PromptFile::ALL.into_iter().find(|file| file.name() == name)
    }
}

/// One version of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptVersion {
    /// 1, 2, 3, …
    pub version: u64,
    /// The text.
    pub text: String,
    /// Who saved it; `outside`: the file was changed by another program.
    pub by: String,
    /// When, in microseconds since 1970.
    #[schemars(with = "i64")]
    pub ts: Timestamp,
}

/// A text and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptText {
    /// Which.
    pub file: PromptFile,
    /// As it is now.
    pub text: String,
    /// Characters that a prompt has room for: a longer text is refused.
    pub chars_max: usize,
    /// The newest first. Empty: nobody ever wrote it.
    pub versions: Vec<PromptVersion>,
}

/// A part of the prompt that a new chat would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptSection {
    /// Its name.
    pub name: String,
    /// Its text as the model would read it.
    pub text: String,
    /// About so many tokens.
    pub tokens: u64,
}

/// `SOUL.md`, `USER.md`, instructions. What is on disk is the truth: a text that another program
/// changed is a version of its own.
#[async_trait]
pub trait PromptFiles: Send + Sync {
    /// A text with its versions.
    ///
    /// # Errors
    /// File or database cannot be read.
    async fn text(&self, file: PromptFile) -> Result<PromptText, HouseError>;
    /// Saves a text as a new version; the same text again is none. `expected`: only over this
    /// version (0: there is none yet). Returns the newest version.
    ///
    /// # Errors
    /// [`HouseError::Refused`]: too long, or somebody saved meanwhile.
    async fn save(
        &self,
        file: PromptFile,
        text: &str,
        expected: Option<u64>,
    ) -> Result<u64, HouseError>;
    /// The prompt of a new chat, part by part. Asks no model and changes nothing.
    ///
    /// # Errors
    /// No session could be begun now: why.
    async fn preview(&self) -> Result<Vec<PromptSection>, HouseError>;
}
