//! What a person does with files in their folder. Every path is judged by the guarded workspace, as
//! those of tools are: nothing outside, nothing that an ignore list hides, nothing of Weir's own.
//! Blocks.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_core::record::sha256_hex;
use weir_core::sorting::sort_stably_by_key;
use weir_core::tool::{FileState, PathAccess, PathEffect, PathPlace, PlannedChange};
use weir_core::view::plain::is_deceptive;
use weir_engine::ports::FileContent;
use weir_engine::workspace::{EntryKind, FileError, WalkOptions, Workspace, WorkspaceEntry};

use crate::problem::{HandlerResult, ProblemDetails};

/// Entries of one folder that are shown.
const ENTRIES_MAX: usize = 2000;
/// Paths that one deletion or move may touch.
const TREE_MAX: usize = 2000;
/// Longest path, in bytes.
const PATH_MAX: usize = 4096;
/// Longest name of a file, in bytes.
const NAME_MAX: usize = 255;
/// Names that are tried for a file that stands beside one of its name.
const COPIES_MAX: usize = 100;
/// How an uploaded file may be used.
const MODE: u32 = 0o644;

/// What to do where a file is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnConflict {
    /// Nothing is changed.
    #[default]
    Refuse,
    /// The new one takes its place; the old one goes to the trash.
    Replace,
    /// Both stay: the new one gets a number.
    KeepBoth,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileLine {
    /// Its name.
    pub(crate) name: String,
    /// Its path below the folder.
    pub(crate) path: String,
    /// `file`, `folder`, `link`, `other`.
    pub(crate) kind: String,
    /// Size in bytes (files).
    pub(crate) bytes: u64,
    /// Last change, in seconds since 1970.
    pub(crate) modified: i64,
}

/// A folder.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FolderListing {
    /// The path of the folder; empty: the person's own.
    pub(crate) path: String,
    /// What is in it: folders first, then by name.
    pub(crate) items: Vec<FileLine>,
    /// There is more than is shown.
    pub(crate) truncated: bool,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileChangeResult {
    /// The path that it is about now.
    pub(crate) path: String,
    /// How many paths were changed.
    pub(crate) paths: usize,
}

/// A file that can be read.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    /// The file.
    pub(crate) file: File,
    /// Its path below the folder.
    pub(crate) path: String,
    /// Its size in bytes when it was opened.
    pub(crate) bytes: u64,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct FileBytes {
    /// Its path below the folder.
    pub(crate) path: String,
    /// What stands in it.
    pub(crate) bytes: Arc<[u8]>,
}

/// What a path holds.
#[derive(Debug)]
pub(crate) enum PathContent {
    /// A folder.
    Folder,
    /// A file.
    File(FileLine),
}

/// The person's folder.
#[derive(Debug)]
pub(crate) struct PersonFolder {
    workspace: Arc<Workspace>,
}

fn file_line(entry: &WorkspaceEntry) -> FileLine {
    FileLine {
        name: entry.path.rsplit('/').next().unwrap_or_default().to_owned(),
        path: entry.path.clone(),
        kind: match entry.kind {
            EntryKind::File => "file",
            EntryKind::Folder => "folder",
            EntryKind::Link => "link",
            EntryKind::Other => "other",
        }
        .to_owned(),
        bytes: entry.bytes,
        modified: entry.modified,
    }
}

impl PersonFolder {
    /// Over this folder.
    pub(crate) fn new(workspace: Arc<Workspace>) -> PersonFolder {
        PersonFolder { workspace }
    }

    /// What is in a folder.
    pub(crate) fn list_folder(&self, path: &str, hidden: bool) -> HandlerResult<FolderListing> {
        let at = self.judge_path(path, PathAccess::List)?;
        let options = WalkOptions {
            recursive: false,
            respect_gitignore: false,
            hidden,
            max_entries: ENTRIES_MAX,
        };
        let walk = self.workspace.walk(&at, options).map_err(problem_from_file_error)?;
        let mut items: Vec<FileLine> = walk.entries.iter().map(file_line).collect();
        sort_stably_by_key(&mut items, |item| (item.kind != "folder", item.name.to_lowercase()));
        let path = if at.path == "." { String::new() } else { at.path };
        Ok(FolderListing { path, items, truncated: walk.truncated })
    }

