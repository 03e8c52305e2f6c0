//! Mediated calls that open, make, move and remove entries: looked up once, judged by where they are,
//! done with the handle that was judged. Not here: the judgement itself, and sockets.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fcntl_setfl, fstat, linkat, mkdirat, mknodat,
    openat, renameat_with, symlinkat, unlinkat,
};
use rustix::io::Errno;
use weir_seccomp_notify::CloseOnExec;

use super::judge::EntryAccess;
use super::target::{FolderEntry, WaitingThread};
use super::{MediationOutcome, Mediator};

/// One call of this kind, with its arguments in the order of its newest form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileCall {
    Open { at: u64, path: u64, flags: u64, mode: u64 },
    MakeFolder { at: u64, path: u64, mode: u64 },
    MakeNode { at: u64, path: u64, mode: u64 },
    Remove { at: u64, path: u64, flags: u64 },
    Rename { at: u64, path: u64, to: EntryName, flags: u64 },
    Link { at: u64, path: u64, to: EntryName, flags: u64 },
    Symlink { text: u64, at: u64, path: u64 },
    Truncate { path: u64, length: u64 },
}

/// The arguments that name an entry: a folder, and where the text of its path lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryName {
    at: u64,
    path: u64,
}

/// A renaming that was asked for.
#[derive(Clone, Copy)]
struct Renaming {
    from: EntryName,
    to: EntryName,
    flags: RenameFlags,
}

/// A file that is to be opened.
#[derive(Clone, Copy)]
struct FileOpening<'a> {
    at: u64,
    text: &'a OsStr,
    flags: OFlags,
    mode: u64,
}

/// "The folder where the caller is", as an argument.
const HERE: u64 = libc::AT_FDCWD as u64;

/// Folders in which nothing can lie that only the mediator opens: reading there is left to the kernel
/// without a look.
const FAR: [&str; 6] = ["/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/bin/"];

