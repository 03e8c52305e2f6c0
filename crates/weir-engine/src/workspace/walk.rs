//! Walks: visible entries, folders before what is in them, names in byte order, never through a
//! link. Stops at its bound without looking at the rest.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use weir_core::governance::rules::RuleSet;

use super::guard::PathSpot;
use super::lists::{GIT_LIST, IGNORE_LIST, is_for_git_alone};
use super::survey::{SurveyedFileStamp, file_time};
use super::tree::{EntryQuestion, FolderChild, QuestionAsker, fact, said};
use super::watch::FolderWatch;
use super::{
    EntryKind, FileError, LocatedPath, WalkOptions, Workspace, WorkspaceEntry, WorkspaceWalk,
};
use super::{beneath, closed_by, wrong_kind};

/// Deepest folder that is entered: each level holds a handle.
pub(super) const DEPTH_MAX: usize = 128;

/// So much of what git ignores is named by itself.
const SKIPPED_MAX: usize = 10_000;

/// What [`Workspace::walk`] does.
pub(super) fn walk_folder(
    workspace: &Workspace,
    start: &LocatedPath,
    way: &[&str],
    options: WalkOptions,
) -> Result<WorkspaceWalk, FileError> {
    let mut entries = Vec::new();
    let each = &mut |found: &WalkedEntry<'_>| {
        entries.push(entry_from_stat(workspace.guard.shown_path(found.spot), found.stat));
    };
    let terms = WalkTerms { way, ..WalkTerms::of_walk(options) };
    let seen = visit_asking(workspace, start, terms, each)?;
    Ok(WorkspaceWalk { entries, truncated: seen.truncated })
}

/// What a look for files that may be read has beside its options: what rules and lists close is passed
/// over, and folders are watched from then on.
#[derive(Clone, Copy)]
pub(super) struct ReaderOptions<'a> {
    pub(super) watch: &'a FolderWatch,
    pub(super) max_entries: usize,
    pub(super) recursive: bool,
}

/// The entries that a call may read which was not judged for each of them by name: as
/// [`Workspace::effect_of_entry`] says it, from what is held of each folder.
pub(super) fn walk_readable(
    workspace: &Workspace,
    start: &LocatedPath,
    reader: ReaderOptions<'_>,
) -> Result<WorkspaceWalk, FileError> {
    let now = file_time();
    let mut entries = Vec::new();
    let each = &mut |found: &WalkedEntry<'_>| {
        let path = workspace.guard.shown_path(found.spot);
        let mut entry = entry_from_stat(path, found.stat);
        if entry.kind != EntryKind::File {
            return;
        }
        if found.stat.st_nlink > 1
            && let Some(folder) = found.spot.real.parent()
        {
            reader.watch.has_links(folder);
        }
        // A change in the same moment would not show.
        if SurveyedFileStamp::from_stat(found.stat).is_racy(now) {
            entry.changed_ns = 0;
        }
        entries.push(entry);
    };
    let options = WalkOptions {
        recursive: reader.recursive,
        respect_gitignore: false,
        hidden: false,
        max_entries: reader.max_entries,
    };
    let mut question = EntryQuestion::of_asker(QuestionAsker::Reader);
    question.rules = workspace.rules_here();
    let seen = visit_asking(
        workspace,
        start,
        WalkTerms { question, watch: Some(reader.watch), ..WalkTerms::of_walk(options) },
        each,
    )?;
    if seen.truncated {
        reader.watch.is_not_whole();
    }
    Ok(WorkspaceWalk { entries, truncated: seen.truncated })
}

/// An entry that a walk meets.
pub(super) struct WalkedEntry<'a> {
    pub(super) spot: &'a PathSpot,
    pub(super) stat: &'a Stat,
    /// The folder it lies in, and its name there.
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

/// What a walk did not meet.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnseenEntries {
    /// There was more than its bounds allow.
    pub(crate) truncated: bool,
    /// `.gitignore` named something.
    pub(crate) gitignored: bool,
    /// The topmost of what it named, up to a bound.
    pub(crate) skipped: Vec<PathBuf>,
}

impl UnseenEntries {
    /// Takes note of what git ignores: beyond the bound of the folder in which it lies, so that nothing
    /// of it goes without a name.
    pub(super) fn note_skipped(&mut self, folder: &PathSpot, child: &FolderChild) {
        self.gitignored = true;
        if self.skipped.len() < SKIPPED_MAX {
            self.skipped.push(folder.real.join(&child.name));
        } else if self.skipped.last() != Some(&folder.real) {
            self.skipped.push(folder.real.clone());
        }
    }

