//! A session goes (D9): journal, blobs, index, checkpoints, externalised results and records of
//! commands. Audit lines stay: they tell what was done to the world.

use std::path::Path;

use weir_core::ids::SessionId;
use weir_engine::engine::EngineError;
use weir_engine::ports::{Checkpoints as _, SessionMeta, Worktrees as _};
use weir_store::{GitWorktrees, this_process};

use crate::context::InstallationContext;
use crate::failure::engine_failure;
use crate::wiring;

/// Removes one session. The journal goes last: whatever ends this half-way, it can be done again.
/// `label`: what holds it meanwhile, for people.
pub async fn remove(
    cx: &InstallationContext,
    meta: &SessionMeta,
    label: &str,
) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    let owner = this_process(label);
    let lease = store.acquire_lease(&meta.id, &owner).await;
    let lease = lease.map_err(|error| engine_failure(EngineError::Store(error)))?;
    let removed = remove_held(cx, &meta.id, Path::new(&meta.workspace)).await;
    if removed.is_err() {
        store.release_lease(&lease).await?;
    }
    removed
}

async fn remove_held(
    cx: &InstallationContext,
    id: &SessionId,
    folder: &Path,
) -> anyhow::Result<()> {
    wiring::open_checkpoints(cx).forget(folder, id).await?;
    weir_sandbox::remove_session_records(&cx.dirs.state, id)?;
    // The folder may be gone, or closed to this person: then so are the results in it.
    if let Ok(workspace) = cx.in_folder(folder).and_then(|there| there.open_workspace()) {
        let results = format!(".weir/tmp/{id}");
        if let Err(error) = workspace.remove_own(&results) {
            tracing::debug!(%error, results, "externalised results were not removed");
        }
    }
    // A sub-agent that worked in a copy of its own stood in that copy.
    if let Some((root, _)) = folder.to_str().and_then(|path| path.split_once("/.weir/worktrees/")) {
        GitWorktrees::default().remove(Path::new(root), id.as_str());
    }
    cx.session_store()?.delete_session(id).await?;
    Ok(())
}
