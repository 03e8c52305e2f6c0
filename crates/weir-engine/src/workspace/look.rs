//! A look at everything by as many threads as pay: what is as it was known costs one look at each entry
//! and nothing more (D4, Q6). Not here: what is made of an entry that is not as it was known.
//!
//! What is met by several threads comes in no order, so it is sorted afterwards. Where more lies there
//! than the bound allows, who is left out would follow from luck, so then the walk in order does the work.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, FileType};
use weir_core::sorting::sort_stably;

use super::guard::PathSpot;
use super::parallel::{spread_work, threads_for};
use super::survey::{KnownCheck, SurveyedKind, WEIRS, is_weirs, kind_of_stat};
use super::tree::{EntryQuestion, FolderChild, QuestionAsker, TreeListing, fact, said};
use super::walk::{DEPTH_MAX, UnseenEntries, is_list_in_view};
use super::watch::FolderWatch;
use super::{Workspace, beneath};

/// An entry that is not as it was known.
pub(super) struct DifferingEntry {
    pub(super) spot: Arc<PathSpot>,
    pub(super) shown: String,
    pub(super) kind: SurveyedKind,
}

/// What a look came to.
#[derive(Default)]
pub(crate) struct SurveyResult {
    /// In the order of a walk.
    pub(super) differing: Vec<DifferingEntry>,
    /// The paths of everything that is as it was known.
    pub(crate) known: Vec<String>,
    pub(super) entries: usize,
    pub(crate) unseen: UnseenEntries,
}

/// How much there is to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SurveySize {
    /// About how many entries there are.
    pub(crate) expected: usize,
    /// With more it is given up.
    pub(crate) entries_max: usize,
}

/// A folder that is to be looked at, with the lists that hold in it.
struct SurveyFolder {
    spot: Arc<PathSpot>,
    shown: String,
    question: EntryQuestion,
    depth: usize,
}

/// The same while it is open, with what lies in it.
struct OpenFolder<'a> {
    open: &'a SurveyFolder,
    handle: &'a OwnedFd,
    listing: &'a TreeListing,
}

struct SurveyWalk<'a> {
    workspace: &'a Workspace,
    /// A handle of the root, and the root.
    root: (BorrowedFd<'a>, &'a Path),
    known: KnownCheck<'a>,
    watch: &'a FolderWatch,
    entries_max: usize,
    /// Entries that were met, of all threads.
    entries: AtomicUsize,
}

/// Looks at everything below a root. `None`: there are more entries than are looked at, or the root
/// cannot be looked at.
pub(super) fn survey_root(
    workspace: &Workspace,
    root: Arc<PathSpot>,
    size: SurveySize,
    known: KnownCheck<'_>,
    watch: &FolderWatch,
) -> Option<SurveyResult> {
    let anchor = workspace.anchor_of(root.root);
    workspace.guard.tree.list_open(&workspace.guard, &root, anchor).ok()?;
    let real = root.real.clone();
    let shown = workspace.guard.shown_path(&root);
    let first = SurveyFolder {
        spot: root,
        shown,
        question: EntryQuestion::of_asker(QuestionAsker::Walk),
        depth: 0,
    };
    let look = SurveyWalk {
        workspace,
        root: (anchor, &real),
        known,
        watch,
        entries_max: size.entries_max,
        entries: AtomicUsize::new(0),
    };
    let mut looked = SurveyResult::default();
    let each = |open, looked: &mut SurveyResult| look.visit_folder(open, looked);
    for part in spread_work(threads_for(size.expected), vec![first], each) {
        looked.join(part);
    }
    looked.entries = look.entries.load(Ordering::Relaxed);
    if looked.entries > size.entries_max {
        return None;
    }
    sort_stably(&mut looked.differing, |a, b| a.spot.real.cmp(&b.spot.real));
    looked.unseen.skipped.sort();
    looked.unseen.skipped.dedup();
    Some(looked)
}

impl SurveyResult {
    /// The paths of what is not as it was known.
    pub(crate) fn differing_paths(&self) -> impl Iterator<Item = &str> {
        self.differing.iter().map(|entry| entry.shown.as_str())
    }

