//! `move_file`: another path for a file or folder.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use weir_core::tool::{Access, Effects, Group, Image, PathEffect, ToolSpec};
use weir_engine::ports::{Content, Plan, ToolContext};
use weir_engine::workspace::Workspace;

use crate::built::{Contents, Edit, spec};
use crate::draft::{self, Draft, EDIT_BYTES_MAX, planning};
use crate::{delete_file, text};

pub(crate) struct MoveFile;

#[derive(Debug, Deserialize, JsonSchema)]
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
impl Edit for MoveFile {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            keeps_result: true,
            ..spec::<Input>(
                "move_file",
                Group::Edit,
                "Moves or renames a file or a folder with all that is in it. Refuses to replace an \
                 existing file unless overwrite is true, and an existing folder always.",
            )
        }
    }

    async fn plan(input: Input, cx: &ToolContext) -> Plan {
        let workspace = cx.workspace.clone();
        planning(move || plan(&input, &workspace)).await
    }

    fn report(input: &Input, effects: &Effects, _: &Contents) -> String {
        let end = |access: Access| effects.paths.iter().find(|at| at.access == access);
        let from = end(Access::MoveFrom).map_or(input.from.as_str(), |at| at.path.as_str());
        let to = end(Access::MoveTo).map_or(input.to.as_str(), |at| at.path.as_str());
        format!("Moved {from} to {to}")
    }
}

fn plan(input: &Input, workspace: &Workspace) -> Plan {
    let from = workspace.resolve(&input.from, Access::MoveFrom);
    let to = workspace.resolve(&input.to, Access::MoveTo);
    let mut draft = Draft::default();
    let summary = format!("Move {} to {}", from.path, to.path);
    let images = workspace.image(&from).and_then(|source| Ok((source, workspace.image(&to)?)));
    let is_folder = matches!(&images, Ok((Image::Folder, _)));
    for (end, path) in [(&from, &input.from), (&to, &input.to)] {
        let whole = || workspace.resolve_tree(path, end.access);
        draft.touch(if is_folder { whole() } else { end.clone() });
    }
    let (source, target) = match images {
        Ok(images) => images,
        Err(why) => return draft.fail(summary, why.to_string()),
    };
    if source == Image::Absent {
        return draft.fail(summary, draft::missing(workspace, &from));
    }
    if let Some(why) = refused(
        MoveEnd { path: &from.path, image: &source },
        MoveEnd { path: &to.path, image: &target },
        input.overwrite,
    ) {
        return draft.fail(summary, why);
    }
    // What crosses the edge of the workspace is written anew, so its content must be known.
    let crosses = from.place != to.place || is_absolute(&from) != is_absolute(&to);
    if source == Image::Folder {
        let moved = FolderMove { given: &input.from, from: &from.path, to: &to.path, crosses };
        return move_folder(workspace, &moved, draft, summary);
    }
    draft.note(&format!("rename from {}\nrename to {}\n", from.path, to.path));
    if target == Image::Absent && !crosses {
        draft.change_image(to, target, source.clone());
    } else {
        // So it is with what is replaced.
        let contents = workspace.read(&from, EDIT_BYTES_MAX);
        match contents.and_then(|new| Ok((new, workspace.read(&to, EDIT_BYTES_MAX)?))) {
            Ok((new, old)) => draft.change(to, &old, &new),
            Err(why) => return draft.fail(summary, why.to_string()),
        }
    }
    draft.change_image(from, source, Image::Absent);
    draft.plan(summary)
}

/// Whether it lies outside the first root.
fn is_absolute(at: &PathEffect) -> bool {
    at.path.starts_with('/')
}

/// One end of a move: a path and what is there.
struct MoveEnd<'a> {
    path: &'a str,
    image: &'a Image,
}

/// Why `from` cannot be moved to `to`.
fn refused(from: MoveEnd<'_>, to: MoveEnd<'_>, overwrite: bool) -> Option<String> {
    let (source, target) = (from.image, to.image);
    let (from, to) = (from.path, to.path);
    if from == to {
        return Some(format!("{to} is there already: from and to are the same"));
    }
    if *source == Image::Folder && to.starts_with(&format!("{from}/")) {
        return Some("a folder cannot be moved into itself".into());
    }
    match (source, target) {
        (_, Image::Absent) => None,
        (_, Image::Folder) => Some(format!(
            "{to} is an existing folder; name the new path in full, such as {to}/name"
        )),
        (Image::Folder, _) => Some(format!("{to} is a file; a folder cannot replace it")),
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
    mut draft: Draft,
    summary: String,
) -> Plan {
    let FolderMove { given, from, to, crosses } = *moved;
    let tree = match delete_file::tree(workspace, given, Access::MoveFrom) {
        Ok(tree) => tree,
        Err(why) => return draft.fail(summary, why),
    };
    for (at, image) in &tree {
        let path = format!("{to}{}", at.path.strip_prefix(from).unwrap_or_default());
        let to = workspace.resolve(&path, Access::MoveTo);
        if crosses && matches!(image, Image::File { .. }) {
            match workspace.read(at, EDIT_BYTES_MAX) {
                Ok(content) => draft.change_unshown(to, &Content::Absent, &content),
                Err(why) => return draft.fail(summary, why.to_string()),
            }
        } else {
            draft.change_image(to, Image::Absent, image.clone());
        }
    }
    let count = text::count(tree.len() - 1, "path");
    for (at, image) in tree.into_iter().rev() {
        draft.change_image(at, image, Image::Absent);
    }
    draft.note(&format!("rename from {from}/\nrename to {to}/\n({count} in it)\n"));
    draft.plan(format!("{summary} with {count} in it"))
}