    /// What a path holds.
    pub(crate) fn inspect_path(&self, path: &str) -> HandlerResult<PathContent> {
        let at = self.judge_path(path, PathAccess::Read)?;
        let entry = self.workspace.stat_entry(&at).map_err(problem_from_file_error)?;
        match entry.kind {
            EntryKind::Folder => Ok(PathContent::Folder),
            EntryKind::File => Ok(PathContent::File(file_line(&entry))),
            EntryKind::Link | EntryKind::Other => Err(ProblemDetails::bad_request(format!(
                "{} is neither a file nor a folder",
                at.path
            ))),
        }
    }

    /// A file, to be sent.
    pub(crate) fn open_file(&self, path: &str) -> HandlerResult<OpenedFile> {
        let at = self.judge_path(path, PathAccess::Read)?;
        let file = self.workspace.open_file(&at).map_err(problem_from_file_error)?;
        let bytes = file.metadata().map_err(ProblemDetails::internal_failure)?.len();
        Ok(OpenedFile { file, path: at.path, bytes })
    }

    /// The bytes of a file, at most `max`.
    pub(crate) fn read_file(&self, path: &str, max: u64) -> HandlerResult<FileBytes> {
        let at = self.judge_path(path, PathAccess::Read)?;
        match self.workspace.read(&at, max).map_err(problem_from_file_error)? {
            FileContent::File { bytes, .. } => Ok(FileBytes { path: at.path, bytes }),
            FileContent::Absent => Err(ProblemDetails::not_found(at.path)),
            FileContent::Folder | FileContent::Link { .. } => {
                Err(ProblemDetails::bad_request(format!("{} is no file", at.path)))
            }
        }
    }

    /// Writes a file.
    pub(crate) fn put_file(
        &self,
        path: &str,
        bytes: Arc<[u8]>,
        conflict: OnConflict,
    ) -> HandlerResult<FileChangeResult> {
        let (at, before) = self.place_for(path, conflict)?;
        let mode = match &before {
            FileState::File { mode, .. } => *mode,
            FileState::Absent | FileState::Folder | FileState::Link { .. } => MODE,
        };
        let after = FileState::File { sha256: sha256_hex(&bytes), bytes: bytes.len() as u64, mode };
        let path = at.path.clone();
        let change = PlannedChange { path: path.clone(), before, after };
        let contents = BTreeMap::from([(path.clone(), bytes)]);
        self.apply_changes(path, &[change], &contents)
    }

    /// Where a new file goes, and what is there.
    fn place_for(
        &self,
        path: &str,
        conflict: OnConflict,
    ) -> HandlerResult<(PathEffect, FileState)> {
        check_new_name(path)?;
        let at = self.judge_path(path, PathAccess::Create)?;
        match (self.path_image(&at)?, conflict) {
            (FileState::Absent, _) => Ok((at, FileState::Absent)),
            (before @ FileState::File { .. }, OnConflict::Replace) => Ok((at, before)),
            (_, OnConflict::KeepBoth) => self.free_name_beside(&at.path),
            (FileState::File { .. }, OnConflict::Refuse) => Err(ProblemDetails::conflict(format!(
                "{} is there already: choose to replace it or to keep both",
                at.path
            ))),
            (FileState::Folder | FileState::Link { .. }, _) => Err(ProblemDetails::conflict(
                format!("{} is there already and is no file: choose another name", at.path),
            )),
        }
    }

