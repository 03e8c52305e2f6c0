//! What the checkpoint tools share: loading a snapshot, and the entries of it that may be seen.

use weir_core::tool::{EffectClass, Effects, PathAccess, PathEffect};
use weir_engine::ports::{CallPlan, CheckpointInfo, SnapshotEntry, ToolContext};
use weir_engine::workspace::Workspace;

/// One snapshot with its contents.
pub(crate) struct LoadedCheckpoint {
    pub(crate) info: CheckpointInfo,
    pub(crate) entries: Vec<SnapshotEntry>,
}

/// The snapshot called `id`, which may be the beginning of its name.
pub(crate) async fn load_checkpoint(
    id: &str,
    cx: &ToolContext,
) -> Result<LoadedCheckpoint, String> {
    let id = id.trim();
    if id.len() < 4 || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(format!(
            "{id:?} is not the name of a checkpoint; list_checkpoints shows the names"
        ));
    }
    match cx.checkpoints.load(cx.workspace.root(), id).await {
        Ok((info, entries)) => Ok(LoadedCheckpoint { info, entries }),
        Err(why) => Err(format!(
            "the checkpoint {id} cannot be read: {why}. list_checkpoints shows the names"
        )),
    }
}

/// The first characters of a name: enough to tell it from others.
pub(crate) fn short_checkpoint_id(info: &CheckpointInfo) -> &str {
    crate::text::first_chars(info.id.as_str(), 10)
}

/// The entry of `path` among those of a snapshot. Where there is none, those are named that may be told to
/// whoever has read none of them: neither hidden nor marked.
pub(crate) fn find_entry<'a>(
    loaded: &'a LoadedCheckpoint,
    at: &PathEffect,
    workspace: &Workspace,
) -> Result<&'a SnapshotEntry, String> {
    loaded.entries.iter().find(|entry| entry.path == at.path).ok_or_else(|| {
        let is_told = |entry: &&SnapshotEntry| {
            let at = workspace.resolve(&entry.path, PathAccess::Read);
            at.ignored.is_none() && at.marked.is_none()
        };
        let told = loaded.entries.iter().filter(is_told);
        let paths: Vec<String> = told.map(|entry| entry.path.clone()).collect();
        format!(
            "the checkpoint {} does not hold {}; it holds:\n{}",
            short_checkpoint_id(&loaded.info),
            at.path,
            crate::text::bullet_list(&paths, 20)
        )
    })
}

/// A plan that reads old content of these paths: judged as reading the paths themselves.
pub(crate) fn plan_reading(paths: &[&str], summary: String, cx: &ToolContext) -> CallPlan {
    let paths = paths.iter().map(|path| cx.workspace.resolve(path, PathAccess::Read)).collect();
    CallPlan::new(EffectClass::Read, Effects { paths, ..Effects::default() }, summary)
}
