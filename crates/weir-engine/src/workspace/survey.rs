//! Looks at every entry of the workspace the way a comparison needs it: with all that tells whether
//! it changed, and a way to read it without finding it again (G7). Not here: what is compared.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use weir_core::tool::PathEffect;

use super::guard::{PathKind, PathSpot};
use super::lists::GIT_LIST;
pub(crate) use super::look::SurveySize;
use super::look::{DifferingEntry, SurveyResult, survey_root};
use super::parallel::{spread_work, threads_for};
use super::walk::visit_compared;
use super::watch::FolderWatch;
use super::{LocatedPath, WalkOptions, Workspace, beneath, resolve};

/// Longest time that a file system lets pass before its clock moves on; one that has whole seconds
/// only is told by them.
const TICK_NS: i64 = 20_000_000;
/// The folder of Weir's own configuration.
pub(super) const WEIRS: &str = ".weir";
/// Entries of one ignored folder that are looked at.
const WRITTEN_ENTRIES_MAX: usize = 200_000;
const SECOND_NS: i64 = 1_000_000_000;

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SurveyedFileStamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    pub(crate) mode: u32,
    /// Last change of the content, and of anything; in nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

impl SurveyedFileStamp {
    pub(super) fn from_stat(stat: &Stat) -> SurveyedFileStamp {
        let ns = |seconds: i64, part: u64| {
            seconds.saturating_mul(SECOND_NS).saturating_add(i64::try_from(part).unwrap_or(0))
        };
        SurveyedFileStamp {
            device: stat.st_dev,
            inode: stat.st_ino,
            bytes: beneath::size_of(stat),
            mode: beneath::mode_of(stat),
            modified: ns(stat.st_mtime, stat.st_mtime_nsec),
            changed: ns(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether the file may have changed once more without the stamp showing it, as of a look at
    /// it at `now`: the clock of its file system had not moved on.
    pub(crate) fn is_racy(&self, now: i64) -> bool {
        let last = self.modified.max(self.changed);
        let tick = if last % SECOND_NS == 0 { 2 * SECOND_NS } else { TICK_NS };
        last.saturating_add(tick) >= now
    }
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SurveyedKind {
    Folder,
    File(SurveyedFileStamp),
    /// Where the link leads, as it stands in the link.
    Link(String),
    /// A device, socket or pipe; or a link or name that is not UTF-8.
    Odd,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClosedReason {
    /// Larger than what is kept of one file.
    TooLarge,
    /// There are too many files, or too much in them.
    TooMany,
    /// It may hold secrets, or a rule closes it.
    Secret,
    /// The system refused, or it went away.
    Unreadable,
}

/// Whether an entry is as it was known, by its path.
pub(crate) type KnownCheck<'a> = &'a (dyn Fn(&str, &SurveyedKind) -> bool + Sync);

/// An entry that is not as it was known.
pub(crate) struct MetEntry<'a> {
    pub(crate) path: String,
    pub(crate) kind: SurveyedKind,
    workspace: &'a Workspace,
    spot: &'a PathSpot,
    /// `None`: the folder went away.
    folder: Option<BorrowedFd<'a>>,
}

impl MetEntry<'_> {
    /// Where it lies on the disk, whatever its name is made of.
    pub(crate) fn real_path(&self) -> &Path {
        &self.spot.real
    }

    /// The file, opened, as it is now.
    pub(crate) fn open_file(&self) -> Result<(std::fs::File, SurveyedFileStamp), ClosedReason> {
        let guard = &self.workspace.guard;
        if guard.built_in(self.spot, PathKind::File).sensitive.is_some()
            || self.workspace.closed_by_rule(&self.path).is_some()
        {
            return Err(ClosedReason::Secret);
        }
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = self.folder.ok_or(ClosedReason::Unreadable)?;
        let name = self.spot.real.file_name().ok_or(ClosedReason::Unreadable)?;
        let opened = rustix::fs::openat(folder, name, flags, Mode::empty());
        let file = opened.map_err(|_| ClosedReason::Unreadable)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| ClosedReason::Unreadable)?;
        if beneath::kind_of(&stat) != FileType::RegularFile {
            return Err(ClosedReason::Unreadable);
        }
        if guard.is_closed_twin(&stat) {
            return Err(ClosedReason::Secret);
        }
        Ok((file.into(), SurveyedFileStamp::from_stat(&stat)))
    }
}

/// The stamp of an open file.
pub(crate) fn stamp_of(file: &std::fs::File) -> Option<SurveyedFileStamp> {
    rustix::fs::fstat(file).ok().map(|stat| SurveyedFileStamp::from_stat(&stat))
}

/// Now, by the clock that file systems take: the session's own may be another one.
pub(crate) fn file_time() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn walk_options(recursive: bool, max_entries: usize) -> WalkOptions {
    WalkOptions { recursive, respect_gitignore: true, hidden: true, max_entries }
}

impl Workspace {
    /// Looks at every entry that a command may change and that is not left out: what lists make
    /// invisible, the internals of git, `.weir`, and what `.gitignore` names. From then on `watch`, which
    /// was told that it begins, knows where something happens.
    pub(crate) fn survey_entries(
        &self,
        size: SurveySize,
        known: KnownCheck<'_>,
        watch: &FolderWatch,
    ) -> Result<SurveyResult, super::FileError> {
        let mut looked = SurveyResult::default();
        for (index, root) in self.guard.roots.iter().enumerate() {
            let earlier = &self.guard.roots[..index];
            if earlier.iter().any(|other| root.real.starts_with(&other.real)) {
                continue;
            }
            let left = size.entries_max - looked.entries.min(size.entries_max);
            let size = SurveySize { entries_max: left, ..size };
            let spot = PathSpot { root: Some(index), rel: String::new(), real: root.real.clone() };
            let part = survey_root(self, Arc::new(spot.clone()), size, known, watch);
            looked.join(match part {
                Some(part) => part,
                None => {
                    watch.is_not_whole();
                    self.survey_in_order(spot, walk_options(true, left), known)?
                }
            });
        }
        if looked.unseen.truncated {
            watch.is_not_whole();
        }
        Ok(looked)
    }

    /// The same of what lies in one folder, and not below it. `None`: it cannot be looked at.
    pub(crate) fn survey_in(&self, folder: &Path, known: KnownCheck<'_>) -> Option<SurveyResult> {
        let looked = self
            .survey_in_order(
                self.guard.spot_of(folder.to_path_buf()),
                walk_options(false, usize::MAX),
                known,
            )
            .ok()?;
        (!looked.unseen.truncated).then_some(looked)
    }

    /// The same of single entries, by their paths: those that are there and that neither a list of
    /// Weir's nor a table of keys closes. For what left the view: one that cannot be looked at any more
    /// counts as it was known.
    pub(crate) fn survey_named(&self, paths: &[String], known: KnownCheck<'_>) -> SurveyResult {
        let mut looked = SurveyResult::default();
        let mut last: Option<(Option<usize>, PathBuf, Result<OwnedFd, Errno>)> = None;
        for path in paths {
            let Ok(located) = self.locate(path) else { continue };
            let (root, rel) = (located.spot.root, located.rel);
            let above = rel.parent().unwrap_or(Path::new(""));
            let Some(name) = rel.file_name() else { continue };
            if last.as_ref().is_none_or(|(of, folder, _)| *of != root || folder != above) {
                let handle = beneath::open_folder(self.anchor_of(root), above);
                last = Some((root, above.to_path_buf(), handle));
            }
            let Some((_, _, opened)) = &last else { continue };
            let found = opened.as_ref().map_err(|error| *error).and_then(|handle| {
                let stat = rustix::fs::statat(handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
                Ok((handle, stat))
            });
            let (handle, stat) = match found {
                Ok(found) => found,
                Err(error) if super::is_absence_by_name(error) => continue,
                Err(_) => {
                    looked.known.push(path.clone());
                    continue;
                }
            };
            let is_folder = beneath::kind_of(&stat) == FileType::Directory;
            let seen = if is_folder { PathKind::Folder } else { PathKind::File };
            if self.guard.judge(&located.spot, seen).ignored.is_some() {
                continue;
            }
            let kind = kind_of_stat(&stat, handle.as_fd(), name);
            if known(path, &kind) {
                looked.known.push(path.clone());
            } else {
                let spot = Arc::new(located.spot);
                looked.differing.push(DifferingEntry { spot, shown: path.clone(), kind });
            }
        }
        looked
    }

    /// The same from one folder on, as a walk: as many entries are met as it says, and what cannot be
    /// looked at is said.
    fn survey_in_order(
        &self,
        start: PathSpot,
        options: WalkOptions,
        known: KnownCheck<'_>,
    ) -> Result<SurveyResult, super::FileError> {
        let shown = self.guard.shown_path(&start);
        let root = start.root.map(|index| &self.guard.roots[index].real);
        let rel = root.and_then(|root| start.real.strip_prefix(root).ok());
        let rel = rel.map(Path::to_path_buf).unwrap_or_default();
        let start = LocatedPath { spot: start, rel, shown };
        let mut looked = SurveyResult::default();
        let unseen = visit_compared(self, &start, options, &mut |found| {
            looked.entries += 1;
            if is_weirs(&found.spot.rel) {
                return;
            }
            let shown = self.guard.shown_path(found.spot);
            let kind = kind_of_stat(found.stat, found.folder, found.name);
            if known(&shown, &kind) {
                return looked.known.push(shown);
            }
            looked.differing.push(DifferingEntry {
                spot: Arc::new(found.spot.clone()),
                shown,
                kind,
            });
        })?;
        looked.unseen.join(unseen);
        Ok(looked)
    }

    /// What the paths of everything below a folder begin with, as they are shown.
    pub(crate) fn prefix_of(&self, folder: &Path) -> String {
        match self.shown_at(folder) {
            top if top == "." => String::new(),
            shown => format!("{shown}/"),
        }
    }

    /// Meets what is not as it was known, in the order of a walk.
    pub(crate) fn meet_differing(
        &self,
        looked: &mut SurveyResult,
        each: &mut dyn FnMut(MetEntry<'_>),
    ) {
        let mut last: Option<(PathBuf, Option<OwnedFd>)> = None;
        for differing in std::mem::take(&mut looked.differing) {
            let DifferingEntry { spot, shown, kind } = differing;
            let folder = spot.real.parent().unwrap_or(Path::new("/"));
            if last.as_ref().is_none_or(|(real, _)| real != folder) {
                let root = spot.root.and_then(|index| self.guard.roots.get(index));
                let handle = root.and_then(|root| {
                    let below = folder.strip_prefix(&root.real).ok()?;
                    beneath::open_folder(self.anchor_of(spot.root), below).ok()
                });
                last = Some((folder.to_path_buf(), handle));
            }
            let folder = last.as_ref().and_then(|(_, handle)| handle.as_ref());
            let folder = folder.map(|handle| handle.as_fd());
            each(MetEntry { path: shown, kind, workspace: self, spot: &spot, folder });
        }
    }

    /// Those of these paths at or below which something was written at `from` or later, as far as their
    /// file systems tell. One with more below it than can be looked at counts as written.
    pub(crate) fn written_since<'a>(&self, paths: &[&'a PathBuf], from: i64) -> Vec<&'a PathBuf> {
        let written: Vec<AtomicBool> = paths.iter().map(|_| AtomicBool::default()).collect();
        let left: Vec<AtomicUsize> =
            paths.iter().map(|_| AtomicUsize::new(WRITTEN_ENTRIES_MAX)).collect();
        // A folder changes with the names in it, so what was moved there counts.
        let is_new = |stat: &Stat| {
            SurveyedFileStamp::from_stat(stat).changed.saturating_add(TICK_NS) >= from
        };
        let meets = |of: usize, stat: &Stat| {
            let spent =
                left[of].fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            let met = is_new(stat) || spent.is_err();
            written[of].fetch_or(met, Ordering::Relaxed);
        };
        let mut folders = Vec::new();
        for (of, path) in paths.iter().enumerate() {
            let Ok(stat) = rustix::fs::lstat(path.as_path()) else { continue };
            meets(of, &stat);
            if beneath::kind_of(&stat) == FileType::Directory {
                folders.push((of, Arc::new(self.guard.spot_of((*path).clone()))));
            }
        }
        let is_settled = |of: usize| written[of].load(Ordering::Relaxed);
        spread_work(
            // A few files alone need no thread.
            threads_for(if folders.is_empty() { 0 } else { usize::MAX }),
            folders,
            |(of, folder): (usize, Arc<PathSpot>), (): &mut ()| {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut inner = Vec::new();
                let handle = match rustix::fs::open(&folder.real, flags, Mode::empty()) {
                    Ok(handle) => handle,
                    Err(error) => {
                        // Nobody can tell what was written so deep.
                        let is_too_deep = error == Errno::NAMETOOLONG;
                        written[of].fetch_or(is_too_deep, Ordering::Relaxed);
                        return inner;
                    }
                };
                let listing = self.guard.tree.list_open(&self.guard, &folder, handle.as_fd());
                let Ok(listing) = listing else { return inner };
                for child in &listing.children {
                    if is_settled(of) {
                        return Vec::new();
                    }
                    let stat = rustix::fs::statat(&handle, &child.name, AtFlags::SYMLINK_NOFOLLOW);
                    let Ok(stat) = stat else { continue };
                    meets(of, &stat);
                    if beneath::kind_of(&stat) == FileType::Directory {
                        inner.push((of, listing.child_spot(&self.guard, &folder, child)));
                    }
                }
                inner
            },
        );
        paths.iter().enumerate().filter(|(of, _)| is_settled(*of)).map(|(_, path)| *path).collect()
    }

    /// What lies at the top of each root, but for the histories of git and what is Weir's own.
    pub(crate) fn top_entries(&self) -> Vec<PathBuf> {
        let mut entries = Vec::new();
        for root in &self.guard.roots {
            // What cannot be read shows nothing of what it holds either.
            let Ok(handle) = beneath::open_to_read(&root.real) else { continue };
            let _ = beneath::for_each_name(handle.as_fd(), |name, _| {
                if ![".git", WEIRS].iter().any(|own| name.eq_ignore_ascii_case(own)) {
                    entries.push(root.real.join(name));
                }
            });
        }
        entries
    }

    /// Whether anything is at a path that a survey met.
    pub(crate) fn is_there(&self, path: &str) -> bool {
        let Ok(located) = self.locate(path) else { return true };
        match beneath::probe_path(self.anchor_fd(&located), &located.rel) {
            Ok(_) => true,
            // What cannot be looked at is not known to be gone. What lay in a folder that is a link
            // now is: behind the link is something else.
            Err(error) => !super::is_absence_by_name(error),
        }
    }

    /// Whether a path is a list of what git ignores.
    pub(crate) fn is_git_list(path: &str) -> bool {
        Path::new(path).file_name().is_some_and(|name| name.eq_ignore_ascii_case(GIT_LIST))
    }

    /// Why nothing but a person may write `path`.
    pub(crate) fn protection_reason(&self, path: &str) -> Option<String> {
        let located = self.locate(path).ok()?;
        self.guard.judge(&located.spot, resolve::kind_of_path(&located.spot.real)).protected
    }

    /// Whether the folder `at` holds anything, visible or not, but `leaving`.
    pub(crate) fn holds_other(&self, at: &PathEffect, leaving: &BTreeSet<&str>) -> bool {
        let names = self.open_way(at).ok().and_then(|located| {
            let folder = beneath::open_folder(self.anchor_fd(&located), &located.rel).ok()?;
            Some((located, beneath::folder_names(folder.as_fd()).ok()?))
        });
        let Some((located, (names, more))) = names else { return false };
        more || names.iter().any(|(name, _)| {
            let spot = self.guard.spot_of(located.spot.real.join(name));
            !leaving.contains(self.guard.shown_path(&spot).as_str())
        })
    }
}

/// What an entry of a folder is.
pub(super) fn kind_of_stat(stat: &Stat, folder: BorrowedFd<'_>, name: &OsStr) -> SurveyedKind {
    match beneath::kind_of(stat) {
        _ if name.to_str().is_none() => SurveyedKind::Odd,
        FileType::Directory => SurveyedKind::Folder,
        FileType::RegularFile => SurveyedKind::File(SurveyedFileStamp::from_stat(stat)),
        FileType::Symlink => rustix::fs::readlinkat(folder, name, Vec::new())
            .ok()
            .and_then(|target| target.into_string().ok())
            .map_or(SurveyedKind::Odd, SurveyedKind::Link),
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => SurveyedKind::Odd,
    }
}

/// Whether it is `.weir` or below one: Weir's own, and changed by a person only.
pub(super) fn is_weirs(rel: &str) -> bool {
    rel.split('/').any(|part| part.eq_ignore_ascii_case(WEIRS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_a_file_that_changed_within_a_tick_is_not_trusted() {
        let stamp = |modified: i64| SurveyedFileStamp {
            device: 1,
            inode: 2,
            bytes: 3,
            mode: 0o644,
            modified,
            changed: modified,
        };
        let second = 1_700_000_000 * SECOND_NS;
        assert!(stamp(second + 5).is_racy(second + 5));
        assert!(stamp(second + 5).is_racy(second + 4), "a clock that lags");
        assert!(!stamp(second + 5).is_racy(second + 5 + 2 * TICK_NS));
        assert!(stamp(second).is_racy(second + SECOND_NS), "whole seconds only");
        assert!(!stamp(second).is_racy(second + 3 * SECOND_NS));
    }

    #[test]
    fn g7_the_configuration_of_weir_is_never_surveyed() {
        for (rel, expected) in
            [(".weir", true), (".weir/tmp/x", true), ("a/.Weir/c", true), ("a.weir/b", false)]
        {
            assert_eq!(is_weirs(rel), expected, "{rel}");
        }
    }
}