    /// The first free name of the kind `report (2).txt`.
    fn free_name_beside(&self, path: &str) -> HandlerResult<(PathEffect, FileState)> {
        let (folder, name) =
            path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        let (stem, ending) = match name.rfind('.') {
            Some(dot) if dot > 0 => name.split_at(dot),
            _ => (name, ""),
        };
        for number in 2..COPIES_MAX {
            let name = format!("{stem} ({number}){ending}");
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            check_new_name(&path)?;
            let at = self.judge_path(&path, PathAccess::Create)?;
            if self.path_image(&at)? == FileState::Absent {
                return Ok((at, FileState::Absent));
            }
        }
        Err(ProblemDetails::conflict(format!("{path} is there too often: choose another name")))
    }

    /// Makes a folder.
    pub(crate) fn make_folder(&self, path: &str) -> HandlerResult<FileChangeResult> {
        check_new_name(path)?;
        let at = self.judge_path(path, PathAccess::Create)?;
        if self.path_image(&at)? != FileState::Absent {
            return Err(ProblemDetails::conflict(format!("{} is there already", at.path)));
        }
        let change = PlannedChange {
            path: at.path.clone(),
            before: FileState::Absent,
            after: FileState::Folder,
        };
        self.apply_changes(at.path, &[change], &BTreeMap::new())
    }

    /// Another path for a file or folder. Never in place of what is there.
    pub(crate) fn rename_path(&self, from: &str, to: &str) -> HandlerResult<FileChangeResult> {
        check_new_name(to)?;
        let source = self.path_tree(from, PathAccess::MoveFrom)?;
        let to = self.judge_path(to, PathAccess::MoveTo)?;
        if self.path_image(&to)? != FileState::Absent {
            return Err(ProblemDetails::conflict(format!("{} is there already", to.path)));
        }
        let root = source[0].0.clone();
        if to.path.starts_with(&format!("{root}/")) {
            return Err(ProblemDetails::bad_request("a folder cannot be moved into itself"));
        }
        let mut changes = Vec::with_capacity(source.len() * 2);
        for (path, image) in &source {
            let new = format!("{}{}", to.path, path.strip_prefix(&root).unwrap_or_default());
            let at = self.judge_path(&new, PathAccess::MoveTo)?;
            changes.push(PlannedChange {
                path: at.path,
                before: FileState::Absent,
                after: image.clone(),
            });
        }
        let gone = |(path, before): (String, FileState)| PlannedChange {
            path,
            before,
            after: FileState::Absent,
        };
        changes.extend(source.into_iter().rev().map(gone));
        self.apply_changes(to.path, &changes, &BTreeMap::new())
    }

    /// Takes a file or folder away, to the trash.
    pub(crate) fn delete_path(&self, path: &str) -> HandlerResult<FileChangeResult> {
        let tree = self.path_tree(path, PathAccess::Delete)?;
        let path = tree[0].0.clone();
        let gone = |(path, before): (String, FileState)| PlannedChange {
            path,
            before,
            after: FileState::Absent,
        };
        let changes: Vec<PlannedChange> = tree.into_iter().rev().map(gone).collect();
        self.apply_changes(path, &changes, &BTreeMap::new())
    }

    /// A path and everything below it, from the top down; never empty. What holds a closed path is
    /// closed itself.
    fn path_tree(&self, path: &str, access: PathAccess) -> HandlerResult<Vec<(String, FileState)>> {
        let at = self.judge_path(path, access)?;
        let image = self.path_image(&at)?;
        if image == FileState::Absent {
            return Err(ProblemDetails::not_found(at.path));
        }
        let mut tree = vec![(at.path.clone(), image.clone())];
        if image != FileState::Folder {
            return Ok(tree);
        }
        let whole = self.workspace.resolve_tree(&at.path, access);
        if let Some(why) = whole.ignored.or(whole.protected) {
            return Err(ProblemDetails::not_permitted(format!(
                "{} cannot be changed: {why}",
                at.path
            )));
        }
        let options = WalkOptions {
            recursive: true,
            respect_gitignore: false,
            hidden: true,
            max_entries: TREE_MAX,
        };
        let listing = self.judge_path(&at.path, PathAccess::List)?;
        let walk = self.workspace.walk(&listing, options).map_err(problem_from_file_error)?;
        if walk.truncated {
            return Err(ProblemDetails::bad_request(format!(
                "{} holds more than {TREE_MAX} paths: take its folders one by one",
                at.path
            )));
        }
        for entry in &walk.entries {
            let below = self.workspace.resolve(&entry.path, access);
            let image = self.path_image(&below)?;
            tree.push((below.path, image));
        }
        Ok(tree)
    }

