//! Programs that the command built itself where Landlock lets it read nothing new: before one is
//! started, it is put into a file that was made, without a name, before the confinement began, and
//! that Landlock therefore knows. The kernel still decides whether it may run.
//!
//! Needed only where something hidden lies inside a writable folder. Not here: reading such files.

use std::collections::HashSet;
use std::fs::{File, FileTimes, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open, openat, renameat, unlinkat};

use super::Mediator;
use super::judge::EntryAccess;
use super::target::{FolderEntry, WaitingThread};
use crate::places::ConfinedPlaces;
use crate::tier::landlock::Inode;

/// New programs that one command may start.
const PROGRAMS_MAX: usize = 64;

/// The largest one.
const PROGRAM_BYTES_MAX: u64 = 1 << 30;

/// Files without names, where the places need them. A file system that has none gives none.
pub(in crate::supervise) fn nameless_files(places: &ConfinedPlaces) -> Vec<OwnedFd> {
    let needs = |root: &&std::path::PathBuf| {
        root.is_dir() && places.masked.iter().any(|path| path.starts_with(root))
    };
    let roots: Vec<_> = places.writable.iter().filter(needs).take(PROGRAMS_MAX).collect();
    let each = PROGRAMS_MAX.checked_div(roots.len()).unwrap_or(0);
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let make = |root: &Path| open(root, flags, Mode::RUSR | Mode::WUSR).ok();
    roots.into_iter().flat_map(|root| (0..each).map_while(move |_| make(root))).collect()
}

/// What is known of programs.
#[derive(Debug, Default)]
pub(super) struct ProgramFiles {
    pub(super) nameless: Vec<OwnedFd>,
    /// What Landlock lets be read, with all below.
    pub(super) readable: HashSet<Inode>,
}

/// A file that is to be started.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartCall {
    at: u64,
    path: u64,
}

impl StartCall {
    pub(super) fn from_call(number: i64, a: [u64; 6]) -> Option<StartCall> {
        match number {
            libc::SYS_execve => Some(StartCall { at: libc::AT_FDCWD as u64, path: a[0] }),
            // With any flag it is another one than its name says.
            libc::SYS_execveat if a[4] == 0 => Some(StartCall { at: a[0], path: a[1] }),
            _ => None,
        }
    }
}

impl Mediator {
    /// Makes it one that the kernel may read, where it is one of the command's own.
    pub(super) fn prepare_program(
        &mut self,
        id: u64,
        target: WaitingThread,
        call: StartCall,
    ) -> Option<()> {
        let text = target.read_text(call.path)?;
        let place = FolderEntry::follow(target.open_folder(call.at)?, &text)?;
        let own = !self.guard.is_open(&place.path)
            && self.guard.allows(&place.path, EntryAccess::Read)
            && self.guard.allows(&place.path, EntryAccess::Write);
        (own && !self.programs.is_readable(&place.path)).then_some(())?;
        self.confirm_waiting(id)?;
        self.programs.renew_program(&place).ok()
    }
}

impl ProgramFiles {
    fn is_readable(&self, path: &Path) -> bool {
        let known = |path: &Path| {
            let meta = path.symlink_metadata().ok()?;
            Some(self.readable.contains(&(meta.dev(), meta.ino())))
        };
        path.ancestors().any(|path| known(path) == Some(true))
    }

    /// The same content, mode and time in a file that may be read.
    fn renew_program(&mut self, place: &FolderEntry) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut old = File::from(openat(&place.parent, &place.name, flags, Mode::empty())?);
        let meta = old.metadata()?;
        let runs = meta.is_file() && meta.mode() & 0o111 != 0 && meta.len() <= PROGRAM_BYTES_MAX;
        let device = |file: &OwnedFd| rustix::fs::fstat(file).is_ok_and(|s| s.st_dev == meta.dev());
        let found = self.nameless.iter().position(device).filter(|_| runs);
        let Some(found) = found else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut new = File::from(self.nameless.swap_remove(found));
        io::copy(&mut old, &mut new)?;
        new.set_permissions(Permissions::from_mode(meta.mode() & 0o777))?;
        new.set_times(FileTimes::new().set_modified(meta.modified()?))?;
        let way = format!("/proc/self/fd/{}", new.as_raw_fd());
        // Numbers of processes come again, and one that was killed in between leaves its name.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let beside = format!(".weir-{}-{now}", std::process::id());
        linkat(CWD, way, &place.parent, &beside, AtFlags::SYMLINK_FOLLOW)?;
        let renamed = renameat(&place.parent, &beside, &place.parent, &place.name);
        if renamed.is_err() {
            let _ = unlinkat(&place.parent, &beside, AtFlags::empty());
        }
        // Closed before it is started: nothing runs that somebody could still write.
        drop(new);
        Ok(renamed?)
    }
}
