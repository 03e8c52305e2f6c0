//! `move_file`: another path for a file or folder.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, FileState, PathAccess, PathEffect, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, FileContent, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{EditTool, NewContents, tool_spec};
use crate::draft::{self, EDIT_BYTES_MAX, PlanDraft, plan_blocking};
use crate::vault_links::{RewrittenNote, describe_rewritten, draft_rewritten, rewrite_links};
use crate::{delete_file, run_blocking, text, vault, vault_links};

pub(crate) struct MoveFile;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// What to move: a file or folder.
    from: String,
    /// Its new path, the name included.
    to: String,
    /// Replace a file that is there.
    #[serde(default)]
    overwrite: bool,
}

#[async_trait]
impl EditTool for MoveFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..tool_spec(
                "move_file",
                ToolGroup::Edit,
                "Moves or renames a file or a folder with all in it; in a vault, links follow. \
                 Replaces an existing file only with overwrite: true, a folder never.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || plan_move(&input, &workspace)).await
    }

    async fn describe_aftermath(_: Input, effects: &Effects, cx: &ToolContext) -> String {
        let workspace = cx.workspace.clone();
        let state = |path: &str| effects.changes.iter().find(|change| change.path == path);
        let ends = |access: PathAccess| effects.paths.iter().filter(move |at| at.access == access);
        // Every source with the target that became what it was; where nothing left the vault, no links
        // are lost.
        let sources = ends(PathAccess::MoveFrom);
        let gone = sources.filter(|at| {
            state(&at.path).is_some_and(|change| matches!(change.before, FileState::File { .. }))
        });
        let gone: Vec<String> = gone.map(|at| at.path.clone()).collect();
        let leaves = ends(PathAccess::MoveTo).any(|at| !vault_links::is_of_vault(&at.path));
        if !leaves {
            return String::new();
        }
        let lost = run_blocking(move || vault_links::links_lost_with(&workspace, &gone));
        vault_links::describe_lost(&lost.await.unwrap_or_default())
    }

    fn report_result(input: &Input, effects: &Effects, _: &NewContents) -> String {
        let end = |access: PathAccess| effects.paths.iter().find(|at| at.access == access);
        let from = end(PathAccess::MoveFrom).map_or(input.from.as_str(), |at| at.path.as_str());
        let to = end(PathAccess::MoveTo).map_or(input.to.as_str(), |at| at.path.as_str());
        let written = effects.paths.iter().filter(|at| at.access == PathAccess::Write).count();
        let follow = match written {
            0 => String::new(),
            n => format!("; links in {} follow", text::count_noun(n, "other note")),
        };
        format!("Moved {from} to {to}{follow}")
    }
}

fn plan_move(input: &Input, workspace: &Workspace) -> CallPlan {
    let from = workspace.resolve(&input.from, PathAccess::MoveFrom);
    let to = workspace.resolve(&input.to, PathAccess::MoveTo);
    let mut draft = PlanDraft::default();
    let summary = format!("Move {} to {}", from.path, to.path);
    let images =
        workspace.path_image(&from).and_then(|source| Ok((source, workspace.path_image(&to)?)));
    let is_folder = matches!(&images, Ok((FileState::Folder, _)));
    for (end, path) in [(&from, &input.from), (&to, &input.to)] {
        let whole = || workspace.resolve_tree(path, end.access);
        draft.touch(if is_folder { whole() } else { end.clone() });
    }
    let (source, target) = match images {
        Ok(images) => images,
        Err(why) => return draft.into_failing_plan(summary, why.to_string()),
    };
    if source == FileState::Absent {
        return draft.into_failing_plan(summary, draft::describe_missing(workspace, &from));
    }
    if let Some(why) = move_refusal(
        MoveEnd { path: &from.path, image: &source },
        MoveEnd { path: &to.path, image: &target },
        input.overwrite,
    ) {
        return draft.into_failing_plan(summary, why);
    }
    // What crosses the edge of the workspace is written anew, so its content must be known.
    let crosses = from.place != to.place || is_absolute(&from) != is_absolute(&to);
    if source == FileState::Folder {
        let moved = FolderMove { given: &input.from, from: &from.path, to: &to.path, crosses };
        return move_folder(workspace, &moved, draft, summary);
    }
    let moves = BTreeMap::from([(from.path.clone(), to.path.clone())]);
    let mut notes = match rewrite_links(workspace, &moves) {
        Ok(notes) => notes,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    let summary = summary + &describe_rewritten(&notes);
    draft_leaving(workspace, &moves, &mut draft);
    draft.add_note(&format!("rename from {}\nrename to {}\n", from.path, to.path));
    declare_rewritten(workspace, &mut notes, &moves, &mut draft);
    if let Some(note) = notes.remove(&from.path) {
        match workspace.read(&to, EDIT_BYTES_MAX) {
            Ok(old) => draft.add_change(to, &old, &note.after),
            Err(why) => return draft.into_failing_plan(summary, why.to_string()),
        }
    } else if target == FileState::Absent && !crosses {
        draft.change_image(to, target, source.clone());
    } else {
        // So it is with what is replaced.
        let contents = workspace.read(&from, EDIT_BYTES_MAX);
        match contents.and_then(|new| Ok((new, workspace.read(&to, EDIT_BYTES_MAX)?))) {
            Ok((new, old)) => draft.add_change(to, &old, &new),
            Err(why) => return draft.into_failing_plan(summary, why.to_string()),
        }
    }
    draft.change_image(from, source, FileState::Absent);
    draft.into_plan(summary)
}

/// What leaves the vault is gone for the links to it.
fn draft_leaving(workspace: &Workspace, moves: &BTreeMap<String, String>, draft: &mut PlanDraft) {
    let leaving = vault_links::leaving_paths(moves);
    if !leaving.is_empty() {
        vault_links::draft_lost(workspace, &leaving, draft);
    }
}

/// A vault was looked at, and notes beside what moves are written.
fn declare_rewritten(
    workspace: &Workspace,
    notes: &mut BTreeMap<String, RewrittenNote>,
    moves: &BTreeMap<String, String>,
    draft: &mut PlanDraft,
) {
    if vault::is_vault(workspace) {
        draft.touch(vault::vault_effect(workspace));
    }
    draft_rewritten(workspace, notes, moves, draft);
}

/// Whether it lies outside the first root.
fn is_absolute(at: &PathEffect) -> bool {
    at.path.starts_with('/')
}

/// One end of a move: a path and what is there.
#[derive(Clone, Copy)]
struct MoveEnd<'a> {
    path: &'a str,
    image: &'a FileState,
}

