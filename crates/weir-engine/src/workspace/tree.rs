//! What lies in each folder, kept as long as the folder did not change: a walk over names then costs one
//! look at each folder (D4). A folder's time of change cannot be set by a command, so it does not lie;
//! file systems whose word for it is not known are listed anew each time. Not here: what is made of the
//! names, and anything that a file says.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use weir_core::governance::rules::RuleSet;

use super::beneath;
use super::governed::{is_instructing, leads_to_instructing, may_instruct};
use super::guard::{PathKind, PathSpot, WorkspacePathGuard, said_of};
use super::lists::{GIT_LIST, IGNORE_LIST, PROTECT_LIST, PathList, is_for_git_alone};
use super::repositories::repository_piece;
use super::survey::{SurveyedFileStamp, file_time};

/// Most names that are kept; then all are read anew.
const NAMES_KEPT_MAX: usize = 2_000_000;
/// File systems of this machine, by the number that the system gives them: ext, XFS, Btrfs, tmpfs, F2FS,
/// overlay, bcachefs, ZFS.
pub(super) const KNOWN_SYSTEMS: [u64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0xf2f5_2010,
    0x794c_7630,
    0xca45_1a4e,
    0x2fc1_2fc1,
];

/// What the name of an entry tells by itself, with the path of its folder.
pub(super) mod fact {
    /// A table of keys names it, or it is none of the tools' business.
    pub(in crate::workspace) const HIDDEN: u8 = 1;
    /// It may hold secrets.
    pub(in crate::workspace) const SECRET: u8 = 2;
    /// Only a person writes it.
    pub(in crate::workspace) const PROTECTED: u8 = 4;
    /// It later runs or instructs.
    pub(in crate::workspace) const INSTRUCTS: u8 = 8;
    /// It makes a repository of its folder, or is one.
    pub(in crate::workspace) const GIT: u8 = 16;
    /// It is a list of Weir's or of git's.
    pub(in crate::workspace) const LIST: u8 = 32;
    /// It is a link in the place of a folder in which something later runs or instructs.
    pub(in crate::workspace) const LEADS: u8 = 64;
}

/// What lists and rules say of an entry.
pub(super) mod said {
    /// `.weirignore` names it.
    pub(in crate::workspace) const IGNORED: u8 = 1;
    /// `.weirprotected` names it.
    pub(in crate::workspace) const GUARDED: u8 = 2;
    /// `.gitignore` names it.
    pub(in crate::workspace) const SKIPPED: u8 = 4;
    /// A rule closes it.
    pub(in crate::workspace) const CLOSED: u8 = 8;
}

/// One name.
#[derive(Debug)]
pub(super) struct FolderChild {
    pub(super) name: OsString,
    pub(super) is_folder: bool,
    pub(super) facts: u8,
    /// Where it is, of a folder.
    spot: Option<Arc<PathSpot>>,
}

/// The content of a folder, by name.
#[derive(Debug)]
pub(super) struct TreeListing {
    stamp: SurveyedFileStamp,
    /// The stamp would tell a change.
    settled: bool,
    pub(super) children: Vec<FolderChild>,
    /// What was last said to a walk, to a command, and to a look for what may be read.
    judged: [Mutex<Option<JudgedEntries>>; 3],
}

/// A list, and where paths below its folder begin.
type PlacedList = (usize, Arc<PathList>);
type ActiveLists = Vec<PlacedList>;

/// What is asked about the entries of a folder: the same answers as long as all of it is the same.
#[derive(Debug, Clone)]
pub(super) struct EntryQuestion {
    pub(super) asker: QuestionAsker,
    pub(super) hiding: ActiveLists,
    pub(super) protecting: ActiveLists,
    pub(super) skipping: ActiveLists,
    pub(super) rules: Option<Arc<RuleSet>>,
}

/// The part of the program that asks: for each an answer is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionAsker {
    Walk,
    Command,
    Reader,
}