    /// What was met under names that are not UTF-8.
    pub(crate) fn unreadable_names(&self) -> BTreeSet<PathBuf> {
        let odd = self.differing.iter().filter(|entry| entry.kind == SurveyedKind::Odd);
        let paths = odd.map(|entry| entry.spot.real.clone());
        paths.filter(|path| path.file_name().is_some_and(|name| name.to_str().is_none())).collect()
    }

    /// Takes up what another part of the look came to.
    pub(crate) fn join(&mut self, part: SurveyResult) {
        self.differing.extend(part.differing);
        self.known.extend(part.known);
        self.entries += part.entries;
        self.unseen.join(part.unseen);
    }
}

impl SurveyWalk<'_> {
    /// Looks at what lies in a folder, and returns the folders in it.
    fn visit_folder(&self, mut open: SurveyFolder, looked: &mut SurveyResult) -> Vec<SurveyFolder> {
        if self.entries.load(Ordering::Relaxed) > self.entries_max {
            return Vec::new();
        }
        let guard = &self.workspace.guard;
        let below = open.spot.real.strip_prefix(self.root.1).unwrap_or(Path::new(""));
        // A folder that cannot be opened shows its name and nothing more.
        let Ok(handle) = beneath::open_folder(self.root.0, below) else { return Vec::new() };
        self.watch.add(&open.spot.real, handle.as_fd());
        let listed = guard.tree.list_open(guard, &open.spot, handle.as_fd());
        let Ok(listing) = listed else { return Vec::new() };
        open.question.enter_folder(guard, &open.spot, &listing);
        let answers = listing.entry_answers(guard, &open.spot, &open.question, &|_, _| false);
        let mut inner = Vec::new();
        for (index, child) in listing.children.iter().enumerate() {
            let said = answers.as_ref().map_or(0, |answers| answers[index]);
            if child.facts & fact::HIDDEN != 0 || said & said::IGNORED != 0 {
                continue;
            }
            if said & said::SKIPPED != 0 && !is_list_in_view(child) {
                looked.unseen.note_skipped(&open.spot, child);
                continue;
            }
            let folder = OpenFolder { open: &open, handle: &handle, listing: &listing };
            let Some(shown) = self.visit_child(&folder, child, looked) else {
                continue;
            };
            if open.depth >= DEPTH_MAX {
                looked.unseen.truncated = true;
                continue;
            }
            let spot = listing.child_spot(guard, &open.spot, child);
            let question = open.question.clone();
            inner.push(SurveyFolder { spot, shown, question, depth: open.depth + 1 });
        }
        looked.unseen.truncated |= listing.children.len() > beneath::FOLDER_NAMES_MAX;
        inner
    }

    /// Looks at an entry. The path of one that is a folder.
    fn visit_child(
        &self,
        folder: &OpenFolder<'_>,
        child: &FolderChild,
        looked: &mut SurveyResult,
    ) -> Option<String> {
        let OpenFolder { open, handle, listing } = folder;
        // What went away since its name was read is no entry.
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(handle, &child.name, flags).ok()?;
        self.entries.fetch_add(1, Ordering::Relaxed);
        if stat.st_nlink > 1 && beneath::kind_of(&stat) != FileType::Directory {
            self.watch.has_links(&open.spot.real);
        }
        let shown = shown_child_path(self.workspace, open, listing, child);
        let is_folder = beneath::kind_of(&stat) == FileType::Directory;
        let of_folder = is_folder.then(|| shown.clone());
        if child.name.eq_ignore_ascii_case(WEIRS) || is_weirs(&open.spot.rel) {
            return of_folder;
        }
        let kind = kind_of_stat(&stat, handle.as_fd(), &child.name);
        if (self.known)(&shown, &kind) {
            looked.known.push(shown);
        } else {
            let spot = listing.child_spot(&self.workspace.guard, &open.spot, child);
            looked.differing.push(DifferingEntry { spot, shown, kind });
        }
        of_folder
    }
}

/// The path of a child as models and people see it, made of that of its folder where that is the same.
fn shown_child_path(
    workspace: &Workspace,
    open: &SurveyFolder,
    listing: &TreeListing,
    child: &FolderChild,
) -> String {
    let guard = &workspace.guard;
    match child.name.to_str() {
        Some(name) if name.is_ascii() && open.depth > 0 => format!("{}/{name}", open.shown),
        Some(_) | None => guard.shown_path(&listing.child_spot(guard, &open.spot, child)),
    }
}
