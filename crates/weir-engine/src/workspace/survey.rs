//! Looks at every entry of the workspace the way a comparison needs it: with all that tells whether
//! it changed, and a way to read it without finding it again (G7). Not here: what is compared.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use serde::{Deserialize, Serialize};
use weir_core::tool::PathEffect;

use super::guard::{Seen, Spot};
use super::walk::{Found, Unseen, visit};
use super::{Located, WalkOptions, Workspace, beneath, resolve};

/// Longest time that a file system lets pass before its clock moves on; one that has whole seconds
/// only is told by them.
const TICK_NS: i64 = 20_000_000;
/// Entries of one ignored folder that are looked at.
const WRITTEN_ENTRIES_MAX: usize = 200_000;
const SECOND_NS: i64 = 1_000_000_000;

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    pub(crate) mode: u32,
    /// Last change of the content, and of anything; in nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Stamp {
        let ns = |seconds: i64, part: u64| {
            seconds.saturating_mul(SECOND_NS).saturating_add(i64::try_from(part).unwrap_or(0))
        };
        Stamp {
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
pub(crate) enum Kind {
    Folder,
    File(Stamp),
    /// What it says.
    Link(String),
    /// A device, socket or pipe; or a link or name that is not UTF-8.
    Odd,
}

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Closed {
    /// Larger than what is kept of one file.
    TooLarge,
    /// There are too many files, or too much in them.
    TooMany,
    /// It may hold secrets, or a rule closes it.
    Secret,
    /// The system refused, or it went away.
    Unreadable,
}

/// An entry that a survey meets.
pub(crate) struct Met<'a> {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    workspace: &'a Workspace,
    spot: &'a Spot,
    folder: BorrowedFd<'a>,
    name: &'a std::ffi::OsStr,
}

impl Met<'_> {
    /// The file, opened, as it is now.
    pub(crate) fn open(&self) -> Result<(std::fs::File, Stamp), Closed> {
        let guard = &self.workspace.guard;
        if guard.built_in(self.spot, Seen::File).sensitive.is_some()
            || self.workspace.closed_by_rule(&self.path).is_some()
        {
            return Err(Closed::Secret);
        }
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(self.folder, self.name, flags, Mode::empty());
        let file = opened.map_err(|_| Closed::Unreadable)?;
        let stat = rustix::fs::fstat(&file).map_err(|_| Closed::Unreadable)?;
        if beneath::kind_of(&stat) != FileType::RegularFile {
            return Err(Closed::Unreadable);
        }
        if guard.is_closed_twin(&stat) {
            return Err(Closed::Secret);
        }
        Ok((file.into(), Stamp::of(&stat)))
    }
}

/// The stamp of an open file.
pub(crate) fn stamp_of(file: &std::fs::File) -> Option<Stamp> {
    rustix::fs::fstat(file).ok().map(|stat| Stamp::of(&stat))
}

/// Now, by the clock that file systems take: the session's own may be another one.
pub(crate) fn file_time() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl Workspace {
    /// Meets every entry that a command may change and that is not left out: what lists make
    /// invisible, the internals of git, `.weir`, and what `.gitignore` names.
    pub(crate) fn survey(
        &self,
        entries_max: usize,
        each: &mut dyn FnMut(Met<'_>),
    ) -> Result<Unseen, super::FileError> {
        let mut left = entries_max;
        let mut unseen = Unseen::default();
        for (index, root) in self.guard.roots.iter().enumerate() {
            let earlier = &self.guard.roots[..index];
            if earlier.iter().any(|other| root.real.starts_with(&other.real)) {
                continue;
            }
            let spot = Spot { root: Some(index), rel: String::new(), real: root.real.clone() };
            let shown = self.guard.shown(&spot);
            let start = Located { spot, rel: PathBuf::new(), shown };
            let options = WalkOptions {
                recursive: true,
                respect_gitignore: true,
                hidden: true,
                max_entries: left,
            };
            let found = visit(self, &start, options, &mut |found| {
                left = left.saturating_sub(1);
                if !is_weirs(&found.spot.rel) {
                    each(self.met(found));
                }
            })?;
            unseen.truncated |= found.truncated;
            unseen.gitignored |= found.gitignored;
            unseen.skipped.extend(found.skipped);
        }
        Ok(unseen)
    }

    fn met<'a>(&'a self, found: &'a Found<'_>) -> Met<'a> {
        let Found { spot, stat, folder, name } = *found;
        let kind = match beneath::kind_of(stat) {
            _ if name.to_str().is_none() => Kind::Odd,
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File(Stamp::of(stat)),
            FileType::Symlink => rustix::fs::readlinkat(folder, name, Vec::new())
                .ok()
                .and_then(|target| target.into_string().ok())
                .map_or(Kind::Odd, Kind::Link),
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Odd,
        };
        Met { path: self.guard.shown(spot), kind, workspace: self, spot, folder, name }
    }

    /// Whether something at `path` or below was written at `from` or later, as far as its file system
    /// tells. More than can be looked at counts as written.
    pub(crate) fn is_written_since(&self, path: &Path, from: i64) -> bool {
        let mut open = vec![path.to_path_buf()];
        let mut left = WRITTEN_ENTRIES_MAX;
        while let Some(path) = open.pop() {
            let Ok(stat) = rustix::fs::lstat(&path) else { continue };
            // A folder changes with the names in it, so what was moved there counts.
            if Stamp::of(&stat).changed.saturating_add(TICK_NS) >= from || left == 0 {
                return true;
            }
            left -= 1;
            if beneath::kind_of(&stat) == FileType::Directory {
                let listed = std::fs::read_dir(&path).into_iter().flatten().flatten();
                open.extend(listed.map(|entry| entry.path()));
            }
        }
        false
    }

    /// Whether anything is at a path that a survey met.
    pub(crate) fn is_there(&self, path: &str) -> bool {
        let Ok(located) = self.locate(path) else { return true };
        match beneath::probe(self.anchor(&located), &located.rel) {
            Ok(_) => true,
            // What cannot be looked at is not known to be gone.
            Err(error) => !super::is_absence(error),
        }
    }

    /// Why nothing but a person may write `path`.
    pub(crate) fn protection(&self, path: &str) -> Option<String> {
        let located = self.locate(path).ok()?;
        self.guard.judge(&located.spot, resolve::look(&located.spot.real)).protected
    }

    /// Whether the folder `at` holds anything, visible or not, but `leaving`.
    pub(crate) fn holds_other(&self, at: &PathEffect, leaving: &BTreeSet<&str>) -> bool {
        let names = self.open_way(at).ok().and_then(|located| {
            let folder = beneath::open_folder(self.anchor(&located), &located.rel).ok()?;
            Some((located, beneath::names(folder.as_fd()).ok()?))
        });
        let Some((located, (names, more))) = names else { return false };
        more || names.iter().any(|(name, _)| {
            let spot = self.guard.spot(located.spot.real.join(name));
            !leaving.contains(self.guard.shown(&spot).as_str())
        })
    }
}

/// Whether it is `.weir` or below one: Weir's own, and changed by a person only.
fn is_weirs(rel: &str) -> bool {
    rel.split('/').any(|part| part.eq_ignore_ascii_case(".weir"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_a_file_that_changed_within_a_tick_is_not_trusted() {
        let stamp = |modified: i64| Stamp {
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
