//! Files as an editor has them (R1): what is not saved yet is what tools read, and what they write stands in
//! the editor too.
//!
//! The disk is written by the workspace alone, as ever: what is not saved yet is saved first, by the editor
//! and only where a call was judged on it, and what was written is put into the editor after. So checkpoints,
//! undo and recovery see files of the disk, and an editor that fails or lies loses nothing. Not here: how an
//! editor is asked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_core::ids::SessionId;
use weir_core::record::sha256_hex;
use weir_core::tool::{FileState, PathEffect, PlannedChange};

use super::{FileContent, FileError, LocatedPath, Workspace, resolve};

mod running;

pub(super) use running::RunningSessions;

/// Largest file that an editor is asked about.
const EDITOR_BYTES_MAX: u64 = 10_000_000;
/// Files of one call that are put into the editor.
const FOLLOWED_MAX: usize = 20;
/// How long an editor may take to see by itself that a file was changed on the disk.
const RELOAD_WAIT: Duration = Duration::from_millis(300);
/// What some files begin with.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The files of an editor. Everything here blocks. What goes wrong the editor's side tells the person itself.
pub trait EditorFiles: Send + Sync + std::fmt::Debug {
    /// The text of a file as the editor has it; `None`: it does not say, and what is on the disk counts.
    fn read_text(&self, path: &Path, bytes_max: u64) -> Option<String>;
    /// Puts a text into the editor's file and saves it. Whether it did.
    fn write_text(&self, path: &Path, text: &str) -> bool;
    /// After a change the editor has another text than the disk: somebody typed meanwhile, or it was saved
    /// otherwise than it was given.
    fn note_difference(&self, path: &Path);
}

impl Workspace {
    /// Takes what an editor has not saved yet for what is there.
    #[must_use]
    pub fn with_editor(mut self, editor: Arc<dyn EditorFiles>) -> Workspace {
        self.editor = Some(editor);
        self
    }

    /// A command or a background job of this session runs from now on. An editor is given a path and follows
    /// links, so whoever may write in the folder could swap a file for a link while it answers: what it says
    /// is not taken then, and it saves nothing, whichever session of this program it serves.
    pub(crate) fn rest_editor(&self, session: &SessionId) {
        self.running.begin(session);
    }

    /// Nothing that this session started runs any more.
    pub(crate) fn wake_editor(&self, session: &SessionId) {
        self.running.end(session);
    }

    /// As [`Workspace::read`], with what an editor has not saved yet.
    ///
    /// # Errors
    /// As [`Workspace::read`].
    pub fn read_current(&self, at: &PathEffect, max: u64) -> Result<FileContent, FileError> {
        let located = self.open_way(at)?;
        let saved = self.read_located(&located, max)?;
        Ok(self.unsaved_content(&located, &saved, max).unwrap_or(saved))
    }

    /// The text of a file that an editor has not saved yet; `None`: what is on the disk counts.
    pub fn unsaved_text(&self, at: &PathEffect) -> Option<Arc<[u8]>> {
        self.editor.as_ref()?;
        let located = self.open_way(at).ok()?;
        let saved = self.read_located(&located, EDITOR_BYTES_MAX).ok()?;
        match self.unsaved_content(&located, &saved, EDITOR_BYTES_MAX)? {
            FileContent::File { bytes, .. } => Some(bytes),
            FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => None,
        }
    }

    /// Whether an editor has this there, and has not saved it yet.
    pub(crate) fn has_unsaved(&self, at: &PathEffect, image: &FileState) -> bool {
        self.editor.is_some()
            && self.read_current(at, EDITOR_BYTES_MAX).is_ok_and(|found| found.image() == *image)
    }

    fn unsaved_content(
        &self,
        located: &LocatedPath,
        saved: &FileContent,
        max: u64,
    ) -> Option<FileContent> {
        let editor = self.editor.as_ref()?;
        // An editor is not asked about what lies outside, whoever allowed it.
        located.spot.root?;
        let starts = running::count_starts();
        if running::may_be_swapped(&located.spot.real) {
            return None;
        }
        let FileContent::File { bytes, mode } = saved else { return None };
        let on_disk = std::str::from_utf8(bytes).ok()?;
        let told = editor.read_text(&located.spot.real, max)?;
        // Another process may have swapped the file for a link while it was asked: then this is the text of
        // something else.
        if running::count_starts() != starts {
            return None;
        }
        if self.image_of(located).ok()? != saved.image() {
            return None;
        }
        let text = in_form_of(told, on_disk)?;
        let fits = text.len() as u64 <= max;
        fits.then(|| FileContent::File { bytes: text.into_bytes().into(), mode: *mode })
    }