    /// Takes up what another look did not meet.
    pub(super) fn join(&mut self, other: UnseenEntries) {
        self.truncated |= other.truncated;
        self.gitignored |= other.gitignored;
        self.skipped.extend(other.skipped);
    }
}

/// The same, entry by entry, for a comparison: a list of git's is met although it names itself.
pub(super) fn visit_compared(
    workspace: &Workspace,
    start: &LocatedPath,
    options: WalkOptions,
    each: &mut dyn FnMut(&WalkedEntry<'_>),
) -> Result<UnseenEntries, FileError> {
    let terms = WalkTerms { lists: ListView::Always, ..WalkTerms::of_walk(options) };
    visit_asking(workspace, start, terms, each)
}

/// Whether lists are met that git's lists name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListView {
    AsOthers,
    Always,
}

/// Whether an entry is a list, and is met although a list names it: what it says decides about others.
pub(super) fn is_list_in_view(child: &FolderChild) -> bool {
    child.facts & fact::LIST != 0 && !child.is_folder
}

/// How entries are visited.
struct WalkTerms<'a> {
    options: WalkOptions,
    question: EntryQuestion,
    /// What watches the folders; only a look for what may be read has one.
    watch: Option<&'a FolderWatch>,
    lists: ListView,
    /// The folders to go through first: of each, nothing but the next is visited.
    way: &'a [&'a str],
}

impl WalkTerms<'_> {
    fn of_walk(options: WalkOptions) -> WalkTerms<'static> {
        let question = EntryQuestion::of_asker(QuestionAsker::Walk);
        WalkTerms { options, question, watch: None, lists: ListView::AsOthers, way: &[] }
    }
}

fn visit_asking(
    workspace: &Workspace,
    start: &LocatedPath,
    terms: WalkTerms<'_>,
    each: &mut dyn FnMut(&WalkedEntry<'_>),
) -> Result<UnseenEntries, FileError> {
    let anchor = workspace.anchor_fd(start);
    let (_, stat) = beneath::probe_path(anchor, &start.rel)
        .map_err(|e| workspace.file_error("list", start, e))?;
    if beneath::kind_of(&stat) != FileType::Directory {
        return Err(wrong_kind(start, beneath::kind_of(&stat), "a folder"));
    }
    let folder = beneath::open_folder(anchor, &start.rel)
        .map_err(|e| workspace.file_error("list", start, e))?;
    let mut walker = Walker {
        workspace,
        options: terms.options,
        question: terms.question,
        watch: terms.watch,
        lists: terms.lists,
        way: terms.way,
        met: 0,
        unseen: UnseenEntries::default(),
        each,
    };
    walker.enter_ancestors(&start.spot);
    walker
        .visit_folder(&folder, &start.spot, 0)
        .map_err(|e| workspace.file_error("list", start, e))?;
    Ok(walker.unseen)
}

/// An entry from what the system says about it.
pub(super) fn entry_from_stat(path: String, stat: &Stat) -> WorkspaceEntry {
    let kind = match beneath::kind_of(stat) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => EntryKind::Other,
    };
    let bytes = if kind == EntryKind::File { beneath::size_of(stat) } else { 0 };
    let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or(0);
    let changed_ns = stat.st_ctime.saturating_mul(1_000_000_000).saturating_add(nanos);
    WorkspaceEntry { path, kind, bytes, modified: stat.st_mtime, changed_ns }
}

struct Walker<'a> {
    workspace: &'a Workspace,
    options: WalkOptions,
    /// Lists on the way, with the length of their folder's path.
    question: EntryQuestion,
    watch: Option<&'a FolderWatch>,
    lists: ListView,
    way: &'a [&'a str],
    /// Entries so far.
    met: usize,
    unseen: UnseenEntries,
    each: &'a mut dyn FnMut(&WalkedEntry<'_>),
}

