//! A session goes (D9): journal, blobs, index, checkpoints, externalised results and records of
//! commands. Audit lines stay: they tell what was done to the world.

use std::path::Path;

use weir_core::ids::SessionId;
use weir_engine::engine::EngineError;
use weir_engine::family;
use weir_engine::ports::{Checkpoints as _, Lease, SessionMeta, Store, Worktrees as _};
use weir_store::{GitWorktrees, this_process};

use crate::context::InstallationContext;
use crate::failure::engine_failure;
use crate::wiring;

/// A session and its sub-agents, which go with it: they before it, so that what is left can be found by
/// its name. Those that have no facts are not among them.
///
/// # Errors
/// The store cannot be read.
pub async fn with_sub_agents(
    store: &dyn Store,
    id: &SessionId,
) -> anyhow::Result<Vec<SessionMeta>> {
    let below = family::sessions_below(store, id).await.map_err(engine_failure)?;
    let mut found = Vec::new();
    for one in below.iter().chain([id]) {
        found.extend(store.session_meta(one).await?);
    }
    Ok(found)
}

/// Removes sessions as [`with_sub_agents`] gives them. All are taken first, those above before those below: a
/// sub-agent that has ended is held by nobody, and must not go while the session that started it runs. The
/// journal of each goes last: whatever ends this half-way, it can be done again. `label`: what holds them
/// meanwhile, for people. `removed` is told of each that is gone.
///
/// # Errors
/// Somebody has one of them: then nothing is removed. Or something could not be removed.
pub async fn remove_all(
    cx: &InstallationContext,
    all: &[SessionMeta],
    label: &str,
    mut removed: impl FnMut(&SessionMeta) -> anyhow::Result<()> + Send,
) -> anyhow::Result<()> {
    let store = cx.session_store()?;
    let owner = this_process(label);
    let mut held = Vec::new();
    for meta in all.iter().rev() {
        match store.acquire_lease(&meta.id, &owner).await {
            Ok(lease) => held.push(lease),
            Err(error) => {
                give_back(store.as_ref(), &held).await?;
                return Err(engine_failure(EngineError::Store(error)));
            }
        }
    }
    for meta in all {
        let gone = remove_held(cx, &meta.id, Path::new(&meta.workspace)).await;
        if let Err(error) = gone.and_then(|()| removed(meta)) {
            // The leases of those that are gone went with them, which is no error here.
            give_back(store.as_ref(), &held).await?;
            return Err(error);
        }
    }
    Ok(())
}

async fn give_back(store: &dyn Store, held: &[Lease]) -> anyhow::Result<()> {
    for lease in held {
        store.release_lease(lease).await?;
    }
    Ok(())
}

async fn remove_held(
    cx: &InstallationContext,
    id: &SessionId,
    folder: &Path,
) -> anyhow::Result<()> {
    wiring::open_checkpoints(cx).forget(folder, id).await?;
    weir_sandbox::remove_session_records(&cx.dirs.state, id)?;
    // There is none, unless it ran in the background once.
    let _ = std::fs::remove_file(super::detached_output_file(&cx.dirs.state, id));
    remove_terminal_files(&super::editor_terminals_folder(&cx.dirs.state), id);
    // The folder may be gone, or closed to this person: then so are the results in it.
    if let Ok(workspace) = cx.in_folder(folder).and_then(|there| there.open_workspace()) {
        let results = format!(".weir/tmp/{id}");
        if let Err(error) = workspace.remove_own(&results) {
            tracing::debug!(%error, results, "externalised results were not removed");
        }
    }
    // A sub-agent that worked in a copy of its own stood in that copy.
    if let Some((root, _)) = folder.to_str().and_then(|path| path.rsplit_once("/.weir/worktrees/"))
    {
        GitWorktrees.remove(Path::new(root), id.as_str());
        // What it did there may have been taken over, with a checkpoint in the project.
        wiring::open_checkpoints(cx).forget(Path::new(root), id).await?;
    }
    cx.session_store()?.delete_session(id).await?;
    Ok(())
}

/// What terminals of an editor showed of a session and a killed program left. There is none, as a rule.
fn remove_terminal_files(folder: &Path, id: &SessionId) {
    let prefix = super::terminal_file_prefix(id);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        // What follows is the name of a call, so that one of another session is never meant.
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        if rest.is_some_and(|rest| !rest.contains('-')) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_test_kit::TestFolder;

    use super::*;

    #[test]
    fn r1_what_a_killed_program_left_for_terminals_goes_with_its_session() {
        let folder = TestFolder::with_files(&[
            ("s-1-c1.out", "x"),
            ("s-1-c1.failed", ""),
            ("s-1-2-c1.out", "of another"),
            ("s-c1.out", "of another"),
        ]);
        remove_terminal_files(folder.path(), &SessionId::new("s-1"));
        let names = std::fs::read_dir(folder.path()).expect("it is there").flatten();
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names, ["s-1-2-c1.out", "s-c1.out"]);
    }
}
