//! A plan of file changes while it is being made: effects, new contents and diff grow together.
//!
//! It never touches the disk: what it holds is applied by the workspace, with a permit.

use std::collections::BTreeSet;

use weir_core::tool::{EffectClass, Effects, FileState, PathAccess, PathEffect, PlannedChange};
use weir_engine::ports::{CallPlan, FileContent};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{NewContents, empty_plan};
use crate::{diff, run_blocking};

/// Largest file that is changed in memory.
pub(crate) const EDIT_BYTES_MAX: u64 = 10_000_000;
/// Most bytes of diff per call; further files are named only.
const DIFF_BYTES_MAX: usize = 300_000;
/// Permission bits of new files.
pub(crate) const NEW_FILE_MODE: u32 = 0o644;

/// Changes that a call would make.
#[derive(Default)]
pub(crate) struct PlanDraft {
    effects: Effects,
    contents: NewContents,
    diff: String,
    touched: BTreeSet<(String, PathAccess)>,
}

impl PlanDraft {
    /// Declares that `at` is touched, without changing it.
    pub(crate) fn touch(&mut self, at: PathEffect) {
        if self.touched.insert((at.path.clone(), at.access)) {
            self.effects.paths.push(at);
        }
    }

    /// Declares that `at` becomes `after`, and shows it in the diff. A change to what is there
    /// already is no change.
    pub(crate) fn add_change(&mut self, at: PathEffect, before: &FileContent, after: &FileContent) {
        if before != after {
            self.show_change(&at.path, before, after);
        }
        self.change_unshown(at, before, after);
    }

    /// The same without a diff: for the many files of a folder.
    pub(crate) fn change_unshown(
        &mut self,
        at: PathEffect,
        before: &FileContent,
        after: &FileContent,
    ) {
        if let FileContent::File { bytes, .. } = after
            && before != after
        {
            self.contents.insert(at.path.clone(), bytes.clone());
        }
        self.change_image(at, before.image(), after.image());
    }

    /// The same by images alone: for what goes away, and for what comes from another path of the
    /// same draft.
    pub(crate) fn change_image(&mut self, at: PathEffect, before: FileState, after: FileState) {
        if before != after {
            self.effects.changes.push(PlannedChange { path: at.path.clone(), before, after });
        }
        self.touch(at);
    }

    fn show_change(&mut self, path: &str, before: &FileContent, after: &FileContent) {
        let diff = match (file_bytes(before), file_bytes(after)) {
            (None, None) => format!("{}: {}\n", path, named_change(before, after)),
            (old, new) => diff::unified_diff(path, old, new),
        };
        self.add_note(&if self.diff.len() + diff.len() <= DIFF_BYTES_MAX {
            diff
        } else {
            format!("{path}: {} (not shown)\n", named_change(before, after))
        });
    }

    /// Adds a line of its own to the diff.
    pub(crate) fn add_note(&mut self, text: &str) {
        self.diff.push_str(text);
    }

    /// Whether this path would change already.
    pub(crate) fn changes_path(&self, path: &str) -> bool {
        self.effects.changes.iter().any(|change| change.path == path)
    }

    /// Whether nothing would change.
    pub(crate) fn is_empty(&self) -> bool {
        self.effects.changes.is_empty()
    }

    pub(crate) fn into_plan(self, summary: impl Into<String>) -> CallPlan {
        CallPlan {
            diff: (!self.diff.is_empty()).then_some(self.diff),
            contents: self.contents,
            ..CallPlan::new(EffectClass::File, self.effects, summary)
        }
    }

    /// A plan that already fails: it still declares the paths that it would have touched.
    pub(crate) fn into_failing_plan(
        self,
        summary: impl Into<String>,
        message: impl Into<String>,
    ) -> CallPlan {
        let effects = Effects { paths: self.effects.paths, ..Effects::default() };
        CallPlan::new(EffectClass::File, effects, summary).with_failure(message)
    }
}

