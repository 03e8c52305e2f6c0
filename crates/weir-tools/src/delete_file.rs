//! `delete_file`: files and folders go to the trash.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, FileState, PathAccess, PathEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::{WalkOptions, Workspace};

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft, plan_blocking};
use crate::{run_blocking, text, vault_links};

/// Most paths, and most bytes of content, that one call deletes or moves.
const TREE_PATHS_MAX: usize = 5_000;
const TREE_BYTES_MAX: u64 = 100_000_000;
const SHOWN_PATHS_MAX: usize = 50;

pub(crate) struct DeleteFile;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File or folder.
    path: String,
    /// Needed for a folder that is not empty.
    #[serde(default)]
    recursive: bool,
}

#[async_trait]
impl EditTool for DeleteFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "delete_file",
                ToolGroup::Edit,
                "Deletes a file or, with recursive, a folder and all in it (at most 5000 paths). \
                 It goes to the trash and can be restored.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_delete(&input, &workspace)).await
    }

    async fn describe_aftermath(_: Input, effects: &Effects, cx: &ToolContext) -> String {
        let workspace = cx.workspace.clone();
        let files = effects.changes.iter().filter(|change| is_file(&change.before));
        let gone: Vec<String> = files.map(|change| change.path.clone()).collect();
        let lost = run_blocking(move || vault_links::links_lost_with(&workspace, &gone));
        vault_links::describe_lost(&lost.await.unwrap_or_default())
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        match effects.changes.len() {
            0 | 1 => format!("Deleted {path}"),
            n => format!("Deleted {path} and {} in it", text::count_noun(n - 1, "path")),
        }
    }
}

fn plan_delete(input: &Input, workspace: &Workspace) -> CallPlan {
    let mut at = workspace.resolve(&input.path, PathAccess::Delete);
    let path = at.path.clone();
    let summary = format!("Delete {path}");
    let before = workspace.path_image(&at);
    if matches!(before, Ok(FileState::Folder)) && input.recursive {
        at = workspace.resolve_tree(&input.path, PathAccess::Delete);
    }
    let mut draft = PlanDraft::default();
    draft.touch(at.clone());
    match before {
        Err(why) => draft.into_failing_plan(summary, why.to_string()),
        Ok(FileState::Absent) => {
            draft.into_failing_plan(summary, draft::describe_missing(workspace, &at))
        }
        Ok(FileState::Folder) => delete_folder(input, workspace, draft, &path),
        Ok(FileState::File { bytes, .. }) if bytes <= EDIT_BYTES_MAX => {
            match workspace.read(&at, EDIT_BYTES_MAX) {
                Ok(before) => {
                    draft.add_change(at, &before, &FileContent::Absent);
                    vault_links::draft_lost(workspace, &[path], &mut draft);
                }
                Err(why) => return draft.into_failing_plan(summary, why.to_string()),
            }
            draft.into_plan(summary)
        }
        // A file that is too large to be shown.
        Ok(before @ (FileState::File { .. } | FileState::Link { .. })) => {
            draft.add_note(&format!("deleted: {path}\n"));
            draft.change_image(at, before, FileState::Absent);
            vault_links::draft_lost(workspace, &[path], &mut draft);
            draft.into_plan(summary)
        }
    }
}

/// Whether links can lead there.
fn is_file(state: &FileState) -> bool {
    match state {
        FileState::File { .. } | FileState::Link { .. } => true,
        FileState::Absent | FileState::Folder => false,
    }
}

fn delete_folder(
    input: &Input,
    workspace: &Workspace,
    mut draft: PlanDraft,
    path: &str,
) -> CallPlan {
    let tree = match list_tree(workspace, &input.path, PathAccess::Delete) {
        Ok(tree) => tree,
        Err(why) => return draft.into_failing_plan(format!("Delete the folder {path}"), why),
    };
    let below = text::count_noun(tree.len() - 1, "path");
    let summary = format!("Delete the folder {path} with {below} in it");
    if tree.len() > 1 && !input.recursive {
        return draft.into_failing_plan(
            summary,
            format!(
                "{path} is a folder with {below} in it; set recursive: true to delete them all"
            ),
        );
    }
    let shown: Vec<String> = tree.iter().map(|(at, _)| at.path.clone()).collect();
    draft.add_note(&format!("deleted:\n{}\n", text::bullet_list(&shown, SHOWN_PATHS_MAX)));
    let files = tree.iter().filter(|(_, before)| is_file(before));
    let files: Vec<String> = files.map(|(at, _)| at.path.clone()).collect();
    for (at, before) in tree.into_iter().rev() {
        draft.change_image(at, before, FileState::Absent);
    }
    vault_links::draft_lost(workspace, &files, &mut draft);
    draft.into_plan(summary)
}

/// A folder and everything in it, parents before children.
pub(crate) fn list_tree(
    workspace: &Workspace,
    folder: &str,
    access: PathAccess,
) -> Result<Vec<(PathEffect, FileState)>, String> {
    let listing = workspace.resolve_tree(folder, PathAccess::List);
    let options = WalkOptions {
        recursive: true,
        respect_gitignore: false,
        hidden: true,
        max_entries: TREE_PATHS_MAX,
    };
    let walk = workspace.walk(&listing, options).map_err(|why| why.to_string())?;
    let bytes: u64 = walk.entries.iter().map(|entry| entry.bytes).sum();
    if walk.truncated || bytes > TREE_BYTES_MAX {
        return Err(format!(
            "{} holds more than {TREE_PATHS_MAX} paths or {}; take its subfolders one by one, or \
             use run_shell",
            listing.path,
            text::size_text(TREE_BYTES_MAX)
        ));
    }
    let mut tree = vec![(workspace.resolve(folder, access), FileState::Folder)];
    for entry in &walk.entries {
        let at = workspace.resolve(&entry.path, access);
        let image = workspace.path_image(&at).map_err(|why| why.to_string())?;
        tree.push((at, image));
    }
    Ok(tree)
}
