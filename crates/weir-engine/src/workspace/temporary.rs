//! Temporary files beside their targets, and the removal of those that a killed process left.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

use super::guard::TEMPORARY_PREFIX;
use super::{Workspace, beneath};

/// Most folders that are remembered as clean; then all are looked at again.
const SWEPT_MAX: usize = 10_000;

/// A name that nothing else uses: this process, and a number that grows.
pub(super) fn temporary_name() -> OsString {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{TEMPORARY_PREFIX}{}-{number}", std::process::id()).into()
}

/// A new empty file in `folder`, readable by this user alone until its mode is set.
pub(super) fn create_temporary(folder: BorrowedFd<'_>) -> Result<(std::fs::File, OsString), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    loop {
        let name = temporary_name();
        match rustix::fs::openat(folder, &name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok((std::fs::File::from(file), name)),
            // Left by an earlier process of the same id: the number goes on.
            Err(Errno::EXIST) => {}
            Err(e) => return Err(e),
        }
    }
}

/// Removes temporary files of processes that are gone; looks into each folder once.
pub(super) fn sweep_folder(workspace: &Workspace, folder: BorrowedFd<'_>, real: &Path) {
    {
        let mut swept = workspace.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= SWEPT_MAX {
            swept.clear();
        }
        if !swept.insert(real.to_path_buf()) {
            return;
        }
    }
    let Ok((names, _)) = beneath::folder_names(folder.as_fd()) else { return };
    for (name, _) in names {
        if owner_process(&name).is_some_and(is_gone) {
            // Somebody else may have swept it at the same moment.
            let _ = rustix::fs::unlinkat(folder, &name, AtFlags::empty());
        }
    }
}

/// The process that made the temporary file `name`.
fn owner_process(name: &OsStr) -> Option<Pid> {
    let rest = name.to_str()?.strip_prefix(TEMPORARY_PREFIX)?;
    let (pid, number) = rest.split_once('-')?;
    number.parse::<u64>().ok()?;
    Pid::from_raw(pid.parse().ok()?)
}

fn is_gone(pid: Pid) -> bool {
    matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}