    fn apply_changes(
        &self,
        path: String,
        changes: &[PlannedChange],
        contents: &BTreeMap<String, Arc<[u8]>>,
    ) -> HandlerResult<FileChangeResult> {
        let paths =
            self.workspace.apply_changes(changes, contents).map_err(problem_from_file_error)?;
        Ok(FileChangeResult { path, paths: paths.len() })
    }

    fn path_image(&self, at: &PathEffect) -> HandlerResult<FileState> {
        self.workspace.path_image(at).map_err(problem_from_file_error)
    }

    /// A path as a person wrote it, judged. What they may not see is not there.
    fn judge_path(&self, path: &str, access: PathAccess) -> HandlerResult<PathEffect> {
        let path = check_path(path)?;
        let at = self.workspace.resolve(path, access);
        if at.place != PathPlace::Inside || at.ignored.is_some() {
            return Err(ProblemDetails::not_found(path));
        }
        match &at.protected {
            Some(why) if access.is_write() => {
                Err(ProblemDetails::not_permitted(format!("{path} cannot be changed: {why}")))
            }
            _ => Ok(at),
        }
    }
}

/// A path below the folder; empty is the folder itself.
fn check_path(path: &str) -> HandlerResult<&str> {
    let bad =
        |why: &str| Err(ProblemDetails::bad_request(format!("the path cannot be used: {why}")));
    if path.len() > PATH_MAX {
        return bad("it is too long");
    }
    if path.starts_with(['/', '~']) || path.contains('\\') {
        return bad("write it as it stands below your folder, with `/` between names");
    }
    if path.split('/').any(|part| part == "..") {
        return bad("`..` leads out of a folder");
    }
    if path.chars().any(|c| c.is_control()) {
        return bad("it holds characters that cannot be seen");
    }
    Ok(match path.trim_matches('/') {
        "" => ".",
        path => path,
    })
}

/// A name that somebody gives: it must be one that people can read, on every system.
fn check_new_name(path: &str) -> HandlerResult<()> {
    let path = check_path(path)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let bad =
        |why: &str| Err(ProblemDetails::bad_request(format!("the name cannot be used: {why}")));
    if matches!(name, "" | ".") {
        return bad("there is none");
    }
    if name.len() > NAME_MAX {
        return bad("it is too long");
    }
    if name.chars().any(is_deceptive) {
        return bad("it holds characters that cannot be seen or turn the text round");
    }
    if name.trim() != name || name.ends_with('.') {
        return bad("it begins or ends with a blank, or ends with a dot");
    }
    Ok(())
}

