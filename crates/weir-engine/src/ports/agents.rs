//! Sub-agents as a tool may use them (M6), and the copies of a workspace that they may work in. Not
//! here: what a sub-agent may do; that is decided from the session that starts it.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use weir_core::governance::label::Label;
use weir_core::tool::{RawResult, SpawnEffect};

use super::ToolContext;

/// What an agent is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTask {
    /// The task, in the words of the agent that starts the sub-agent.
    pub task: String,
    /// Its profile; none: that of the agent that starts it.
    pub profile: Option<String>,
    /// It works in a copy of the workspace.
    pub worktree: bool,
}

/// A file that an agent left different in its copy of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Relative to the root of both.
    pub path: String,
    /// The file when the copy was made; none: it was not there.
    pub base: Option<CopiedFile>,
    /// What the agent left; none: it took it away.
    pub theirs: Option<CopiedFile>,
    /// Why what it left cannot be taken over, as a sentence without the path: it is a link, or too large.
    pub obstacle: Option<String>,
}

/// A plain file of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it can be run, which is all that git keeps of a mode.
    pub is_executable: bool,
}

/// Sub-agents of one session.
#[async_trait]
pub trait SubAgents: Send + Sync {
    /// What starting an agent for `task` comes to. Starts nothing.
    ///
    /// # Errors
    /// A sentence for the model: there is no such profile, or no deeper agent may stand.
    async fn plan_spawn(&self, task: &AgentTask) -> Result<SpawnEffect, String>;
    /// Starts the agent of the call in `cx`, or takes it up where it stopped, and gives its answer.
    async fn run(&self, task: AgentTask, cx: &ToolContext) -> RawResult;
    /// What the agent of this name left in its copy of the workspace. Only agents of this session
    /// that have come to rest.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn worktree_changes(&self, agent: &str) -> Result<Vec<Divergence>, String>;
    /// Whose foreign words went into what it left there (Z1).
    ///
    /// # Errors
    /// A sentence for the model.
    async fn worktree_label(&self, agent: &str) -> Result<Label, String>;
    /// Its copy is not needed any more.
    async fn discard_worktree(&self, agent: &str);
}

/// No agent can be started.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAgents;

const NONE: &str = "no agent can be started from here";

#[async_trait]
impl SubAgents for NoAgents {
    async fn plan_spawn(&self, task: &AgentTask) -> Result<SpawnEffect, String> {
        // What rules say of it can be asked all the same.
        let profile = task.profile.clone().unwrap_or_default();
        Ok(SpawnEffect { profile, writes: true, worktree: task.worktree })
    }
    async fn run(&self, _: AgentTask, _: &ToolContext) -> RawResult {
        RawResult::error(NONE)
    }
    async fn worktree_changes(&self, _: &str) -> Result<Vec<Divergence>, String> {
        Err(NONE.into())
    }
    async fn worktree_label(&self, _: &str) -> Result<Label, String> {
        Err(NONE.into())
    }
    async fn discard_worktree(&self, _: &str) {}
}

/// Copies of a workspace that agents work in: git worktrees. Blocks: call it on a blocking thread.
pub trait Worktrees: Send + Sync {
    /// A copy of the repository around `root` as it was committed last. The same folder for the same
    /// `name`, also when it is there already. Gives the place in it that `root` has in the
    /// repository.
    ///
    /// # Errors
    /// A sentence: it is no repository, has no commit, or git cannot do it.
    fn create_worktree(&self, root: &Path, name: &str) -> Result<PathBuf, String>;
    /// What is different in the copy from what it was made of.
    ///
    /// # Errors
    /// A sentence: there is no such copy, or it cannot be read.
    fn worktree_changes(&self, root: &Path, name: &str) -> Result<Vec<Divergence>, String>;
    /// Takes the copy away, with what is in it.
    fn remove(&self, root: &Path, name: &str);
}