impl Walker<'_> {
    /// Loads the lists of the folders above the start.
    fn enter_ancestors(&mut self, start: &PathSpot) {
        let Some(root) = start.root.map(|i| &self.workspace.guard.roots[i]) else { return };
        let mut folder = root.real.clone();
        let mut begin = 0_usize;
        let below = start.real.strip_prefix(&root.real).unwrap_or(Path::new(""));
        for part in below.components() {
            self.take_lists(&folder, &start.rel[..begin.saturating_sub(1)], |_| true);
            let end = start.rel[begin..].find('/').map_or(start.rel.len(), |at| begin + at);
            begin = (end + 1).min(start.rel.len());
            folder.push(part);
        }
    }
    /// Loads the lists of one folder, of those names for which `there` says that one may be there;
    /// returns how many there were before.
    fn take_lists(
        &mut self,
        folder: &Path,
        rel: &str,
        there: impl Fn(&str) -> bool,
    ) -> (usize, usize) {
        let path_begin = if rel.is_empty() { 0 } else { rel.len() + 1 };
        let before = (self.question.hiding.len(), self.question.skipping.len());
        let lists = &self.workspace.guard.lists;
        let load = |name| there(name).then(|| lists.load(folder, name)).flatten();
        self.question.hiding.extend(load(IGNORE_LIST).map(|list| (path_begin, list)));
        if self.options.respect_gitignore && !is_for_git_alone(rel) {
            self.question.skipping.extend(load(GIT_LIST).map(|list| (path_begin, list)));
        }
        before
    }

    fn visit_folder(
        &mut self,
        handle: &OwnedFd,
        spot: &PathSpot,
        depth: usize,
    ) -> Result<(), Errno> {
        let guard = &self.workspace.guard;
        if let Some(watch) = self.watch {
            watch.add(&spot.real, handle.as_fd());
        }
        let listing = guard.tree.list_open(guard, spot, handle.as_fd())?;
        let before = match spot.root {
            Some(_) => self.take_lists(&spot.real, &spot.rel, |name| listing.has_list(name)),
            None => (self.question.hiding.len(), self.question.skipping.len()),
        };
        let closes = |rules: &RuleSet, path: &str| closed_by(rules, path).is_some();
        let answers = listing.entry_answers(guard, spot, &self.question, &closes);
        let next = self.way.get(depth).copied();
        for (index, child) in listing.children.iter().enumerate() {
            if next.is_some_and(|next| child.name != *next) {
                continue;
            }
            if !self.options.hidden && child.name.as_bytes().starts_with(b".") {
                continue;
            }
            let said = answers.as_ref().map_or(0, |answers| answers[index]);
            if child.facts & fact::HIDDEN != 0 || said & said::IGNORED != 0 {
                continue;
            }
            if self.watch.is_some() && is_closed_to_readers(child, said) {
                continue;
            }
            let in_view = self.lists == ListView::Always && is_list_in_view(child);
            if said & said::SKIPPED != 0 && !in_view {
                self.unseen.note_skipped(spot, child);
                continue;
            }
            self.visit_child(handle, &listing.child_spot(guard, spot, child), child, depth);
            if self.unseen.truncated {
                break;
            }
        }
        self.unseen.truncated |= listing.children.len() > beneath::FOLDER_NAMES_MAX;
        self.question.hiding.truncate(before.0);
        self.question.skipping.truncate(before.1);
        Ok(())
    }

    fn visit_child(
        &mut self,
        handle: &OwnedFd,
        spot: &PathSpot,
        child: &FolderChild,
        depth: usize,
    ) {
        // What went away since its name was read is no entry.
        let Some(stat) = stat_entry(handle, &child.name) else { return };
        if self.met >= self.options.max_entries {
            self.unseen.truncated = true;
            return;
        }
        self.met += 1;
        let is_folder = beneath::kind_of(&stat) == FileType::Directory;
        let folder = handle.as_fd();
        (self.each)(&WalkedEntry { spot, stat: &stat, folder, name: &child.name });
        if !is_folder || !self.options.recursive {
            return;
        }
        if depth >= DEPTH_MAX {
            self.unseen.truncated = true;
            return;
        }
        // A folder that cannot be opened shows its name and nothing more.
        if let Ok(inner) = beneath::open_folder(handle.as_fd(), &PathBuf::from(&child.name)) {
            let _ = self.visit_folder(&inner, spot, depth + 1);
        }
    }
}

/// Whether only a call that names it may read it. What a rule says of a folder it says of each file in it.
fn is_closed_to_readers(child: &FolderChild, said: u8) -> bool {
    child.facts & fact::SECRET != 0 || (!child.is_folder && said & said::CLOSED != 0)
}

fn stat_entry(folder: &OwnedFd, name: &OsStr) -> Option<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}