#[derive(Debug)]
struct JudgedEntries {
    question: EntryQuestion,
    answers: Arc<[u8]>,
}

impl EntryQuestion {
    /// What is asked where no list and no rule holds yet.
    pub(super) fn of_asker(asker: QuestionAsker) -> EntryQuestion {
        let (hiding, protecting, skipping) = (Vec::new(), Vec::new(), Vec::new());
        EntryQuestion { asker, hiding, protecting, skipping, rules: None }
    }

    /// Takes those lists of a folder itself that hold for who asks.
    pub(super) fn enter_folder(
        &mut self,
        guard: &WorkspacePathGuard,
        folder: &PathSpot,
        listing: &TreeListing,
    ) {
        let begin = if folder.rel.is_empty() { 0 } else { folder.rel.len() + 1 };
        let EntryQuestion { asker, hiding, protecting, skipping, .. } = self;
        let other = match asker {
            QuestionAsker::Walk | QuestionAsker::Reader => (GIT_LIST, skipping),
            QuestionAsker::Command => (PROTECT_LIST, protecting),
        };
        for (name, lists) in [(IGNORE_LIST, hiding), other] {
            let holds = name != GIT_LIST || !is_for_git_alone(&folder.rel);
            if holds && listing.has_list(name) {
                let list = guard.lists.load(&folder.real, name);
                lists.extend(list.map(|list| (begin, list)));
            }
        }
    }
    fn is_empty(&self) -> bool {
        self.hiding.is_empty()
            && self.protecting.is_empty()
            && self.skipping.is_empty()
            && self.rules.is_none()
    }
    fn is_same(&self, other: &EntryQuestion) -> bool {
        let lists = |a: &ActiveLists, b: &ActiveLists| {
            let same = |((at, a), (other, b)): (&PlacedList, &PlacedList)| {
                at == other && Arc::ptr_eq(a, b)
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        };
        let rules = match (&self.rules, &other.rules) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (Some(_), None) | (None, Some(_)) => false,
        };
        rules
            && lists(&self.hiding, &other.hiding)
            && lists(&self.protecting, &other.protecting)
            && lists(&self.skipping, &other.skipping)
    }
}

impl TreeListing {
    /// Where a child is.
    pub(super) fn child_spot(
        &self,
        guard: &WorkspacePathGuard,
        folder: &PathSpot,
        child: &FolderChild,
    ) -> Arc<PathSpot> {
        child.spot.clone().unwrap_or_else(|| Arc::new(guard.spot_inside(folder, &child.name)))
    }

    /// Whether a list of this name may lie here.
    pub(super) fn has_list(&self, name: &str) -> bool {
        let mut lists = self.children.iter().filter(|child| child.facts & fact::LIST != 0);
        lists.any(|child| child.name.eq_ignore_ascii_case(name))
    }

    /// What lists and rules say, entry by entry. `None`: nothing of any.
    pub(super) fn entry_answers(
        &self,
        guard: &WorkspacePathGuard,
        folder: &PathSpot,
        question: &EntryQuestion,
        closed: &dyn Fn(&RuleSet, &str) -> bool,
    ) -> Option<Arc<[u8]>> {
        if question.is_empty() {
            return None;
        }
        let mut kept =
            self.judged[question.asker as usize].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judged) = kept.as_ref().filter(|judged| judged.question.is_same(question)) {
            return Some(judged.answers.clone());
        }
        let of = |child: &FolderChild| {
            let spot = self.child_spot(guard, folder, child);
            let says = |lists: &ActiveLists, bit: u8| {
                let said = said_of(lists, &spot.rel, child.is_folder).is_some();
                if said { bit } else { 0 }
            };
            let rules = question.rules.as_ref();
            let by_rule = rules.is_some_and(|rules| closed(rules, &guard.shown_path(&spot)));
            says(&question.hiding, said::IGNORED)
                | says(&question.protecting, said::GUARDED)
                | says(&question.skipping, said::SKIPPED)
                | if by_rule { said::CLOSED } else { 0 }
        };
        let answers: Arc<[u8]> = self.children.iter().map(of).collect();
        *kept = Some(JudgedEntries { question: question.clone(), answers: answers.clone() });
        Some(answers)
    }
}

