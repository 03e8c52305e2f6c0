//! `diff_checkpoint`: what a checkpointed call changed, or what changed since before it.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, SnapshotEntry, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{ActionTool, empty_plan, tool_spec};
use crate::checkpoint::{self, LoadedCheckpoint};
use crate::draft::EDIT_BYTES_MAX;
use crate::{diff, run_blocking, text};

/// Most bytes of diffs in one result.
const DIFFS_BYTES_MAX: usize = 500_000;

pub(crate) struct DiffCheckpoint;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name, or the beginning of it.
    checkpoint: String,
    /// Only this file.
    #[serde(default)]
    path: Option<String>,
    /// Compare with the files as they are now.
    #[serde(default)]
    current: bool,
}

#[async_trait]
impl ActionTool for DiffCheckpoint {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            ..tool_spec(
                "diff_checkpoint",
                ToolGroup::Read,
                "Shows as a unified diff what a checkpointed call changed, or what changed since.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Compare with checkpoint {}", input.checkpoint);
        let loaded = match checkpoint::load_checkpoint(&input.checkpoint, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        match &input.path {
            Some(path) => {
                let plan = checkpoint::plan_reading(&[path], summary, cx);
                let missing = plan
                    .effects
                    .paths
                    .first()
                    .and_then(|at| checkpoint::find_entry(&loaded, at, &cx.workspace).err());
                match missing {
                    Some(why) => plan.with_failure(why),
                    None => plan,
                }
            }
            None => {
                let paths: Vec<&str> = loaded.entries.iter().map(|e| e.path.as_str()).collect();
                checkpoint::plan_reading(&paths, summary, cx)
            }
        }
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let loaded = match checkpoint::load_checkpoint(&input.checkpoint, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return RawResult::error(why),
        };
        let (workspace, paths) = (cx.workspace.clone(), effects.paths.clone());
        let shown = run_blocking(move || render_diffs(&loaded, &paths, input.current, &workspace));
        match shown.await {
            Ok(Ok((text, files))) => {
                RawResult::ok(text).with_summary(text::count_noun(files, "changed file"))
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

fn render_diffs(
    loaded: &LoadedCheckpoint,
    paths: &[PathEffect],
    current: bool,
    workspace: &Workspace,
) -> Result<(String, usize), String> {
    let mut text = String::new();
    let mut files = 0;
    for at in paths {
        let entry = checkpoint::find_entry(loaded, at, workspace)?;
        let now = if current { current_content(workspace, at)? } else { entry.after.clone() };
        let diff = entry_diff(entry, &now);
        files += usize::from(!diff.is_empty());
        if text.len() + diff.len() <= DIFFS_BYTES_MAX {
            text.push_str(&diff);
        } else {
            text.push_str(&format!(
                "{}: not shown, the result is full; ask for its path\n",
                at.path
            ));
        }
    }
    if text.is_empty() {
        text.push_str("No difference.");
    }
    Ok((text, files))
}

fn current_content(workspace: &Workspace, at: &PathEffect) -> Result<FileContent, String> {
    match workspace.read(at, EDIT_BYTES_MAX) {
        Ok(content) => Ok(content),
        Err(FileError::NotFound { .. }) => Ok(FileContent::Absent),
        Err(why) => Err(why.to_string()),
    }
}

fn entry_diff(entry: &SnapshotEntry, now: &FileContent) -> String {
    let bytes = |content: &FileContent| match content {
        FileContent::File { bytes, .. } => Some(bytes.clone()),
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => None,
    };
    match (bytes(&entry.before), bytes(now)) {
        (None, None) if entry.before == *now => String::new(),
        (None, None) => format!(
            "{}: {} became {}\n",
            entry.path,
            content_kind(&entry.before),
            content_kind(now)
        ),
        (old, new) => diff::unified_diff(&entry.path, old.as_deref(), new.as_deref()),
    }
}

fn content_kind(content: &FileContent) -> &'static str {
    match content {
        FileContent::Absent => "nothing",
        FileContent::Folder => "a folder",
        FileContent::File { .. } => "a file",
        FileContent::Link { .. } => "a link",
    }
}
