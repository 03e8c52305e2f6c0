//! What a waiting thread's call is about: what its arguments point to, read once, and the folders and
//! files that its numbers mean. Only what was looked up while the thread surely waited counts; the
//! caller asks for that afterwards. Not here: judging.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat, openat2, readlinkat, statat};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Longest path, its end included.
const PATH_BYTES_MAX: usize = 4096;

/// Longest address of a socket.
const ADDRESS_BYTES_MAX: usize = 128;

/// Links that are followed before a path is given up, as in the kernel.
const LINKS_MAX: usize = 40;

/// A thread that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitingThread {
    pub(super) thread: i32,
}

impl WaitingThread {
    /// The text at an address.
    pub(super) fn read_text(self, address: u64) -> Option<OsString> {
        /// Pieces end where pages may end.
        const PIECE_BYTES: u64 = 1024;
        let mut text = Vec::new();
        while text.len() < PATH_BYTES_MAX {
            let at = address.checked_add(text.len() as u64)?;
            let mut piece = [0; PIECE_BYTES as usize];
            let wanted = usize::try_from(PIECE_BYTES - at % PIECE_BYTES).ok()?;
            let count = self.read_memory(&mut piece[..wanted], at).filter(|count| *count > 0)?;
            if let Some(end) = piece[..count].iter().position(|byte| *byte == 0) {
                text.extend_from_slice(&piece[..end]);
                return Some(OsString::from_vec(text)).filter(|text| text.len() < PATH_BYTES_MAX);
            }
            text.extend_from_slice(&piece[..count]);
        }
        None
    }

    /// The address of a socket.
    pub(super) fn read_address(self, address: u64, length: u64) -> Option<Vec<u8>> {
        // The kernel takes a number of 32 bits.
        let length = usize::try_from(length & 0xffff_ffff).ok()?;
        let mut bytes = vec![0; length];
        let fits = (2..=ADDRESS_BYTES_MAX).contains(&length);
        (fits && self.read_memory(&mut bytes, address)? == length).then_some(bytes)
    }

    /// Reads what stands at an address; says how much of it could be read. Each call that waits has a path to be
    /// read: this is one call, and to open the memory as a file, read and close it are three (Q13). Both need the same
    /// right, and a kernel without the one has the other.
    fn read_memory(self, bytes: &mut [u8], address: u64) -> Option<usize> {
        let remote = [RemoteIoVec { base: usize::try_from(address).ok()?, len: bytes.len() }];
        let thread = nix::unistd::Pid::from_raw(self.thread);
        if let Ok(count) = process_vm_readv(thread, &mut [IoSliceMut::new(bytes)], &remote) {
            return Some(count);
        }
        let memory = File::open(format!("/proc/{}/mem", self.thread)).ok()?;
        memory.read_at(bytes, address).ok()
    }

    /// What a relative path begins at.
    pub(super) fn open_folder(self, number: u64) -> Option<OwnedFd> {
        // The kernel takes a number of 32 bits with a sign.
        let number = (number & 0xffff_ffff) as u32;
        let at = match number.cast_signed() {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.thread),
            number if number >= 0 => format!("/proc/{}/fd/{number}", self.thread),
            _ => return None,
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, at, flags, Mode::empty()).ok()
    }

    /// Its own open file, shared with it.
    pub(super) fn share_file(self, number: u64) -> Option<OwnedFd> {
        let number = i32::try_from(number & 0xffff_ffff).ok()?;
        let process: i32 = self.status_field("Tgid:")?.parse().ok()?;
        let process = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
        pidfd_getfd(process, number, PidfdGetfdFlags::empty()).ok()
    }

    /// Which modes it does not want.
    pub(super) fn umask(self) -> Option<Mode> {
        u32::from_str_radix(&self.status_field("Umask:")?, 8).ok().map(Mode::from_raw_mode)
    }

    fn status_field(self, field: &str) -> Option<String> {
        let text = fs::read(format!("/proc/{}/status", self.thread)).ok()?;
        let text = String::from_utf8_lossy(&text);
        let value = text.lines().find_map(|line| line.strip_prefix(field))?;
        Some(value.trim().to_owned())
    }
}

