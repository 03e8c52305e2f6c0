//! Externalised results go when their task ends; what a crash left goes an hour later (X1). Copies
//! of the workspace that sub-agents worked in go when they are merged, or once they are old (M6).

use std::time::Duration;

use weir_core::ids::SessionId;
use weir_engine::workspace::Workspace;
use weir_store::GitWorktrees;

use crate::context::InstallationContext;

/// Age after which a folder of results belongs to nobody.
const ORPHAN_AGE: Duration = Duration::from_secs(3600);

/// The task of this session is done.
pub fn remove_results(workspace: &Workspace, session: &SessionId) {
    // Nothing depends on it: what stays goes with the orphans.
    let _ = workspace.remove_own(&format!(".weir/tmp/{session}"));
}

/// Folders of results that nobody touched for an hour.
pub fn remove_orphans(cx: &InstallationContext) {
    GitWorktrees.sweep_orphans(&cx.folder);
    let Ok(folders) = std::fs::read_dir(cx.folder.join(".weir/tmp")) else { return };
    let Ok(workspace) = cx.open_workspace() else { return };
    for folder in folders.flatten() {
        let age = folder.metadata().and_then(|m| m.modified()).ok().and_then(|m| m.elapsed().ok());
        if age.is_some_and(|age| age > ORPHAN_AGE) {
            let name = folder.file_name().to_string_lossy().into_owned();
            let _ = workspace.remove_own(&format!(".weir/tmp/{name}"));
        }
    }
}
