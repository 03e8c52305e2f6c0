//! What a call gives back: as the tool returned it, as the filters left it, and what it means for the
//! session. Not here: the filters (`governance::filter`), and what the session makes of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{HandleWords, ToolSpec, TypedFields};
use crate::ids::{BlobId, Seq};
use crate::knowledge::memory::MemoryNote;
use crate::knowledge::skill::SkillNote;
use crate::label::Label;
use crate::message::MessageBlock;
use crate::usage::Usage;

/// What a tool returns, before any filter. Never journaled, never shown.
#[derive(Debug, Clone, PartialEq)]
pub struct RawResult {
    /// False: it failed; the text says what, why and what to try (T6).
    pub ok: bool,
    /// Text, images, documents.
    pub blocks: Vec<MessageBlock>,
    /// One line for people: `142 lines`. Derived from the text when absent.
    pub summary: Option<String>,
    /// Bytes of the full output where the tool itself had to cut it.
    pub full_bytes: Option<u64>,
    /// Paths that it changed, as in [`super::PathEffect::path`].
    pub changed: Vec<String>,
    /// Effects of the result on the session itself: usage, a task list, a loaded tool.
    pub news: Vec<ResultEffect>,
    /// Whose words it gives back, beyond what its effects say.
    pub label: Label,
    /// Who gave it says that everybody may read it, and the person believes that.
    pub is_public: bool,
    /// The same answer as one value, where the other side gave it so: it is what a handle stands for (U6).
    pub structured: Option<Value>,
    /// Which fields of it hold what (U3).
    pub typed: TypedFields,
}

impl RawResult {
    /// A success with this text.
    pub fn ok(text: impl Into<String>) -> RawResult {
        RawResult {
            ok: true,
            blocks: vec![MessageBlock::text(text)],
            summary: None,
            full_bytes: None,
            changed: Vec::new(),
            news: Vec::new(),
            label: Label::default(),
            is_public: false,
            structured: None,
            typed: TypedFields::default(),
        }
    }
    /// A failure with this text: what failed, why, what to try.
    pub fn error(text: impl Into<String>) -> RawResult {
        RawResult { ok: false, ..RawResult::ok(text) }
    }
    /// The same with a one-line summary.
    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> RawResult {
        self.summary = Some(summary.into());
        self
    }
    /// The same, and it tells whether a background job runs.
    #[must_use]
    pub fn with_job(mut self, job: &str, running: bool) -> RawResult {
        self.news.push(ResultEffect::Job { job: job.to_owned(), running });
        self
    }
}

/// A result that the filters have passed (G8). Only [`crate::governance`] makes one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CleanResult {
    pub(crate) ok: bool,
    pub(crate) blocks: Vec<MessageBlock>,
    pub(crate) summary: String,
    pub(crate) bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) externalized: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) full: Option<BlobId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) changed: Vec<String>,
    #[serde(default)]
    pub(crate) label: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) withheld: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) handle: Option<Box<HandleWords>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) news: Vec<ResultEffect>,
}

impl CleanResult {
    /// Effects of the result on the session itself: usage, a task list, a loaded tool.
    pub fn result_effects(&self) -> &[ResultEffect] {
        &self.news
    }
    /// Where it came from and how private it is (Z1).
    pub fn label(&self) -> &Label {
        &self.label
    }
    /// Why the content was withheld, when it was (G8 `screen`).
    pub fn withheld_reason(&self) -> Option<&str> {
        self.withheld.as_deref()
    }
    /// The foreign words that stand beside the context (U6).
    pub fn handle_words(&self) -> Option<&HandleWords> {
        self.handle.as_deref()
    }
    /// Whether the call succeeded.
    pub fn is_ok(&self) -> bool {
        self.ok
    }
    /// What the model is given.
    pub fn blocks(&self) -> &[MessageBlock] {
        &self.blocks
    }
    /// One line for people.
    pub fn summary(&self) -> &str {
        &self.summary
    }
    /// Bytes of the full result.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Where the full text was put, when it was.
    pub fn externalized_path(&self) -> Option<&str> {
        self.externalized.as_deref()
    }
    /// The full (redacted) text as a blob, when it was externalised.
    pub fn full_blob(&self) -> Option<&BlobId> {
        self.full.as_ref()
    }
    /// Paths that the call changed.
    pub fn changed_paths(&self) -> &[String] {
        &self.changed
    }
}

/// What a finished call means for its session beside its text. Journaled with the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "news", rename_all = "snake_case")]
// As the published schema has always called it.
#[cfg_attr(any(test, feature = "schema"), schemars(rename = "News"))]
pub enum ResultEffect {
    /// Passages of the session were found again (`recall`).
    Recalled {
        /// The words that were searched for.
        words: String,
        /// The facts that they are from.
        passages: Vec<Seq>,
    },
    /// A fact was put into memory, or proposed (`mark_for_memory`).
    Remembered {
        /// The remembered fact with its id.
        note: MemoryNote,
    },
    /// A skill was read and is active from now on.
    Skill {
        /// The skill with its instructions.
        skill: SkillNote,
    },
    /// The call used another tool on its way, within its own permit.
    Step {
        /// Name of the tool.
        tool: String,
        /// Whether that succeeded.
        ok: bool,
        /// One line for people.
        summary: String,
    },
    /// The call asked another model, and that counts towards the run (`consult_flagship`).
    Used {
        /// Tokens.
        usage: Usage,
        /// What that cost; absent: nobody knows the price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// Tools may be called for the rest of the run (`find_tool`).
    Found {
        /// Their names.
        tools: Vec<String>,
    },
    /// A tool was made or changed: it may be called from now on (`manage_tool`).
    Made {
        /// Name, description and schema of the new tool.
        tool: Box<ToolSpec>,
    },
    /// A tool was taken away (`manage_tool`).
    Unmade {
        /// Name of the tool that was removed.
        name: String,
    },
    /// The addresses that what was fetched or found leads to, whole, each once (K10).
    Links {
        /// The addresses, as they would be fetched.
        links: Vec<String>,
    },
    /// A step that the call wanted needs a person's approval, and nobody can be asked in this run (C2).
    Unapproved {
        /// Name of the tool that the step would have used.
        tool: String,
        /// Why a person would be asked, as a sentence for people.
        reason: String,
    },
    /// A background job was started, ended, or looked at.
    Job {
        /// Its name, as [`super::Effects::jobs`] has it.
        job: String,
        /// Whether it was still running then.
        running: bool,
    },
}