fn file_bytes(content: &FileContent) -> Option<&[u8]> {
    match content {
        FileContent::File { bytes, .. } => Some(bytes),
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => None,
    }
}

fn named_change(before: &FileContent, after: &FileContent) -> String {
    let name = |content: &FileContent| match content {
        FileContent::Absent => "nothing".to_owned(),
        FileContent::Folder => "a folder".to_owned(),
        FileContent::File { bytes, .. } => format!("a file of {} bytes", bytes.len()),
        FileContent::Link { target } => format!("a link to {target}"),
    };
    match (before, after) {
        (FileContent::Absent, after) => format!("new: {}", name(after)),
        (before, FileContent::Absent) => format!("deleted: {}", name(before)),
        (before, after) => format!("{} becomes {}", name(before), name(after)),
    }
}

/// Plans on a blocking thread.
pub(crate) async fn plan_blocking(work: impl FnOnce() -> CallPlan + Send + 'static) -> CallPlan {
    run_blocking(work)
        .await
        .unwrap_or_else(|why| empty_plan("A plan that could not be made").with_failure(why))
}

/// A plan that only looks at `at`, or already knows why it cannot.
pub(crate) fn reading_plan(at: PathEffect, summary: String, fails: Option<String>) -> CallPlan {
    let effects = Effects { paths: vec![at], ..Effects::default() };
    let plan = CallPlan::new(EffectClass::Read, effects, summary);
    match fails {
        Some(message) => plan.with_failure(message),
        None => plan,
    }
}

/// What is at `path`, ready to be written: the effect says *create* where nothing is.
pub(crate) fn at_for_writing(
    workspace: &Workspace,
    path: &str,
) -> (PathEffect, Result<FileContent, FileError>) {
    let at = workspace.resolve(path, PathAccess::Write);
    let content = workspace.read_current(&at, EDIT_BYTES_MAX);
    match content {
        Ok(FileContent::Absent) | Err(FileError::NotFound { .. }) => {
            (workspace.resolve(path, PathAccess::Create), Ok(FileContent::Absent))
        }
        content => (at, content),
    }
}

/// The words for nothing where something was expected: with the nearest name, if there is one.
pub(crate) fn describe_missing(workspace: &Workspace, at: &PathEffect) -> String {
    let why = workspace.stat_entry(at).err().map(|why| why.to_string());
    let why = why.unwrap_or_else(|| format!("{} does not exist", at.path));
    let stop = if why.ends_with('?') { "" } else { "." };
    format!("{why}{stop} list_files and glob show what is there")
}

/// The words for what stands where a file was expected.
pub(crate) fn not_a_file(path: &str, content: &FileContent) -> String {
    match content {
        FileContent::Absent => format!("{path} does not exist"),
        FileContent::Folder => {
            format!("{path} is a folder, not a file; list_files shows what is in it")
        }
        FileContent::Link { target } => {
            format!("{path} is a symbolic link to {target}; use the path that it leads to")
        }
        FileContent::File { .. } => format!("{path} is an existing file; choose another path"),
    }
}

/// What stands where a text is to be changed, and that text.
///
/// # Errors
/// It cannot be read, or it is no file of text: a sentence.
pub(crate) fn read_text_to_change(
    workspace: &Workspace,
    at: &PathEffect,
) -> Result<(FileContent, String), String> {
    let before = workspace.read(at, EDIT_BYTES_MAX).map_err(|why| why.to_string())?;
    let FileContent::File { bytes, .. } = &before else {
        return Err(not_a_file(&at.path, &before));
    };
    let text = std::str::from_utf8(bytes).map(str::to_owned);
    let text = text.map_err(|_| format!("{} is no text in UTF-8", at.path))?;
    Ok((before, text))
}

/// A file with these bytes, and the mode of `before` where that was a file.
pub(crate) fn file_content(bytes: Vec<u8>, before: &FileContent) -> FileContent {
    let mode = match before {
        FileContent::File { mode, .. } => *mode,
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => NEW_FILE_MODE,
    };
    FileContent::File { bytes: bytes.into(), mode }
}
