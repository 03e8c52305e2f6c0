//! Pseudo-terminals of the command: the ones that it made itself, and no others of the machine. Not
//! here: what a terminal may be told (seccomp).

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, open, openat};
use rustix::io::Errno;

use super::target::FolderEntry;

/// Terminals that are remembered; older ones are forgotten.
const TERMINALS_MAX: usize = 64;

/// The other ends, by number.
#[derive(Debug, Default)]
pub(super) struct PseudoTerminals {
    /// A handle that means this very terminal and never another one of the same number.
    made: BTreeMap<u32, OwnedFd>,
}

impl PseudoTerminals {
    /// Opens one if the place is a terminal that the command may have. `None`: it is another thing.
    pub(super) fn open(
        &mut self,
        place: &FolderEntry,
        flags: OFlags,
    ) -> Option<Result<OwnedFd, Errno>> {
        let kept = OFlags::ACCMODE | OFlags::NONBLOCK;
        // It must not become the terminal of whoever opens it for the command.
        let flags = (flags & kept) | OFlags::NOCTTY | OFlags::CLOEXEC;
        match place.path.to_str()? {
            "/dev/ptmx" | "/dev/pts/ptmx" => {
                let nofollow = flags | OFlags::NOFOLLOW;
                let opened = openat(&place.parent, &place.name, nofollow, Mode::empty());
                Some(opened.inspect(|master| self.remember(master)))
            }
            path => {
                let number = path.strip_prefix("/dev/pts/")?.parse().ok()?;
                let handle = self.made.get(&number)?;
                let way = format!("/proc/self/fd/{}", handle.as_raw_fd());
                Some(open(way, flags, Mode::empty()))
            }
        }
    }

    fn remember(&mut self, master: &OwnedFd) {
        let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", master.as_raw_fd()));
        let told = told.unwrap_or_default();
        let number = told.lines().find_map(|line| line.strip_prefix("tty-index:"));
        let Some(number) = number.and_then(|number| number.trim().parse::<u32>().ok()) else {
            return;
        };
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(handle) = openat(CWD, format!("/dev/pts/{number}"), flags, Mode::empty()) {
            while self.made.len() >= TERMINALS_MAX {
                self.made.pop_first();
            }
            self.made.insert(number, handle);
        }
    }
}