/// Why `from` cannot be moved to `to`.
fn move_refusal(from: MoveEnd<'_>, to: MoveEnd<'_>, overwrite: bool) -> Option<String> {
    let (source, target) = (from.image, to.image);
    let (from, to) = (from.path, to.path);
    if from == to {
        return Some(format!("{to} is there already: from and to are the same"));
    }
    if *source == FileState::Folder && to.starts_with(&format!("{from}/")) {
        return Some("a folder cannot be moved into itself".into());
    }
    match (source, target) {
        (_, FileState::Absent) => None,
        (_, FileState::Folder) => Some(format!(
            "{to} is an existing folder; name the new path in full, such as {to}/name"
        )),
        (FileState::Folder, _) => Some(format!("{to} is a file; a folder cannot replace it")),
        (_, _) if overwrite => None,
        (_, _) => Some(format!(
            "{to} exists already; choose another path, or set overwrite: true to replace it"
        )),
    }
}

/// A folder that is moved with all that is in it.
struct FolderMove<'a> {
    /// Where it is, as the model wrote it.
    given: &'a str,
    from: &'a str,
    to: &'a str,
    /// It crosses the edge of the workspace: what is in it is written anew.
    crosses: bool,
}

fn move_folder(
    workspace: &Workspace,
    moved: &FolderMove<'_>,
    mut draft: PlanDraft,
    summary: String,
) -> CallPlan {
    let FolderMove { given, from, to, crosses } = *moved;
    let tree = match delete_file::list_tree(workspace, given, PathAccess::MoveFrom) {
        Ok(tree) => tree,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    let path_after =
        |at: &PathEffect| format!("{to}{}", at.path.strip_prefix(from).unwrap_or_default());
    let files = tree.iter().filter(|(_, image)| matches!(image, FileState::File { .. }));
    let moves: BTreeMap<String, String> =
        files.map(|(at, _)| (at.path.clone(), path_after(at))).collect();
    let mut notes = match rewrite_links(workspace, &moves) {
        Ok(notes) => notes,
        Err(why) => return draft.into_failing_plan(summary, why),
    };
    let follow = describe_rewritten(&notes);
    draft_leaving(workspace, &moves, &mut draft);
    declare_rewritten(workspace, &mut notes, &moves, &mut draft);
    for (at, image) in &tree {
        let to = workspace.resolve(&path_after(at), PathAccess::MoveTo);
        if let Some(note) = notes.remove(&at.path) {
            draft.change_unshown(to, &FileContent::Absent, &note.after);
        } else if crosses && matches!(image, FileState::File { .. }) {
            match workspace.read(at, EDIT_BYTES_MAX) {
                Ok(content) => draft.change_unshown(to, &FileContent::Absent, &content),
                Err(why) => return draft.into_failing_plan(summary, why.to_string()),
            }
        } else {
            draft.change_image(to, FileState::Absent, image.clone());
        }
    }
    let count = text::count_noun(tree.len() - 1, "path");
    for (at, image) in tree.into_iter().rev() {
        draft.change_image(at, image, FileState::Absent);
    }
    draft.add_note(&format!("rename from {from}/\nrename to {to}/\n({count} in it)\n"));
    draft.into_plan(format!("{summary} with {count} in it{follow}"))
}
