//! What a command changed: the workspace as it stands against a [`WorkspaceBaseline`] (G7). Blocks, and changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{ErrorKind, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::baseline::{BaselineEntry, WorkspaceBaseline, is_same, unkept_reason_text};
use crate::ports::{FileContent, SnapshotEntry};
use crate::workspace::Workspace;
use crate::workspace::survey::{
    ClosedReason, MetEntry, SurveyedFileStamp, SurveyedKind, file_time, stamp_of,
};

/// How far the clocks of files may lie apart from ours, in nanoseconds.
const SLACK_NS: i64 = 2_000_000_000;

/// A path as it stands now.
#[derive(Debug)]
pub(super) enum PresentEntry {
    Gone,
    Folder,
    Link(String),
    File(SurveyedFileStamp, bool, Arc<[u8]>),
    Closed(SurveyedFileStamp, ClosedReason),
}

/// What is different.
#[derive(Debug, Default)]
pub(crate) struct WorkspaceDelta {
    /// What can be taken back.
    pub(crate) entries: Vec<SnapshotEntry>,
    /// What cannot, and why.
    pub(crate) unsaved: BTreeMap<String, String>,
    /// What somebody else wrote since the command had ended.
    pub(crate) later: Vec<String>,
    /// What left the view and is still held, the topmost of it.
    pub(crate) left_view: Vec<String>,
    /// What git ignores, the topmost of it.
    pub(crate) ignored: Vec<PathBuf>,
    /// What is neither file, folder nor link, or has a name that is not UTF-8, and was not held: the
    /// paths on the disk.
    pub(crate) odd: Vec<PathBuf>,
    /// Not everything was looked at.
    pub(crate) truncated: bool,
    /// What is to be held from now on.
    pub(super) now: Vec<(String, PresentEntry)>,
    /// Bytes of the new contents.
    bytes: u64,
}

impl WorkspaceDelta {
    /// Every path that the command made different.
    pub(crate) fn changed_paths(&self) -> Vec<String> {
        let saved = self.entries.iter().map(|entry| entry.path.clone());
        let mut paths: Vec<String> = saved.chain(self.unsaved.keys().cloned()).collect();
        paths.sort_unstable();
        paths
    }
}

/// The part of time that counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeWindow {
    /// When the command had not begun.
    pub(super) from: i64,
    /// When it had ended, where it did not end just now.
    pub(super) until: Option<i64>,
}

struct Comparison<'a> {
    base: &'a mut WorkspaceBaseline,
    workspace: &'a Workspace,
    window: TimeWindow,
    delta: WorkspaceDelta,
    /// New paths of files that did not change since before the command.
    old: Vec<(String, u64)>,
}

/// Compares.
pub(super) fn compare_workspace(
    base: &mut WorkspaceBaseline,
    workspace: &Workspace,
    window: TimeWindow,
) -> Result<WorkspaceDelta, String> {
    let mut looked = base.survey_workspace(workspace, is_same)?;
    let mut others = HashSet::new();
    let unnamed = looked.unreadable_names();
    let (delta, old) = (WorkspaceDelta::default(), Vec::new());
    let mut comparison = Comparison { base, workspace, window, delta, old };
    workspace.meet_differing(&mut looked, &mut |met| {
        comparison.compare_entry(&met);
        others.insert(met.path);
    });
    comparison.say_unnamed(unnamed);
    let missing = comparison.base.missing_paths(&looked.known, &others);
    let unseen = looked.unseen;
    let lists_changed = comparison.record_removed(missing);
    let uncertain = unseen.truncated || comparison.base.truncated || lists_changed;
    if uncertain {
        comparison.drop_what_was_there();
    }
    comparison.exclude_protected();
    let Comparison { mut delta, base, .. } = comparison;
    delta.left_view = base.take_left_view();
    delta.truncated = unseen.truncated;
    delta.ignored = unseen.skipped;
    delta.entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(delta)
}