/// The folders that were listed.
#[derive(Debug, Default)]
pub(super) struct FolderTree {
    kept: Mutex<TreeState>,
}

#[derive(Debug, Default)]
struct TreeState {
    folders: HashMap<PathBuf, Arc<TreeListing>>,
    names: usize,
    /// Whether a device tells when a folder changes.
    devices: HashMap<u64, bool>,
}

impl FolderTree {
    /// How many names are kept.
    pub(super) fn name_count(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).names
    }

    /// The content of a folder of the workspace; `None`: it is none, or cannot be read.
    pub(super) fn list(
        &self,
        guard: &WorkspacePathGuard,
        folder: &PathSpot,
    ) -> Option<Arc<TreeListing>> {
        let stat = rustix::fs::lstat(&folder.real).ok()?;
        if beneath::kind_of(&stat) != FileType::Directory {
            return None;
        }
        if let Some(listing) = self.cached_listing(folder, SurveyedFileStamp::from_stat(&stat)) {
            return Some(listing);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle: OwnedFd = rustix::fs::open(&folder.real, flags, Mode::empty()).ok()?;
        self.read_folder(guard, folder, handle.as_fd()).ok()
    }

    /// The same of a folder that is open.
    pub(super) fn list_open(
        &self,
        guard: &WorkspacePathGuard,
        folder: &PathSpot,
        handle: BorrowedFd<'_>,
    ) -> Result<Arc<TreeListing>, Errno> {
        let stat = rustix::fs::fstat(handle)?;
        match self.cached_listing(folder, SurveyedFileStamp::from_stat(&stat)) {
            Some(listing) => Ok(listing),
            None => self.read_folder(guard, folder, handle),
        }
    }

    fn cached_listing(
        &self,
        folder: &PathSpot,
        stamp: SurveyedFileStamp,
    ) -> Option<Arc<TreeListing>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let listing = kept.folders.get(&folder.real)?;
        (listing.settled && listing.stamp == stamp).then(|| listing.clone())
    }

    fn read_folder(
        &self,
        guard: &WorkspacePathGuard,
        folder: &PathSpot,
        handle: BorrowedFd<'_>,
    ) -> Result<Arc<TreeListing>, Errno> {
        let now = file_time();
        let stamp = SurveyedFileStamp::from_stat(&rustix::fs::fstat(handle)?);
        let names = beneath::all_names(handle)?;
        let after = SurveyedFileStamp::from_stat(&rustix::fs::fstat(handle)?);
        let children: Vec<FolderChild> = names
            .into_iter()
            .map(|(name, kind)| folder_child(guard, folder, handle, name, kind))
            .collect();
        let settled =
            stamp == after && !stamp.is_racy(now) && self.has_reliable_times(handle, stamp.device);
        let judged = [Mutex::default(), Mutex::default(), Mutex::default()];
        let listing = Arc::new(TreeListing { stamp, settled, children, judged });
        if settled && folder.root.is_some() {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.names += listing.children.len() + 1;
            if kept.names > NAMES_KEPT_MAX {
                kept.folders.clear();
                kept.names = listing.children.len() + 1;
            }
            let old = kept.folders.insert(folder.real.clone(), listing.clone());
            kept.names -= old.map_or(0, |old| old.children.len() + 1);
        }
        Ok(listing)
    }

    fn has_reliable_times(&self, handle: BorrowedFd<'_>, device: u64) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        *kept.devices.entry(device).or_insert_with(|| {
            rustix::fs::fstatfs(handle).is_ok_and(|system| {
                u64::try_from(system.f_type).is_ok_and(|kind| KNOWN_SYSTEMS.contains(&kind))
            })
        })
    }
}