    /// Lets the editor save what these changes were judged on and the disk does not have yet.
    ///
    /// # Errors
    /// It cannot: none of the changes is made then. Files before it may have been saved; the error names them.
    pub(super) fn save_what_was_judged(&self, changes: &[PlannedChange]) -> Result<(), FileError> {
        let Some(editor) = self.editor.clone() else { return Ok(()) };
        let mut saved_already: Vec<String> = Vec::new();
        for change in changes {
            let located = self.locate(&change.path)?;
            let is_file = matches!(change.before, FileState::File { .. });
            if !is_file || self.is_closed(&located) || self.image_of(&located)? == change.before {
                continue;
            }
            let Ok(saved) = self.read_located(&located, EDITOR_BYTES_MAX) else { continue };
            let unsaved = self.unsaved_content(&located, &saved, EDITOR_BYTES_MAX);
            let Some(unsaved) = unsaved.filter(|unsaved| unsaved.image() == change.before) else {
                // Whoever makes the changes says that it is another file now.
                continue;
            };
            let FileContent::File { bytes, .. } = &unsaved else { continue };
            let text = String::from_utf8_lossy(bytes);
            // As late as can be: an editor would follow a link that stands there by now.
            if running::may_be_swapped(&located.spot.real)
                || self.image_of(&located)? != saved.image()
            {
                continue;
            }
            let is_saved = editor.write_text(&located.spot.real, &text);
            if !is_saved || self.image_of(&located)? != change.before {
                let why = refusal_text(&saved_already);
                return Err(FileError::Refused { path: located.shown, why });
            }
            saved_already.push(located.shown);
        }
        Ok(())
    }

    /// Puts what was written into the editor where that has something else. What somebody typed meanwhile
    /// stays.
    pub(super) fn follow_in_editor(
        &self,
        changes: &[PlannedChange],
        contents: &BTreeMap<String, Arc<[u8]>>,
    ) {
        let Some(editor) = self.editor.as_deref() else { return };
        let written = changes.iter().filter_map(|change| {
            let text = std::str::from_utf8(contents.get(&change.path)?).ok()?;
            Some((change, text))
        });
        let mut behind = Vec::new();
        for (change, text) in written.take(FOLLOWED_MAX) {
            let Ok(located) = self.locate(&change.path) else { continue };
            if located.spot.root.is_none() || self.is_closed(&located) {
                continue;
            }
            let told = editor.read_text(&located.spot.real, EDITOR_BYTES_MAX);
            if told.and_then(|told| in_form_of(told, text)).is_some() {
                behind.push((located, FollowedChange { change, text }));
            }
        }
        if behind.is_empty() {
            return;
        }
        // Most editors take up what changed on the disk by themselves. One that saves instead may format it,
        // and then the file is another than the call made.
        std::thread::sleep(RELOAD_WAIT);
        for (located, made) in behind {
            self.follow_file(editor, &located, &made);
        }
    }

    fn follow_file(
        &self,
        editor: &dyn EditorFiles,
        located: &LocatedPath,
        made: &FollowedChange<'_>,
    ) {
        let path = &located.spot.real;
        let is_there = || self.image_of(located).is_ok_and(|image| image == made.change.after);
        let Some(told) = editor.read_text(path, EDITOR_BYTES_MAX) else { return };
        let Some(shown) = in_form_of(told, made.text) else { return };
        let digest = sha256_hex(shown.as_bytes());
        let is_untouched =
            matches!(&made.change.before, FileState::File { sha256, .. } if *sha256 == digest);
        // The file may have been put away or swapped by now: an editor would follow a link.
        if !is_untouched || running::may_be_swapped(path) || !is_there() {
            return editor.note_difference(path);
        }
        if editor.write_text(path, made.text) && !is_there() {
            editor.note_difference(path);
        }
    }

    /// Whether a list closes it to tools.
    fn is_closed(&self, located: &LocatedPath) -> bool {
        let verdict = self.guard.judge(&located.spot, resolve::kind_of_path(&located.spot.real));
        verdict.ignored.or(verdict.protected).is_some()
    }
}

/// A change of a file that was made, and its text.
struct FollowedChange<'a> {
    change: &'a PlannedChange,
    text: &'a str,
}

/// Why a call is refused whose file the editor did not save, and what it had saved by then.
fn refusal_text(saved_already: &[String]) -> String {
    let mut why = "it has changes in the editor that are not saved, and the editor did not save them as they \
                   are; save it there, then repeat this"
        .to_owned();
    if !saved_already.is_empty() {
        let named = saved_already.join(", ");
        why.push_str(&format!("; the editor saved its own text of {named} before that"));
    }
    why
}

/// A text of an editor with the line ends and the beginning that a file has; `None`: it is that file's text.
/// Editors show lines, and what ends them is no change.
fn in_form_of(told: String, file: &str) -> Option<String> {
    let plain = |text: &str| text.trim_start_matches(BYTE_ORDER_MARK).replace("\r\n", "\n");
    if told == file || plain(&told) == plain(file) {
        return None;
    }
    let has_crlf = file.contains("\r\n") && !told.contains('\r');
    let told = if has_crlf { told.replace('\n', "\r\n") } else { told };
    let is_marked = file.starts_with(BYTE_ORDER_MARK) && !told.starts_with(BYTE_ORDER_MARK);
    Some(if is_marked { format!("{BYTE_ORDER_MARK}{told}") } else { told })
}

#[cfg(test)]
mod tests;
