//! `restore_checkpoint`: takes back what a checkpointed call changed.
//!
//! Only where the disk still holds what that call left: what changed since stays and is named.

use std::collections::BTreeSet;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, Image, ToolSpec};
use weir_engine::ports::{Content, Plan, SnapshotEntry, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{Contents, Edit, nothing, spec};
use crate::checkpoint::{self, Loaded};
use crate::draft::{Draft, planning};
use crate::text;

/// Paths that are named in a message.
const PATHS_SHOWN: usize = 20;

pub(crate) struct RestoreCheckpoint;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name, or the beginning of it.
    checkpoint: String,
    /// Only these paths; default: all that the call changed.
    #[serde(default)]
    paths: Vec<String>,
}

#[async_trait]
impl Edit for RestoreCheckpoint {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..spec::<Input>(
                "restore_checkpoint",
                Group::Edit,
                "Puts files back as they were before a checkpointed call. Files that changed since \
                 that call are left alone and named as conflicts.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let summary = format!("Restore checkpoint {}", input.checkpoint);
        let loaded = match checkpoint::load(&input.checkpoint, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return nothing(summary).failing(why),
        };
        let workspace = cx.workspace.clone();
        planning(move || plan(&input, &loaded, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let changed: BTreeSet<&str> =
            effects.changes.iter().map(|change| change.path.as_str()).collect();
        let lines: Vec<String> = effects
            .paths
            .iter()
            .map(|at| match changed.contains(at.path.as_str()) {
                true => format!("restored {}", at.path),
                false => format!("left alone {}: it changed since, or is as before", at.path),
            })
            .collect();
        format!(
            "Restored {} from checkpoint {}\n{}",
            text::count(changed.len(), "path"),
            text::head(&input.checkpoint, 10),
            text::bullets(&lines, PATHS_SHOWN)
        )
    }
}

fn plan(input: &Input, loaded: &Loaded, workspace: &Workspace) -> Plan {
    let mut draft = Draft::default();
    let mut problems = Vec::new();
    let summary = format!("Restore checkpoint {}", checkpoint::short(&loaded.info));
    let wanted: Vec<&SnapshotEntry> = if input.paths.is_empty() {
        loaded.entries.iter().collect()
    } else {
        let mut found = Vec::new();
        for path in &input.paths {
            let at = workspace.resolve(path, Access::Write);
            match checkpoint::entry(loaded, &at) {
                Ok(entry) => found.push(entry),
                Err(why) => {
                    draft.touch(at);
                    return draft.fail(summary, why);
                }
            }
        }
        found
    };
    for entry in wanted {
        if let Err(problem) = restore(entry, workspace, &mut draft) {
            problems.push(problem);
        }
    }
    if draft.is_empty() {
        let why = if problems.is_empty() {
            "every path is as it was before that call already".into()
        } else {
            format!("nothing can be restored:\n{}", text::bullets(&problems, PATHS_SHOWN))
        };
        return draft.fail(summary, why);
    }
    for problem in &problems {
        draft.note(&format!("{problem}\n"));
    }
    draft.plan(summary)
}

/// Adds the way back of one path, or says why there is none.
fn restore(entry: &SnapshotEntry, workspace: &Workspace, draft: &mut Draft) -> Result<(), String> {
    let at = workspace.resolve(&entry.path, Access::Write);
    let now = match workspace.image(&at) {
        Ok(now) => now,
        Err(FileError::NotFound { .. }) => Image::Absent,
        Err(why) => {
            draft.touch(at);
            return Err(why.to_string());
        }
    };
    if now != entry.after.image() {
        draft.touch(at);
        if now == entry.before.image() {
            return Ok(());
        }
        return Err(format!(
            "conflict: {} changed since that call; compare with diff_checkpoint and edit it",
            entry.path
        ));
    }
    let access = match (&now, &entry.before) {
        (Image::Absent, _) => Access::Create,
        (_, Content::Absent) => Access::Delete,
        (_, _) => Access::Write,
    };
    draft.change(workspace.resolve(&entry.path, access), &entry.after, &entry.before);
    Ok(())
}
