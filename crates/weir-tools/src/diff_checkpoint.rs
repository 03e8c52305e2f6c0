//! `diff_checkpoint`: what a checkpointed call changed, or what changed since before it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Effects, Group, PathEffect, Raw, ToolSpec};
use weir_engine::ports::{Content, Plan, SnapshotEntry, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{Act, nothing, spec};
use crate::checkpoint::{self, Loaded};
use crate::draft::EDIT_BYTES_MAX;
use crate::{blocking, diff, text};

/// Most bytes of diffs in one result.
const DIFFS_BYTES_MAX: usize = 500_000;

pub(crate) struct DiffCheckpoint;

#[derive(Debug, Deserialize, JsonSchema)]
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
impl Act for DiffCheckpoint {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            parallel_safe: true,
            ..spec::<Input>(
                "diff_checkpoint",
                Group::Read,
                "Shows as a unified diff what a checkpointed call changed, or what changed since.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let summary = format!("Compare with checkpoint {}", input.checkpoint);
        let loaded = match checkpoint::load(&input.checkpoint, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return nothing(summary).failing(why),
        };
        match &input.path {
            Some(path) => {
                let plan = checkpoint::reads(&[path], summary, cx);
                let missing =
                    plan.effects.paths.first().and_then(|at| checkpoint::entry(&loaded, at).err());
                match missing {
                    Some(why) => plan.failing(why),
                    None => plan,
                }
            }
            None => {
                let paths: Vec<&str> = loaded.entries.iter().map(|e| e.path.as_str()).collect();
                checkpoint::reads(&paths, summary, cx)
            }
        }
    }

    async fn act(input: Input, effects: &Effects, cx: &ToolContext) -> Raw {
        let loaded = match checkpoint::load(&input.checkpoint, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return Raw::error(why),
        };
        let (workspace, paths) = (cx.workspace.clone(), effects.paths.clone());
        let shown = blocking(move || diffs(&loaded, &paths, input.current, &workspace));
        match shown.await {
            Ok(Ok((text, files))) => Raw::ok(text).with_summary(text::count(files, "changed file")),
            Ok(Err(why)) | Err(why) => Raw::error(why),
        }
    }
}

fn diffs(
    loaded: &Loaded,
    paths: &[PathEffect],
    current: bool,
    workspace: &Workspace,
) -> Result<(String, usize), String> {
    let mut text = String::new();
    let mut files = 0;
    for at in paths {
        let entry = checkpoint::entry(loaded, at)?;
        let now = if current { now(workspace, at)? } else { entry.after.clone() };
        let diff = difference(entry, &now);
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

fn now(workspace: &Workspace, at: &PathEffect) -> Result<Content, String> {
    match workspace.read(at, EDIT_BYTES_MAX) {
        Ok(content) => Ok(content),
        Err(FileError::NotFound { .. }) => Ok(Content::Absent),
        Err(why) => Err(why.to_string()),
    }
}

fn difference(entry: &SnapshotEntry, now: &Content) -> String {
    let bytes = |content: &Content| match content {
        Content::File { bytes, .. } => Some(bytes.clone()),
        Content::Absent | Content::Folder | Content::Link { .. } => None,
    };
    match (bytes(&entry.before), bytes(now)) {
        (None, None) if entry.before == *now => String::new(),
        (None, None) => format!("{}: {} became {}\n", entry.path, kind(&entry.before), kind(now)),
        (old, new) => diff::unified(&entry.path, old.as_deref(), new.as_deref()),
    }
}

fn kind(content: &Content) -> &'static str {
    match content {
        Content::Absent => "nothing",
        Content::Folder => "a folder",
        Content::File { .. } => "a file",
        Content::Link { .. } => "a link",
    }
}
