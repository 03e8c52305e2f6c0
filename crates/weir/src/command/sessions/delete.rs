//! `weir sessions delete` (D9): journal, blobs, index, checkpoints, externalised results and
//! records of commands go. Audit lines stay: they tell what was done to the world.

use std::path::Path;
use std::process::ExitCode;

use weir_core::ids::SessionId;
use weir_engine::engine::EngineError;
use weir_engine::family;
use weir_engine::ports::{Checkpoints as _, SessionMeta, Worktrees as _};
use weir_install::cx::Cx;
use weir_install::session_ids;
use weir_install::wiring;
use weir_store::{GitWorktrees, this_process};

use super::meta;
use crate::failure::{engine_failure, exit, usage};
use crate::options::SessionsDeleteArgs;
use crate::terminal::{self, err, is_attended, out};

/// Finds all of them first, asks once, then removes one after the other.
pub(super) async fn delete(cx: &Cx, args: &SessionsDeleteArgs) -> anyhow::Result<ExitCode> {
    let store = cx.store()?;
    let mut found: Vec<SessionMeta> = Vec::new();
    for text in &args.sessions {
        let id = session_ids::find(store.as_ref(), text).await?;
        // Its sub-agents go with it: before it, so that what is left can be found by its name.
        let below = family::below(store.as_ref(), &id).await.map_err(engine_failure)?;
        for id in below.into_iter().chain([id]) {
            if found.iter().all(|meta| meta.id != id) {
                found.push(meta(store.as_ref(), &id).await?);
            }
        }
    }
    if !args.yes && !confirmed(&found)? {
        err("nothing was deleted");
        return Ok(ExitCode::from(exit::FAILED));
    }
    for meta in &found {
        remove(cx, meta, "weir sessions delete").await?;
        out(&format!("Deleted session {}.", meta.id))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn confirmed(sessions: &[SessionMeta]) -> anyhow::Result<bool> {
    if !is_attended() {
        return Err(usage("nobody can be asked here; confirm the deletion with --yes"));
    }
    for meta in sessions {
        let title = weir_core::view::plain::visible(&meta.title);
        terminal::err_line(&format!("{}  {} events  {title}", meta.id, meta.facts));
    }
    terminal::confirm("Delete with all checkpoints?")
}

/// Removes one session. The journal goes last: whatever ends this half-way, it can be done again.
/// `label`: what holds it meanwhile, for people.
pub(crate) async fn remove(cx: &Cx, meta: &SessionMeta, label: &str) -> anyhow::Result<()> {
    let store = cx.journal()?;
    let owner = this_process(label);
    let lease = store.acquire(&meta.id, &owner).await;
    let lease = lease.map_err(|error| engine_failure(EngineError::Store(error)))?;
    let removed = remove_held(cx, &meta.id, Path::new(&meta.workspace)).await;
    if removed.is_err() {
        store.release(&lease).await?;
    }
    removed
}

async fn remove_held(cx: &Cx, id: &SessionId, folder: &Path) -> anyhow::Result<()> {
    wiring::checkpoints(cx).forget(folder, id).await?;
    weir_sandbox::forget(&cx.dirs.state, id)?;
    // The folder may be gone, or closed to this person: then so are the results in it.
    if let Ok(workspace) = cx.at(folder).and_then(|there| there.workspace()) {
        let results = format!(".weir/tmp/{id}");
        if let Err(error) = workspace.remove_own(&results) {
            tracing::debug!(%error, results, "externalised results were not removed");
        }
    }
    // A sub-agent that worked in a copy of its own stood in that copy.
    if let Some((root, _)) = folder.to_str().and_then(|path| path.split_once("/.weir/worktrees/")) {
        GitWorktrees::default().remove(Path::new(root), id.as_str());
    }
    cx.journal()?.delete(id).await?;
    Ok(())
}
