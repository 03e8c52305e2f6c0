//! `restore_checkpoint`: takes back what a checkpointed call changed.
//!
//! Only where the disk still holds what that call left: what changed since stays and is named.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, FileState, PathAccess, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, SnapshotEntry, ToolContext};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{EditTool, NewContents, empty_plan, tool_spec};
use crate::checkpoint::{self, LoadedCheckpoint};
use crate::draft::{PlanDraft, plan_blocking};
use crate::text;

/// Paths that are named in a message.
const PATHS_SHOWN: usize = 20;

pub(crate) struct RestoreCheckpoint;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Its name, or the beginning of it.
    checkpoint: String,
    /// Only these paths; default: all that the call changed.
    #[serde(default)]
    paths: Vec<String>,
}

#[async_trait]
impl EditTool for RestoreCheckpoint {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            keeps_result: true,
            ..tool_spec(
                "restore_checkpoint",
                ToolGroup::Edit,
                "Puts files back as they were before a checkpointed call. Files that changed since \
                 that call are left alone and named as conflicts.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let summary = format!("Restore checkpoint {}", input.checkpoint);
        let loaded = match checkpoint::load_checkpoint(&input.checkpoint, cx).await {
            Ok(loaded) => loaded,
            Err(why) => return empty_plan(summary).with_failure(why),
        };
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_restore(&input, &loaded, &workspace)).await
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
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
            text::count_noun(changed.len(), "path"),
            text::first_chars(&input.checkpoint, 10),
            text::bullet_list(&lines, PATHS_SHOWN)
        )
    }
}

fn plan_restore(input: &Input, loaded: &LoadedCheckpoint, workspace: &Workspace) -> CallPlan {
    let mut draft = PlanDraft::default();
    let mut problems = Vec::new();
    let summary = format!("Restore checkpoint {}", checkpoint::short_checkpoint_id(&loaded.info));
    let wanted: Vec<&SnapshotEntry> = if input.paths.is_empty() {
        loaded.entries.iter().collect()
    } else {
        let mut found = Vec::new();
        for path in &input.paths {
            let at = workspace.resolve(path, PathAccess::Write);
            match checkpoint::find_entry(loaded, &at, workspace) {
                Ok(entry) => found.push(entry),
                Err(why) => {
                    draft.touch(at);
                    return draft.into_failing_plan(summary, why);
                }
            }
        }
        found
    };
    for entry in wanted {
        if let Err(problem) = restore_entry(entry, workspace, &mut draft) {
            problems.push(problem);
        }
    }
    if draft.is_empty() {
        let why = if problems.is_empty() {
            "every path is as it was before that call already".into()
        } else {
            format!("nothing can be restored:\n{}", text::bullet_list(&problems, PATHS_SHOWN))
        };
        return draft.into_failing_plan(summary, why);
    }
    for problem in &problems {
        draft.add_note(&format!("{problem}\n"));
    }
    draft.into_plan(summary)
}

/// Adds the way back of one path, or says why there is none.
fn restore_entry(
    entry: &SnapshotEntry,
    workspace: &Workspace,
    draft: &mut PlanDraft,
) -> Result<(), String> {
    let at = workspace.resolve(&entry.path, PathAccess::Write);
    let now = match workspace.path_image(&at) {
        Ok(now) => now,
        Err(FileError::NotFound { .. }) => FileState::Absent,
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
        (FileState::Absent, _) => PathAccess::Create,
        (_, FileContent::Absent) => PathAccess::Delete,
        (_, _) => PathAccess::Write,
    };
    draft.add_change(workspace.resolve(&entry.path, access), &entry.after, &entry.before);
    Ok(())
}