impl FileCall {
    /// What a number and its arguments say.
    pub(super) fn from_call(number: i64, a: [u64; 6]) -> Option<FileCall> {
        use FileCall::*;
        const CREATE: u64 = (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64;
        const FOLDER: u64 = libc::AT_REMOVEDIR as u64;
        Some(match number {
            libc::SYS_openat => Open { at: a[0], path: a[1], flags: a[2], mode: a[3] },
            libc::SYS_mkdirat => MakeFolder { at: a[0], path: a[1], mode: a[2] },
            libc::SYS_mknodat => MakeNode { at: a[0], path: a[1], mode: a[2] },
            libc::SYS_unlinkat => Remove { at: a[0], path: a[1], flags: a[2] },
            libc::SYS_renameat => {
                Rename { at: a[0], path: a[1], to: EntryName { at: a[2], path: a[3] }, flags: 0 }
            }
            libc::SYS_renameat2 => {
                Rename { at: a[0], path: a[1], to: EntryName { at: a[2], path: a[3] }, flags: a[4] }
            }
            libc::SYS_linkat => {
                Link { at: a[0], path: a[1], to: EntryName { at: a[2], path: a[3] }, flags: a[4] }
            }
            libc::SYS_symlinkat => Symlink { text: a[0], at: a[1], path: a[2] },
            libc::SYS_truncate => Truncate { path: a[0], length: a[1] },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Open { at: HERE, path: a[0], flags: a[1], mode: a[2] },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => Open { at: HERE, path: a[0], flags: CREATE, mode: a[1] },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => MakeFolder { at: HERE, path: a[0], mode: a[1] },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod => MakeNode { at: HERE, path: a[0], mode: a[1] },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink => Remove { at: HERE, path: a[0], flags: 0 },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rmdir => Remove { at: HERE, path: a[0], flags: FOLDER },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => {
                Rename { at: HERE, path: a[0], to: EntryName { at: HERE, path: a[1] }, flags: 0 }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => {
                Link { at: HERE, path: a[0], to: EntryName { at: HERE, path: a[1] }, flags: 0 }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => Symlink { text: a[0], at: HERE, path: a[1] },
            _ => return None,
        })
    }
}

/// Modes are what a command may set: nothing that changes whose rights a program has.
fn mode_of(raw: u64) -> Mode {
    Mode::from_raw_mode((raw & 0o1777) as u32)
}

/// The lower half, which is all that the kernel takes of flags.
fn low_bits(raw: u64) -> u32 {
    (raw & 0xffff_ffff) as u32
}

impl Mediator {
    /// Does it, or leaves it to the kernel.
    pub(super) fn handle_file_call(
        &mut self,
        id: u64,
        target: WaitingThread,
        call: FileCall,
    ) -> Option<MediationOutcome> {
        match call {
            FileCall::Open { at, path, flags, mode } => {
                let text = target.read_text(path)?;
                let flags = OFlags::from_bits_retain(low_bits(flags));
                self.open_file(id, target, FileOpening { at, text: &text, flags, mode })
            }
            FileCall::MakeFolder { at, path, mode } => {
                let place = self.find_entry(target, at, path)?;
                self.judge_access(&place, EntryAccess::MakeFolder)?;
                self.adopt_umask(id, target)?;
                Some(mkdirat(&place.parent, &place.name, mode_of(mode)).into())
            }
            FileCall::MakeNode { at, path, mode } => {
                let place = self.find_plain_entry(target, at, path)?;
                self.judge_access(&place, EntryAccess::MakeNode)?;
                let kind = FileType::from_raw_mode(low_bits(mode));
                matches!(kind, FileType::Fifo | FileType::Socket).then_some(())?;
                self.adopt_umask(id, target)?;
                Some(mknodat(&place.parent, &place.name, kind, mode_of(mode), 0).into())
            }
            FileCall::Remove { at, path, flags } => {
                let flags = AtFlags::from_bits(low_bits(flags))?;
                let place = self.find_entry(target, at, path)?;
                (!place.slash || flags.contains(AtFlags::REMOVEDIR)).then_some(())?;
                self.judge_access(&place, EntryAccess::Remove)?;
                self.adopt_umask(id, target)?;
                Some(unlinkat(&place.parent, &place.name, flags).into())
            }
            FileCall::Rename { at, path, to, flags } => {
                let flags = RenameFlags::from_bits(low_bits(flags))?;
                self.rename(id, target, Renaming { from: EntryName { at, path }, to, flags })
            }
            FileCall::Link { at, path, to, flags } => {
                // With any flag the source is another one than its name says.
                (low_bits(flags) == 0).then_some(())?;
                let old = self.find_plain_entry(target, at, path)?;
                let new = self.find_plain_entry(target, to.at, to.path)?;
                let (from, to) = (EntryAccess::LinkFrom, EntryAccess::LinkTo);
                self.guard.allows_both(&old.path, from, &new.path, to).then_some(())?;
                self.adopt_umask(id, target)?;
                let none = AtFlags::empty();
                Some(linkat(&old.parent, &old.name, &new.parent, &new.name, none).into())
            }
            FileCall::Symlink { text, at, path } => {
                let text = target.read_text(text)?;
                let place = self.find_plain_entry(target, at, path)?;
                self.judge_access(&place, EntryAccess::MakeLink)?;
                self.adopt_umask(id, target)?;
                Some(symlinkat(text, &place.parent, &place.name).into())
            }
            FileCall::Truncate { path, length } => {
                let text = target.read_text(path)?;
                let place = FolderEntry::follow(target.open_folder(HERE)?, &text)?;
                self.judge_access(&place, EntryAccess::Write)?;
                self.adopt_umask(id, target)?;
                let opened = open_plain_file(&place, OFlags::WRONLY, Mode::empty())?;
                Some(opened.and_then(|file| rustix::fs::ftruncate(file, length)).into())
            }
        }
    }

    fn rename(
        &mut self,
        id: u64,
        target: WaitingThread,
        renaming: Renaming,
    ) -> Option<MediationOutcome> {
        let Renaming { from, to, flags } = renaming;
        (!flags.contains(RenameFlags::WHITEOUT)).then_some(())?;
        let old = self.find_entry(target, from.at, from.path)?;
        let new = self.find_entry(target, to.at, to.path)?;
        (!(old.slash || new.slash) || old.is_folder()).then_some(())?;
        let (from, to) = (EntryAccess::MoveFrom, EntryAccess::MoveTo);
        self.guard.allows_both(&old.path, from, &new.path, to).then_some(())?;
        if flags.contains(RenameFlags::EXCHANGE) {
            self.guard.allows_both(&new.path, from, &old.path, to).then_some(())?;
        }
        self.adopt_umask(id, target)?;
        Some(renameat_with(&old.parent, &old.name, &new.parent, &new.name, flags).into())
    }

    fn open_file(
        &mut self,
        id: u64,
        target: WaitingThread,
        opening: FileOpening<'_>,
    ) -> Option<MediationOutcome> {
        let FileOpening { at, text, flags, mode } = opening;
        let special = OFlags::PATH | OFlags::DIRECTORY;
        (!flags.intersects(special)).then_some(())?;
        let changes = OFlags::WRONLY | OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        let act = if flags.intersects(changes) { EntryAccess::Write } else { EntryAccess::Read };
        let far = text.to_str().is_some_and(|text| FAR.iter().any(|far| text.starts_with(far)));
        (!(act == EntryAccess::Read && far)).then_some(())?;
        let base = target.open_folder(at)?;
        let stays =
            flags.contains(OFlags::NOFOLLOW) || flags.contains(OFlags::CREATE | OFlags::EXCL);
        let place = if stays {
            FolderEntry::find_entry(base, text)?
        } else {
            FolderEntry::follow(base, text)?
        };
        (!place.slash).then_some(())?;
        let close = match flags.contains(OFlags::CLOEXEC) {
            true => CloseOnExec::Yes,
            false => CloseOnExec::No,
        };
        if let Some(terminal) = self.terminals.open(&place, flags) {
            self.adopt_umask(id, target)?;
            return Some(MediationOutcome::from_open(terminal, close));
        }
        self.judge_access(&place, act)?;
        if flags.contains(OFlags::CREATE) {
            self.adopt_umask(id, target)?;
        } else {
            self.confirm_waiting(id)?;
        }
        let file = open_plain_file(&place, flags, mode_of(mode))?;
        Some(MediationOutcome::from_open(file, close))
    }

    /// An entry by the arguments that name it; a slash at its end is that of a folder.
    fn find_entry(&self, target: WaitingThread, at: u64, path: u64) -> Option<FolderEntry> {
        let text = target.read_text(path)?;
        FolderEntry::find_entry(target.open_folder(at)?, &text)
    }

    /// The same, where a slash at the end is something unusual.
    fn find_plain_entry(&self, target: WaitingThread, at: u64, path: u64) -> Option<FolderEntry> {
        self.find_entry(target, at, path).filter(|place| !place.slash)
    }

    /// `None`: the kernel is to decide, because it allows it anyway or nobody does.
    fn judge_access(&self, place: &FolderEntry, act: EntryAccess) -> Option<()> {
        (!self.guard.is_open(&place.path) && self.guard.allows(&place.path, act)).then_some(())
    }

    /// Takes over the caller's mask of modes. Last before something is done: all that was looked up
    /// before is the caller's if it still waits.
    pub(super) fn adopt_umask(&self, id: u64, target: WaitingThread) -> Option<()> {
        let umask = target.umask()?;
        self.confirm_waiting(id)?;
        rustix::process::umask(umask);
        Some(())
    }
}

/// Opens a plain file, following nothing and waiting for nobody. `None`: it is something else.
fn open_plain_file(
    place: &FolderEntry,
    flags: OFlags,
    mode: Mode,
) -> Option<Result<OwnedFd, Errno>> {
    let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(&place.parent, &place.name, flags | careful, mode) {
        Ok(file) => file,
        // A link that was put there meanwhile, or a pipe without a reader.
        Err(Errno::LOOP | Errno::NXIO) => return None,
        Err(error) => return Some(Err(error)),
    };
    let kind = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
    (kind == Ok(FileType::RegularFile)).then_some(())?;
    let kept = OFlags::APPEND | OFlags::NONBLOCK | OFlags::DIRECT | OFlags::NOATIME;
    Some(fcntl_setfl(&file, flags & kept).map(|()| file))
}
