//! A session of a scenario that works in a copy of its workspace (`--worktree`): the repository that the copy is
//! made of, how it is made, and the merge that a person asks for, by what does both in the program. Not here:
//! which copy a person means, and what they are told (`weir-install`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use weir_core::ids::SessionId;
use weir_engine::engine::Engine;
use weir_engine::pen::SessionPen;
use weir_engine::ports::Worktrees as _;
use weir_engine::worktree_merge::{MergeParts, MergedWorktree, merge_worktree};
use weir_store::{GitWorktrees, SESSION_COPY};
use weir_test_kit::run_git;

use crate::play::World;

/// Makes the workspace a repository in which everything is committed.
pub(crate) fn commit_project(project: &Path) {
    run_git(project, &["init", "-q", "-b", "main"]);
    run_git(project, &["add", "."]);
    run_git(project, &["commit", "-q", "-m", "first"]);
}

/// The workspace of a session in the copy of this name.
pub(crate) fn copy_folder(project: &Path, name: &str) -> PathBuf {
    project.join(".weir/worktrees").join(git_name(name))
}

fn git_name(name: &str) -> String {
    format!("{SESSION_COPY}{name}")
}

/// Makes the copy, or finds the one that a life before has made.
pub(crate) fn make_copy(project: &Path, name: &str) -> anyhow::Result<()> {
    let made =
        GitWorktrees.create_worktree(project, &git_name(name)).map_err(|why| anyhow!(why))?;
    ensure!(made == copy_folder(project, name), "the copy is at another place: {}", made.display());
    Ok(())
}

/// What a person does who merges: nobody runs the session meanwhile. What does not fit changes nothing.
pub(crate) async fn merge_copy(world: &World, engine: &Engine, name: &str) -> anyhow::Result<()> {
    let (parts, project) = (engine.parts(), world.project());
    let copy = MergedWorktree {
        worktrees: Arc::new(GitWorktrees),
        name: name.to_owned(),
        whole_name: git_name(name),
        folder: copy_folder(&project, name),
        workspace: Arc::new(world.open_folder(project.clone())?),
        project,
    };
    let merging = MergeParts {
        store: parts.store.clone(),
        checkpoints: parts.checkpoints.clone(),
        clock: parts.clock.clone(),
        by: parts.principal.clone(),
        version: parts.version.clone(),
    };
    let (store, id) = (parts.store.clone(), SessionId::new("scenario"));
    let pen = SessionPen::take_session(store, &parts.owner, &parts.principal, &id).await?;
    merge_worktree(&copy, &merging, pen).await?;
    Ok(())
}

/// Whether git keeps this file for itself, or it names a commit, whose name is chance.
pub(crate) fn is_of_git(path: &str) -> bool {
    path.split('/').any(|part| part == ".git") || path.ends_with(".base")
}
