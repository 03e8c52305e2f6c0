//! Taking over what was done in a copy: which copy, which session answers for it, and what the engine needs
//! to do it. Not here: how it is done (`weir_engine::worktree_merge`).

use std::sync::Arc;

use weir_engine::pen::SessionPen;
use weir_engine::worktree_merge::{self as engine, MergeError, MergeParts, MergedWorktree};
use weir_store::{GitWorktrees, this_process};

use super::{SessionWorktree, answering_session};
use crate::context::InstallationContext;
use crate::failure::{engine_failure, usage};
use crate::wiring::{self, SystemClock};

pub use weir_engine::worktree_merge::{MergeOutcome, MergePlan, RUN_OF_MERGE};

/// Works out what taking the changes of a copy over means for the project as it is now.
///
/// # Errors
/// The copy or the project cannot be read.
pub async fn plan_merge(
    cx: &InstallationContext,
    worktree: &SessionWorktree,
) -> anyhow::Result<MergePlan> {
    let (_, copy) = open_copy(cx, worktree)?;
    engine::plan_worktree_merge(&copy).await.map_err(merge_failure)
}

/// Takes the changes over. Meanwhile nobody can run the session that answers for them.
///
/// # Errors
/// Somebody works in the copy; a file or the checkpoint cannot be read or written.
pub async fn merge_worktree(
    cx: &InstallationContext,
    worktree: &SessionWorktree,
    holder: &str,
) -> anyhow::Result<MergeOutcome> {
    worktree.require_rest(cx).await?;
    let session = answering_session(worktree)?;
    let (there, copy) = open_copy(cx, worktree)?;
    let (owner, principal) = (this_process(holder), wiring::principal_name(cx));
    let parts = MergeParts {
        store: there.local_store()?,
        checkpoints: wiring::open_checkpoints(&there),
        clock: Arc::new(SystemClock::default()),
        by: principal.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let pen = SessionPen::take_session(cx.local_store()?, &owner, &principal, session).await;
    let pen = pen.map_err(engine_failure)?;
    engine::merge_worktree(&copy, &parts, pen).await.map_err(merge_failure)
}

/// The copy as the engine takes it, and the same program in its project.
fn open_copy(
    cx: &InstallationContext,
    worktree: &SessionWorktree,
) -> anyhow::Result<(InstallationContext, MergedWorktree)> {
    let there = cx.in_folder(&worktree.project)?;
    let copy = MergedWorktree {
        worktrees: Arc::new(GitWorktrees),
        name: worktree.name.clone(),
        whole_name: worktree.git_name(),
        folder: worktree.folder.clone(),
        project: worktree.project.clone(),
        workspace: there.open_workspace()?,
    };
    Ok((there, copy))
}

fn merge_failure(error: MergeError) -> anyhow::Error {
    match error {
        MergeError::Unusable(why) => usage(why),
        MergeError::Store(error) => error.into(),
        MergeError::Engine(error) => engine_failure(error),
    }
}