fn folder_child(
    guard: &WorkspacePathGuard,
    folder: &PathSpot,
    handle: BorrowedFd<'_>,
    name: OsString,
    kind: FileType,
) -> FolderChild {
    let kind = beneath::kind_of_entry(handle, &name, kind);
    let is_folder = kind == FileType::Directory;
    let seen = if is_folder { PathKind::Folder } else { PathKind::File };
    let spot = guard.spot_inside(folder, &name);
    let lower = name.to_string_lossy().to_lowercase();
    let is_list = [IGNORE_LIST, PROTECT_LIST, GIT_LIST].contains(&lower.as_str());
    let is_git = lower == ".git" || name.to_str().and_then(repository_piece).is_some();
    let facts = [
        (guard.hides_entry(&spot, seen), fact::HIDDEN),
        (guard.may_hold_secrets(&spot, seen), fact::SECRET),
        (guard.protects_entry(&spot), fact::PROTECTED),
        (may_instruct(&lower) && is_instructing(&lower, &guard.shown_path(&spot)), fact::INSTRUCTS),
        (
            kind == FileType::Symlink && leads_to_instructing(&lower, &guard.shown_path(&spot)),
            fact::LEADS,
        ),
        (is_git, fact::GIT),
        (is_list, fact::LIST),
    ];
    let facts = facts.iter().filter(|(is_so, _)| *is_so).map(|(_, bit)| bit).sum();
    FolderChild { name, is_folder, facts, spot: is_folder.then(|| Arc::new(spot)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Workspace, WorkspaceOptions};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    fn names(workspace: &Workspace, root: &Path) -> Vec<String> {
        let spot = workspace.guard.spot_of(root.to_path_buf());
        let listing = workspace.guard.tree.list(&workspace.guard, &spot).expect("a folder");
        let text = |child: &FolderChild| child.name.to_string_lossy().into_owned();
        listing.children.iter().map(text).collect()
    }

    #[test]
    fn d4_a_folder_that_was_set_back_in_time_is_listed_anew() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("it is there");
        std::fs::write(root.join("a"), "x").expect("a file");
        let options = WorkspaceOptions {
            root: root.clone(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(names(&workspace, &root), ["a"]);
        let folder = std::fs::File::open(&root).expect("a folder");
        let before = folder.metadata().expect("it is there").modified().expect("a time");
        std::fs::write(root.join(".env"), "x").expect("a file");
        folder.set_modified(before).expect("a command can do that");
        assert_eq!(names(&workspace, &root), [".env", "a"]);
        // One name in the place of another, and a folder in the place of a folder.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(names(&workspace, &root), [".env", "a"]);
        std::fs::rename(root.join("a"), root.join("b")).expect("it moves");
        folder.set_modified(SystemTime::UNIX_EPOCH).expect("a command can do that");
        assert_eq!(names(&workspace, &root), [".env", "b"]);
        for (at, name) in [("x", "one"), ("y", "two")] {
            std::fs::create_dir_all(root.join(at)).expect("a folder");
            std::fs::write(root.join(at).join(name), "x").expect("a file");
        }
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(names(&workspace, &root.join("x")), ["one"]);
        std::fs::rename(root.join("x"), root.join("z")).expect("it moves");
        std::fs::rename(root.join("y"), root.join("x")).expect("it moves");
        assert_eq!(names(&workspace, &root.join("x")), ["two"]);
    }

    #[test]
    fn d4_names_that_come_within_one_tick_are_all_seen() {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("it is there");
        let options = WorkspaceOptions {
            root: root.clone(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        for number in 0..200 {
            std::fs::write(root.join(format!("{number:03}")), "x").expect("a file");
            assert_eq!(names(&workspace, &root).len(), number + 1);
        }
    }
}
