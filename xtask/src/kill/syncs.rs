//! What becomes of the syncs of a process: strace (a program of most systems) makes them slow or lets them fail,
//! as bad disks do, without a change of the program. Not here: a disk that is full (`disk`).

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

/// What stands before a program: it stays the child of whoever starts it (`-D`), and nothing but its syncs stops
/// on the way (`--seccomp-bpf`).
const STRACE: &[&str] =
    &["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync,fdatasync"];
/// How long one takes on a slow disk, in microseconds: what a common hard disk needs.
const SLOW_US: u32 = 8_000;
/// A process has become its program within this time.
const BEGINS: Duration = Duration::from_secs(5);
/// How often it is looked whether it did.
const LOOK_AGAIN: Duration = Duration::from_micros(200);
/// What stands in the log of a sync that was let fail.
const FAILED: &str = "(INJECTED)";

/// What becomes of the syncs of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Syncs {
    /// What the disk makes of them.
    #[default]
    Sound,
    /// Each takes long.
    Slow,
    /// From the one of this number on, those of each thread counted by themselves, each fails.
    FailFrom(u64),
}

impl Syncs {
    /// What stands before a command; it notes in `log` what it saw.
    pub(super) fn command_prefix(self, log: &Path) -> Vec<String> {
        let inject = match self {
            Syncs::Sound => return Vec::new(),
            Syncs::Slow => format!("inject=fsync,fdatasync:delay_enter={SLOW_US}"),
            Syncs::FailFrom(first) => format!("inject=fsync,fdatasync:error=EIO:when={first}+"),
        };
        let log = log.display().to_string();
        let words = STRACE.iter().map(|&word| word.to_owned());
        words.chain(["-e".to_owned(), inject, "-o".to_owned(), log]).collect()
    }
}

/// Waits until a process that was started has become this program: if it is killed while strace still sets itself
/// up in it, what strace started for that stays behind and waits for ever.
pub(super) fn wait_until_begun(pid: u32, program: &Path) {
    let until = Instant::now() + BEGINS;
    let is_other = || match (fs::metadata(format!("/proc/{pid}/exe")), fs::metadata(program)) {
        (Ok(now), Ok(wanted)) => (now.dev(), now.ino()) != (wanted.dev(), wanted.ino()),
        // It is over.
        _ => false,
    };
    while is_other() && Instant::now() < until {
        thread::sleep(LOOK_AGAIN);
    }
}

/// Whether any of those that this log is about was let fail.
pub(super) fn has_failed(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.contains(FAILED))
}

/// Makes sure that syncs can be met here.
///
/// # Errors
/// There is no strace, or it may not trace.
pub(super) fn find_strace() -> anyhow::Result<()> {
    let status = Command::new(STRACE[0])
        .args(&STRACE[1..])
        .args(["-o", "/dev/null", "true"])
        .stdin(Stdio::null())
        .status()
        .context(
            "no disk can be slow here: strace cannot be started (Debian and Ubuntu: strace)",
        )?;
    ensure!(status.success(), "no disk can be slow here: strace ended with {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a file can be written and synced, how long that took in microseconds, and whether it was let fail.
    fn written(syncs: Syncs) -> (bool, u128, bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let prefix = syncs.command_prefix(&log);
        let sync =
            ["dd", "if=/dev/zero", "of=file", "bs=1", "count=1", "conv=fsync"].map(str::to_owned);
        let words = [prefix, sync.to_vec()].concat();
        let began = Instant::now();
        let status = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status()
            .expect("it starts");
        (status.success(), began.elapsed().as_micros(), has_failed(&log))
    }

    #[test]
    fn d9_syncs_are_slow_and_fail() {
        // Where nobody may trace, the harness says so and ends; here there is nothing to look at then.
        if find_strace().is_err() {
            return;
        }
        let (is_written, took_us, has_failed) = written(Syncs::Slow);
        assert!(is_written && took_us >= u128::from(SLOW_US) && !has_failed, "{took_us}");
        let (is_written, _, has_failed) = written(Syncs::FailFrom(1));
        assert!(!is_written && has_failed);
        let (is_written, _, has_failed) = written(Syncs::FailFrom(2));
        assert!(is_written && !has_failed, "there was one");
    }
}