/// One entry of a folder, which need not exist.
#[derive(Debug)]
pub(super) struct FolderEntry {
    /// The folder, held.
    pub(super) parent: OwnedFd,
    pub(super) name: OsString,
    /// Where that really is.
    pub(super) path: PathBuf,
    /// The path ended as that of a folder does.
    pub(super) slash: bool,
}

impl FolderEntry {
    /// Where a path leads from a folder; its last part is not followed.
    pub(super) fn find_entry(base: impl AsFd, text: &OsStr) -> Option<FolderEntry> {
        let (folder, name, slash) = split_path(text)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // What `/proc` leads to would be ours and not the caller's.
        let parent = openat2(base, folder, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
        let parent = parent.ok()?;
        let real = real_path(&parent)?;
        let path = real.join(name);
        let is_of_process = real.starts_with("/proc");
        (!is_of_process).then_some(FolderEntry { parent, name: name.into(), path, slash })
    }

    /// The same, with links in the last part followed too.
    pub(super) fn follow(base: impl AsFd, text: &OsStr) -> Option<FolderEntry> {
        let mut place = FolderEntry::find_entry(base, text)?;
        for _ in 0..LINKS_MAX {
            let Ok(target) = readlinkat(&place.parent, &place.name, Vec::new()) else {
                return Some(place);
            };
            place = FolderEntry::find_entry(&place.parent, OsStr::from_bytes(target.as_bytes()))?;
        }
        None
    }

    /// Whether a folder is there; a link to one is none.
    pub(super) fn is_folder(&self) -> bool {
        statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())
    }
}

/// Where a handle is now.
fn real_path(handle: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()
}

/// Folder and name of a path, and whether it ends with a slash.
fn split_path(text: &OsStr) -> Option<(&Path, &OsStr, bool)> {
    let bytes = text.as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/')? + 1;
    let start = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let name = &bytes[start..end];
    if name == b"." || name == b".." {
        return None;
    }
    let folder = if start == 0 { b".".as_slice() } else { &bytes[..start] };
    Some((Path::new(OsStr::from_bytes(folder)), OsStr::from_bytes(name), end < bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_a_path_is_a_folder_and_a_name() {
        for (text, expected) in [
            ("a", Some((".", "a", false))),
            ("a/b", Some(("a/", "b", false))),
            ("/a", Some(("/", "a", false))),
            ("a/b//", Some(("a/", "b", true))),
            ("../a", Some(("../", "a", false))),
            ("a/..", None),
            (".", None),
            ("/", None),
            ("", None),
        ] {
            let expected =
                expected.map(|(folder, name, slash)| (Path::new(folder), OsStr::new(name), slash));
            assert_eq!(split_path(OsStr::new(text)), expected, "{text}");
        }
    }

    #[test]
    fn z4_links_of_processes_are_not_followed() {
        assert!(FolderEntry::find_entry(CWD, OsStr::new("/proc/self/root/tmp/x")).is_none());
        assert!(FolderEntry::find_entry(CWD, OsStr::new("/proc/self/cwd/x")).is_none());
        assert!(FolderEntry::find_entry(CWD, OsStr::new("/proc/x")).is_none());
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().canonicalize().expect("it exists");
        std::os::unix::fs::symlink("/proc/self/root/tmp/x", real.join("way")).expect("a link");
        std::os::unix::fs::symlink("other", real.join("near")).expect("a link");
        let leads = |name: &str| FolderEntry::follow(CWD, real.join(name).as_os_str());
        assert!(leads("way").is_none());
        assert_eq!(leads("near").map(|place| place.path), Some(real.join("other")));
    }

    #[test]
    fn z4_the_memory_of_a_thread_is_read_to_its_end() {
        let own = WaitingThread { thread: rustix::process::getpid().as_raw_nonzero().get() };
        let long = std::ffi::CString::new(vec![b'x'; 3000]).expect("no zero in it");
        let address = long.as_ptr().addr() as u64;
        assert_eq!(own.read_text(address).map(|text| text.len()), Some(3000));
        let longer = std::ffi::CString::new(vec![b'x'; 5000]).expect("no zero in it");
        assert_eq!(own.read_text(longer.as_ptr().addr() as u64), None);
        assert_eq!(own.read_text(8), None);
    }
}
