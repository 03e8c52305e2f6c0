//! `delete_file`: files and folders go to the trash.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, Image, PathEffect, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};
use weir_engine::workspace::{WalkOptions, Workspace};

use crate::built::{Contents, Edit, spec};
use crate::draft::{self, Draft, EDIT_BYTES_MAX, planning};
use crate::text;

/// Most paths, and most bytes of content, that one call deletes or moves.
const TREE_PATHS_MAX: usize = 5_000;
const TREE_BYTES_MAX: u64 = 100_000_000;
const SHOWN_PATHS_MAX: usize = 50;

pub(crate) struct DeleteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// File or folder.
    path: String,
    /// Needed for a folder that is not empty.
    #[serde(default)]
    recursive: bool,
}

#[async_trait]
impl Edit for DeleteFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "delete_file",
                Group::Edit,
                "Deletes a file or, with recursive, a folder and all in it (at most 5000 paths). \
                 It goes to the trash and can be restored.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || plan(&input, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let path = effects.paths.first().map_or(input.path.as_str(), |at| at.path.as_str());
        match effects.changes.len() {
            0 | 1 => format!("Deleted {path}"),
            n => format!("Deleted {path} and {} in it", text::count(n - 1, "path")),
        }
    }
}

fn plan(input: &Input, workspace: &Workspace) -> Plan {
    let mut at = workspace.resolve(&input.path, Access::Delete);
    let path = at.path.clone();
    let summary = format!("Delete {path}");
    let before = workspace.image(&at);
    if matches!(before, Ok(Image::Folder)) && input.recursive {
        at = workspace.resolve_tree(&input.path, Access::Delete);
    }
    let mut draft = Draft::default();
    draft.touch(at.clone());
    match before {
        Err(why) => draft.fail(summary, why.to_string()),
        Ok(Image::Absent) => draft.fail(summary, draft::missing(workspace, &at)),
        Ok(Image::Folder) => delete_folder(input, workspace, draft, &path),
        Ok(Image::File { bytes, .. }) if bytes <= EDIT_BYTES_MAX => {
            match workspace.read(&at, EDIT_BYTES_MAX) {
                Ok(before) => draft.change(at, &before, &Content::Absent),
                Err(why) => return draft.fail(summary, why.to_string()),
            }
            draft.plan(summary)
        }
        Ok(before @ (Image::File { .. } | Image::Link { .. })) => {
            draft.note(&format!("deleted: {path}\n"));
            draft.change_image(at, before, Image::Absent);
            draft.plan(summary)
        }
    }
}

fn delete_folder(input: &Input, workspace: &Workspace, mut draft: Draft, path: &str) -> Plan {
    let tree = match tree(workspace, &input.path, Access::Delete) {
        Ok(tree) => tree,
        Err(why) => return draft.fail(format!("Delete the folder {path}"), why),
    };
    let below = text::count(tree.len() - 1, "path");
    let summary = format!("Delete the folder {path} with {below} in it");
    if tree.len() > 1 && !input.recursive {
        return draft.fail(
            summary,
            format!(
                "{path} is a folder with {below} in it; set recursive: true to delete them all"
            ),
        );
    }
    let shown: Vec<String> = tree.iter().map(|(at, _)| at.path.clone()).collect();
    draft.note(&format!("deleted:\n{}\n", text::bullets(&shown, SHOWN_PATHS_MAX)));
    for (at, before) in tree.into_iter().rev() {
        draft.change_image(at, before, Image::Absent);
    }
    draft.plan(summary)
}

/// A folder and everything in it, parents before children.
pub(crate) fn tree(
    workspace: &Workspace,
    folder: &str,
    access: Access,
) -> Result<Vec<(PathEffect, Image)>, String> {
    let listing = workspace.resolve_tree(folder, Access::List);
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
            text::size(TREE_BYTES_MAX)
        ));
    }
    let mut tree = vec![(workspace.resolve(folder, access), Image::Folder)];
    for entry in &walk.entries {
        let at = workspace.resolve(&entry.path, access);
        let image = workspace.image(&at).map_err(|why| why.to_string())?;
        tree.push((at, image));
    }
    Ok(tree)
}