impl Comparison<'_> {
    fn compare_entry(&mut self, met: &MetEntry<'_>) {
        let path = met.path.as_str();
        match (self.base.held.get(path), &met.kind) {
            (None, SurveyedKind::Odd) => self.delta.odd.push(met.real_path().to_path_buf()),
            (Some(_), SurveyedKind::Odd) => {
                self.note_unsaved(path, "it is no file, folder or link any more");
                self.delta.now.push((path.to_owned(), PresentEntry::Gone));
            }
            (_, SurveyedKind::Folder) => {
                self.record_difference(path, FileContent::Folder, PresentEntry::Folder)
            }
            (_, SurveyedKind::Link(target)) => {
                let now = FileContent::Link { target: target.clone() };
                self.record_difference(path, now, PresentEntry::Link(target.clone()));
            }
            (held, SurveyedKind::File(now)) => {
                let closed = match held {
                    Some(BaselineEntry::File { stamp, content: Err(why), .. }) => {
                        Some((*stamp, *why))
                    }
                    Some(
                        BaselineEntry::File { .. } | BaselineEntry::Folder | BaselineEntry::Link(_),
                    )
                    | None => None,
                };
                if held.is_none() && now.changed < self.window.from.saturating_sub(SLACK_NS) {
                    self.old.push((path.to_owned(), now.inode));
                }
                self.compare_file(met, *now, closed);
            }
        }
    }

    fn note_unsaved(&mut self, path: &str, why: impl Into<String>) {
        self.delta.unsaved.insert(path.to_owned(), why.into());
    }

    fn note_closed(&mut self, path: &str, why: ClosedReason) {
        let why = format!("files {}", unkept_reason_text(why, self.base.bounds()));
        self.note_unsaved(path, why);
    }

    fn record_difference(&mut self, path: &str, after: FileContent, now: PresentEntry) {
        match self.base.content_before(path) {
            Ok(before) => {
                self.delta.entries.push(SnapshotEntry { path: path.to_owned(), before, after });
            }
            Err(why) => self.note_closed(path, why),
        }
        self.delta.now.push((path.to_owned(), now));
    }

    /// A file that is new or has another stamp. `closed`: it was not kept before.
    fn compare_file(
        &mut self,
        met: &MetEntry<'_>,
        now: SurveyedFileStamp,
        closed: Option<(SurveyedFileStamp, ClosedReason)>,
    ) {
        let path = met.path.as_str();
        if self.window.until.is_some_and(|until| now.changed > until) {
            // What the command left there, if anything, is not known. What is held is not what is
            // there, so the next look goes everywhere.
            self.base.watch.is_not_whole();
            return self.delta.later.push(path.to_owned());
        }
        if let Some((before, why)) = closed {
            if (before.bytes, before.modified, before.mode) != (now.bytes, now.modified, now.mode) {
                self.note_closed(path, why);
            }
            return self.delta.now.push((path.to_owned(), PresentEntry::Closed(now, why)));
        }
        match self.read_present_file(met, now) {
            Ok((stamp, racy, bytes)) => {
                let after = FileContent::File { bytes: bytes.clone(), mode: stamp.mode };
                let same = self.base.content_before(path).is_ok_and(|before| before == after);
                let now = PresentEntry::File(stamp, racy, bytes);
                if same {
                    self.delta.now.push((path.to_owned(), now));
                } else {
                    self.record_difference(path, after, now);
                }
            }
            Err(why) => {
                self.note_closed(path, why);
                self.delta.now.push((path.to_owned(), PresentEntry::Closed(now, why)));
            }
        }
    }

    fn read_present_file(
        &mut self,
        met: &MetEntry<'_>,
        now: SurveyedFileStamp,
    ) -> Result<(SurveyedFileStamp, bool, Arc<[u8]>), ClosedReason> {
        let bounds = self.base.bounds();
        if now.bytes > bounds.file {
            return Err(ClosedReason::TooLarge);
        }
        if self.delta.bytes + now.bytes > bounds.bytes || self.delta.now.len() >= bounds.files {
            return Err(ClosedReason::TooMany);
        }
        let at = file_time();
        let (mut file, stamp) = met.open_file()?;
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.bytes).unwrap_or(0));
        let mut bounded = (&mut file).take(bounds.file + 1);
        bounded.read_to_end(&mut bytes).map_err(|_| ClosedReason::Unreadable)?;
        if bytes.len() as u64 > bounds.file {
            return Err(ClosedReason::TooLarge);
        }
        self.delta.bytes += bytes.len() as u64;
        let racy = stamp.is_racy(at) || stamp_of(&file) != Some(stamp);
        Ok((stamp, racy, Arc::from(bytes)))
    }

    /// What went away whose name is not UTF-8: nothing of it was kept.
    fn say_unnamed(&mut self, now: BTreeSet<PathBuf>) {
        let before = std::mem::replace(&mut self.base.unnamed, now);
        for path in before.difference(&self.base.unnamed) {
            if path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                let shown = self.workspace.shown_at(path);
                self.delta.unsaved.insert(shown, "removed; its name is not UTF-8".to_owned());
            }
        }
    }

    /// What is not there any more. Returns whether a list that decides what is looked at is
    /// another one now.
    fn record_removed(&mut self, missing: Vec<String>) -> bool {
        for path in missing {
            // What only left the view, because a list names it now, is not gone.
            if self.workspace.is_there(&path) {
                self.base.watch.is_not_whole();
            } else {
                self.record_difference(&path, FileContent::Absent, PresentEntry::Gone);
            }
        }
        let is_list = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name == ".gitignore" || name == ".weirignore"
        };
        self.delta.changed_paths().iter().any(|path| is_list(path))
    }

    /// Takes out what is new only to the view: it came into it because a list changed or because
    /// the view has an end, and must not be deleted by an undo. What was moved is new.
    fn drop_what_was_there(&mut self) {
        let inode = |held: &BaselineEntry| match held {
            BaselineEntry::File { stamp, .. } => Some(stamp.inode),
            BaselineEntry::Folder | BaselineEntry::Link(_) => None,
        };
        let known: HashSet<u64> = self.base.held.values().filter_map(inode).collect();
        let old: HashSet<String> = std::mem::take(&mut self.old)
            .into_iter()
            .filter(|(_, inode)| !known.contains(inode))
            .map(|(path, _)| path)
            .collect();
        // A folder with such a file in it was there as well.
        let holds_old = |path: &str| {
            let prefix = format!("{path}/");
            old.iter().any(|path| path.starts_with(&prefix))
        };
        self.delta.entries.retain(|entry| {
            let new = entry.before == FileContent::Absent;
            let was_there = new
                && (old.contains(&entry.path)
                    || (entry.after == FileContent::Folder && holds_old(&entry.path)));
            !was_there
        });
        self.delta.unsaved.retain(|path, _| !old.contains(path));
    }

    /// What only a person may write is not put back by an undo of everything else: a change of it
    /// is said.
    fn exclude_protected(&mut self) {
        let mut protected = BTreeMap::new();
        for entry in &self.delta.entries {
            if let Some(why) = self.workspace.protection_reason(&entry.path) {
                protected.insert(entry.path.clone(), format!("protected: {why}"));
            }
        }
        self.delta.entries.retain(|entry| !protected.contains_key(&entry.path));
        self.delta.unsaved.append(&mut protected);
    }
}
