//! Search by meaning over the files of a workspace (K6). Not here: how it is done, and where its index is
//! kept.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::model::Usage;
use weir_core::tool::ResultEffect;

use super::{CallBounds, ProgressSink};
use crate::workspace::Workspace;

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeaningQuestion {
    /// In words.
    pub words: String,
    /// Only in this folder, relative to the workspace; empty: everywhere.
    pub folder: String,
    /// At most so many passages.
    pub limit: usize,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPassage {
    /// The file, relative to the workspace.
    pub path: String,
    /// Headings above it, from the outermost on.
    pub headings: Vec<String>,
    /// Its first line, from 1 on.
    pub line: usize,
    /// Where it begins in that line, in characters from 1 on.
    pub column: usize,
    /// Its last line.
    pub last_line: usize,
    /// Its text.
    pub text: String,
    /// How well its words fit; none: it was not found by words.
    pub words: Option<f32>,
    /// How near its vector is; none: it was not found by vectors.
    pub vectors: Option<f32>,
    /// How near it is to the best passages by links; none: not at all.
    pub links: Option<f32>,
}

/// What a call used of a model beside the session's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelUse {
    /// Tokens.
    pub usage: Usage,
    /// What that cost; `None`: nobody knows.
    pub cost_usd: Option<f64>,
}

impl From<ModelUse> for ResultEffect {
    fn from(used: ModelUse) -> ResultEffect {
        ResultEffect::Used { usage: used.usage, cost_usd: used.cost_usd }
    }
}

/// What a search brought.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeaningAnswer {
    /// Best first.
    pub passages: Vec<FoundPassage>,
    /// The kind of vectors that were compared, in words for a person.
    pub vectors: String,
    /// What making vectors used; none: no model was asked.
    pub used: Option<ModelUse>,
    /// Files that were searched.
    pub files: usize,
    /// Files that are not in the index yet.
    pub files_left: usize,
    /// What the reader must know of it: why something is left out.
    pub notes: Vec<String>,
}

/// What one search may use.
#[derive(Clone, Copy)]
pub struct MeaningScope<'a> {
    /// Shows how far it is.
    pub progress: &'a ProgressSink,
    /// Ends it.
    pub cancel: &'a CancellationToken,
    /// Under what bounds a model may be asked for vectors.
    pub bounds: &'a dyn CallBounds,
}

/// Search by meaning. Called for one call at a time; keeps its index current itself.
#[async_trait]
pub trait MeaningSearch: Send + Sync {
    /// Looks in the files of this workspace. What is hidden is in no answer and no count. Returns soon
    /// after the scope's `cancel` fires. No model is asked beyond the scope's bounds: then it goes on without.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn search_workspace(
        &self,
        workspace: &Arc<Workspace>,
        question: MeaningQuestion,
        scope: &MeaningScope<'_>,
    ) -> Result<MeaningAnswer, String>;
}
