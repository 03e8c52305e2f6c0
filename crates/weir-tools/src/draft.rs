//! A plan of file changes while it is being made: effects, new contents and diff grow together.
//!
//! It never touches the disk: what it holds is applied by the workspace, with a permit.

use std::collections::BTreeSet;

use weir_core::tool::{Access, Change, EffectClass, Effects, Image, PathEffect};
use weir_engine::ports::{Content, Plan};
use weir_engine::workspace::{FileError, Workspace};

use crate::built::{Contents, nothing};
use crate::{blocking, diff};

/// Largest file that is changed in memory.
pub(crate) const EDIT_BYTES_MAX: u64 = 10_000_000;
/// Most bytes of diff per call; further files are named only.
const DIFF_BYTES_MAX: usize = 300_000;
/// Permission bits of new files.
pub(crate) const NEW_FILE_MODE: u32 = 0o644;

/// Changes that a call would make.
#[derive(Default)]
pub(crate) struct Draft {
    effects: Effects,
    contents: Contents,
    diff: String,
    touched: BTreeSet<(String, Access)>,
}

impl Draft {
    /// Declares that `at` is touched, without changing it.
    pub(crate) fn touch(&mut self, at: PathEffect) {
        if self.touched.insert((at.path.clone(), at.access)) {
            self.effects.paths.push(at);
        }
    }

    /// Declares that `at` becomes `after`, and shows it in the diff. A change to what is there
    /// already is no change.
    pub(crate) fn change(&mut self, at: PathEffect, before: &Content, after: &Content) {
        if before != after {
            self.show(&at.path, before, after);
        }
        self.change_unshown(at, before, after);
    }

    /// The same without a diff: for the many files of a folder.
    pub(crate) fn change_unshown(&mut self, at: PathEffect, before: &Content, after: &Content) {
        if let Content::File { bytes, .. } = after
            && before != after
        {
            self.contents.insert(at.path.clone(), bytes.clone());
        }
        self.change_image(at, before.image(), after.image());
    }

    /// The same by images alone: for what goes away, and for what comes from another path of the
    /// same draft.
    pub(crate) fn change_image(&mut self, at: PathEffect, before: Image, after: Image) {
        if before != after {
            self.effects.changes.push(Change { path: at.path.clone(), before, after });
        }
        self.touch(at);
    }

    fn show(&mut self, path: &str, before: &Content, after: &Content) {
        let diff = match (file_bytes(before), file_bytes(after)) {
            (None, None) => format!("{}: {}\n", path, named_change(before, after)),
            (old, new) => diff::unified(path, old, new),
        };
        self.note(&if self.diff.len() + diff.len() <= DIFF_BYTES_MAX {
            diff
        } else {
            format!("{path}: {} (not shown)\n", named_change(before, after))
        });
    }

    /// Adds a line of its own to the diff.
    pub(crate) fn note(&mut self, text: &str) {
        self.diff.push_str(text);
    }

    /// Whether nothing would change.
    pub(crate) fn is_empty(&self) -> bool {
        self.effects.changes.is_empty()
    }

    pub(crate) fn plan(self, summary: impl Into<String>) -> Plan {
        Plan {
            diff: (!self.diff.is_empty()).then_some(self.diff),
            contents: self.contents,
            ..Plan::new(EffectClass::File, self.effects, summary)
        }
    }

    /// A plan that already fails: it still declares the paths that it would have touched.
    pub(crate) fn fail(self, summary: impl Into<String>, message: impl Into<String>) -> Plan {
        let effects = Effects { paths: self.effects.paths, ..Effects::default() };
        Plan::new(EffectClass::File, effects, summary).failing(message)
    }
}

fn file_bytes(content: &Content) -> Option<&[u8]> {
    match content {
        Content::File { bytes, .. } => Some(bytes),
        Content::Absent | Content::Folder | Content::Link { .. } => None,
    }
}

fn named_change(before: &Content, after: &Content) -> String {
    let name = |content: &Content| match content {
        Content::Absent => "nothing".to_owned(),
        Content::Folder => "a folder".to_owned(),
        Content::File { bytes, .. } => format!("a file of {} bytes", bytes.len()),
        Content::Link { target } => format!("a link to {target}"),
    };
    match (before, after) {
        (Content::Absent, after) => format!("new: {}", name(after)),
        (before, Content::Absent) => format!("deleted: {}", name(before)),
        (before, after) => format!("{} becomes {}", name(before), name(after)),
    }
}

/// Plans on a blocking thread.
pub(crate) async fn planning(work: impl FnOnce() -> Plan + Send + 'static) -> Plan {
    blocking(work).await.unwrap_or_else(|why| nothing("A plan that could not be made").failing(why))
}

/// A plan that only looks at `at`, or already knows why it cannot.
pub(crate) fn reading(at: PathEffect, summary: String, fails: Option<String>) -> Plan {
    let effects = Effects { paths: vec![at], ..Effects::default() };
    let plan = Plan::new(EffectClass::Read, effects, summary);
    match fails {
        Some(message) => plan.failing(message),
        None => plan,
    }
}

/// What is at `path`, ready to be written: the effect says *create* where nothing is.
pub(crate) fn at_for_writing(
    workspace: &Workspace,
    path: &str,
) -> (PathEffect, Result<Content, FileError>) {
    let at = workspace.resolve(path, Access::Write);
    let content = workspace.read(&at, EDIT_BYTES_MAX);
    match content {
        Ok(Content::Absent) | Err(FileError::NotFound { .. }) => {
            (workspace.resolve(path, Access::Create), Ok(Content::Absent))
        }
        content => (at, content),
    }
}

/// The words for nothing where something was expected: with the nearest name, if there is one.
pub(crate) fn missing(workspace: &Workspace, at: &PathEffect) -> String {
    let why = workspace.entry(at).err().map(|why| why.to_string());
    let why = why.unwrap_or_else(|| format!("{} does not exist", at.path));
    let stop = if why.ends_with('?') { "" } else { "." };
    format!("{why}{stop} list_files and glob show what is there")
}

/// The words for what stands where a file was expected.
pub(crate) fn not_a_file(path: &str, content: &Content) -> String {
    match content {
        Content::Absent => format!("{path} does not exist"),
        Content::Folder => {
            format!("{path} is a folder, not a file; list_files shows what is in it")
        }
        Content::Link { target } => {
            format!("{path} is a symbolic link to {target}; use the path that it leads to")
        }
        Content::File { .. } => format!("{path} is an existing file; choose another path"),
    }
}

/// Whether `bytes` look like a binary file: a NUL in the first 8 kB.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8_192).any(|byte| *byte == 0)
}

/// A file with these bytes, and the mode of `before` where that was a file.
pub(crate) fn file(bytes: Vec<u8>, before: &Content) -> Content {
    let mode = match before {
        Content::File { mode, .. } => *mode,
        Content::Absent | Content::Folder | Content::Link { .. } => NEW_FILE_MODE,
    };
    Content::File { bytes: bytes.into(), mode }
}
