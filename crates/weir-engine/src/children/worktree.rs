//! Children that work in a copy of the workspace: a git worktree with the same guards. Not here:
//! making one (the port), merging it back (a call of its own, judged like any write).

use std::sync::Arc;

use weir_core::governance::label::Label;
use weir_core::ids::SessionId;
use weir_core::session::child;

use super::CallSubAgents;
use super::follow::AgentFollower;
use crate::blocking::run_blocking;
use crate::ports::{CopiedFile, Divergence, Worktrees};
use crate::workspace::Workspace;

/// Where no copies can be made.
pub(super) const NO_WORKTREES: &str = "no copies of the workspace can be made here";
/// Bytes of a difference that the model is shown; the files themselves stay in the copy.
const DIFF_BYTES_MAX: usize = 20_000;

impl CallSubAgents {
    fn require_worktrees(&self) -> Result<Arc<dyn Worktrees>, String> {
        self.context.resources.worktrees.clone().ok_or_else(|| NO_WORKTREES.to_owned())
    }

    /// The folder of an agent that works in a copy, as a workspace with the guards of this one.
    pub(super) async fn own_folder(&self, agent: &SessionId) -> Result<Arc<Workspace>, String> {
        let worktrees = self.require_worktrees()?;
        let (workspace, name) = (self.context.workspace.clone(), agent.to_string());
        let make = move || {
            let folder = worktrees.create_worktree(workspace.root(), &name)?;
            workspace.open_sibling(&folder).map(Arc::new)
        };
        let made = run_blocking(make).await;
        made.unwrap_or_else(|_| Err("the copy could not be made".into()))
    }

    /// The agent of that name, when it is one of this session that has come to rest.
    async fn of_mine(&self, agent: &str) -> Result<SessionId, String> {
        let id = SessionId::new(agent);
        let parent = child::parent_of(&id).map(|(parent, _)| parent);
        if parent.as_ref() != Some(&self.context.session) {
            return Err(format!("{agent} is not an agent that you started; its result names it"));
        }
        let meta =
            self.context.parts.store.session_meta(&id).await.map_err(|error| error.to_string())?;
        match meta.map(|meta| meta.status) {
            None => Err(format!("there is no agent {agent}")),
            Some(status) if matches!(status.as_str(), "running" | "waiting") => {
                Err(format!("{agent} still works; merge it once its result is there"))
            }
            Some(_) => Ok(id),
        }
    }

    pub(super) async fn left_by(&self, agent: &str) -> Result<Vec<Divergence>, String> {
        let (id, worktrees) = (self.of_mine(agent).await?, self.require_worktrees()?);
        let root = self.context.workspace.root().to_path_buf();
        let look = move || worktrees.worktree_changes(&root, id.as_str());
        let looked = run_blocking(look).await;
        looked.unwrap_or_else(|_| Err("the copy could not be read".into()))
    }

    /// Whose foreign words went into what an agent left in its copy: what it answered may stand outside of
    /// this session's context, and its files are marked for that copy alone (Z1).
    pub(super) async fn label_left_by(&self, agent: &str) -> Result<Label, String> {
        let id = self.of_mine(agent).await?;
        let root = self.context.workspace.root().display().to_string();
        let marks = self.context.parts.store.file_marks(&root).await;
        let marks =
            marks.map_err(|error| format!("the marks of the copy cannot be read: {error}"))?;
        let copy = format!(".weir/worktrees/{id}/");
        let mut label = Label::default();
        for mark in marks.iter().filter(|mark| mark.path.starts_with(&copy)) {
            label.join(&Label::external(mark.origin.as_str()));
        }
        Ok(label)
    }

    pub(super) async fn take_away(&self, agent: &str) {
        let (Ok(id), Ok(worktrees)) = (self.of_mine(agent).await, self.require_worktrees()) else {
            return;
        };
        let root = self.context.workspace.root().to_path_buf();
        let remove = move || worktrees.remove(&root, id.as_str());
        if run_blocking(remove).await.is_err() {
            tracing::warn!(agent, "a copy of the workspace could not be taken away");
        }
    }
}

impl AgentFollower {
    /// What an agent left in its copy, for the model: the difference and how it is taken over.
    pub(super) async fn own_diff(&self, changed: &[String]) -> String {
        let worktrees = self.context.resources.worktrees.clone().filter(|_| self.worktree);
        let Some(worktrees) = worktrees else { return String::new() };
        let (root, id) = (self.context.workspace.root().to_path_buf(), self.agent.clone());
        let look = move || worktrees.worktree_changes(&root, id.as_str());
        let left = run_blocking(look).await;
        let left = left.unwrap_or_else(|_| Err("the copy could not be read".into()));
        match left {
            Err(why) => format!("\n\nWhat it left in its copy cannot be shown: {why}"),
            Ok(left) if left.is_empty() && changed.is_empty() => {
                "\n\nIt changed nothing in its copy of the workspace.".into()
            }
            Ok(left) => format!(
                "\n\nIt worked in a copy of the workspace; nothing is changed here yet. \
                 merge_agent {{\"agent\": \"{}\"}} takes this over (find_tool loads it where it is not \
                 listed):\n{}",
                self.agent,
                worktree_diff_text(&left)
            ),
        }
    }
}

/// The difference as a unified diff, cut where it is long.
fn worktree_diff_text(left: &[Divergence]) -> String {
    let mut out = String::new();
    for file in left {
        if let Some(why) = &file.obstacle {
            out.push_str(&format!("{}: {why}\n", file.path));
            continue;
        }
        let text = |side: &Option<CopiedFile>| match side {
            None => Some(String::new()),
            Some(file) => String::from_utf8(file.bytes.clone()).ok(),
        };
        let (Some(base), Some(theirs)) = (text(&file.base), text(&file.theirs)) else {
            out.push_str(&format!("{}: not text on both sides\n", file.path));
            continue;
        };
        let runs = |side: &Option<CopiedFile>| side.as_ref().is_some_and(|file| file.is_executable);
        match (runs(&file.base), runs(&file.theirs)) {
            (false, true) => out.push_str(&format!("{}: can be run now\n", file.path)),
            (true, false) if file.theirs.is_some() => {
                out.push_str(&format!("{}: cannot be run any more\n", file.path));
            }
            _ => (),
        }
        if base == theirs {
            continue;
        }
        out.push_str(&format!("--- a/{0}\n+++ b/{0}\n", file.path));
        let patch = diffy::create_patch(&base, &theirs).to_string();
        // Its own two lines of names say nothing.
        out.extend(patch.split_inclusive('\n').skip(2));
        if out.len() > DIFF_BYTES_MAX {
            let end = (0..=DIFF_BYTES_MAX).rev().find(|at| out.is_char_boundary(*at));
            out.truncate(end.unwrap_or(0));
            out.push_str("\n… (cut; the rest is in its copy)\n");
            break;
        }
    }
    out
}