/// What an error of the workspace means for whoever asked.
pub(crate) fn problem_from_file_error(error: FileError) -> ProblemDetails {
    match error {
        FileError::NotFound { path, .. } => ProblemDetails::not_found(path),
        error @ FileError::WrongKind { .. } => ProblemDetails::bad_request(error.to_string()),
        error @ FileError::TooLarge { .. } => {
            ProblemDetails::new(http::StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.to_string())
        }
        error @ FileError::Refused { .. } => ProblemDetails::not_permitted(error.to_string()),
        FileError::Changed { path } => ProblemDetails::conflict(format!(
            "{path} was changed by somebody else in the same moment: look at it and try again"
        )),
        error @ FileError::Io { .. } => ProblemDetails::internal_failure(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk() -> (tempfile::TempDir, PersonFolder) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = weir_engine::workspace::WorkspaceOptions {
            root: folder.path().join("work"),
            extra_roots: Vec::new(),
            own_folders: vec![folder.path().join("work/own")],
        };
        std::fs::create_dir_all(folder.path().join("work/own")).expect("writable");
        let workspace = Workspace::open(options).expect("it opens");
        let workspace = workspace.with_trash(folder.path().join("trash"));
        (folder, PersonFolder::new(Arc::new(workspace)))
    }

    fn bytes(text: &str) -> Arc<[u8]> {
        Arc::from(text.as_bytes())
    }

    #[test]
    fn s10_hostile_names_never_leave_the_folder() {
        let (folder, desk) = desk();
        std::fs::write(folder.path().join("secret"), "x").expect("writable");
        std::os::unix::fs::symlink(folder.path(), folder.path().join("work/out")).expect("a link");
        for path in [
            "../secret",
            "a/../../secret",
            "/etc/passwd",
            "~/x",
            "..",
            "out/secret",
            "out/new",
            "own/x",
            "a\0b",
            "a\nb",
            "..\\secret",
            "C:\\x",
            "",
            ".",
            "a/..",
            "x\u{202E}txt.exe",
            " a",
            "a ",
            "a.",
            &"n".repeat(300),
            &"a/".repeat(3000),
        ] {
            let put = desk.put_file(path, bytes("new"), OnConflict::Replace);
            assert!(put.is_err(), "{path:?}: {put:?}");
            assert!(desk.make_folder(path).is_err(), "{path:?}");
        }
        for path in ["../secret", "/etc/passwd", "out/secret", "own", "..", "a/../../secret"] {
            assert!(desk.open_file(path).is_err(), "{path:?}");
            assert!(desk.delete_path(path).is_err(), "{path:?}");
            assert!(desk.rename_path(path, "mine").is_err(), "{path:?}");
        }
        assert_eq!(std::fs::read(folder.path().join("secret")).expect("there"), b"x");
        assert!(!folder.path().join("new").exists());
    }

    #[test]
    fn s10_a_file_is_never_replaced_by_accident() {
        let (folder, desk) = desk();
        desk.put_file("a.txt", bytes("one"), OnConflict::Refuse).expect("it is new");
        let refused =
            desk.put_file("a.txt", bytes("two"), OnConflict::Refuse).expect_err("it is there");
        assert_eq!(refused.status, 409);
        let both = desk.put_file("a.txt", bytes("two"), OnConflict::KeepBoth).expect("beside");
        assert_eq!(both.path, "a (2).txt");
        desk.put_file("a.txt", bytes("three"), OnConflict::Replace).expect("replaced");
        let read = |name: &str| std::fs::read_to_string(folder.path().join("work").join(name));
        assert_eq!(read("a.txt").expect("there"), "three");
        assert_eq!(read("a (2).txt").expect("there"), "two");
        assert_eq!(desk.rename_path("a.txt", "a (2).txt").expect_err("it is there").status, 409);
    }

    #[test]
    fn s10_folders_move_and_go_to_the_trash_whole() {
        let (folder, desk) = desk();
        desk.make_folder("docs").expect("made");
        desk.put_file("docs/é.txt", bytes("x"), OnConflict::Refuse).expect("written");
        desk.put_file("docs/.hidden", bytes("y"), OnConflict::Refuse).expect("written");
        desk.rename_path("docs", "papers").expect("moved");
        let names = |hidden: bool| -> Vec<String> {
            let listing = desk.list_folder("papers", hidden).expect("it is there");
            listing.items.into_iter().map(|item| item.name).collect()
        };
        assert_eq!(names(false), ["é.txt"]);
        assert_eq!(names(true).len(), 2);
        assert!(desk.rename_path("papers", "papers/inner").is_err());
        assert_eq!(desk.delete_path("papers").expect("deleted").paths, 3);
        assert!(!folder.path().join("work/papers").exists());
        let trash = std::fs::read_dir(folder.path().join("trash")).expect("a trash").count();
        assert!(trash > 0);
    }
}
