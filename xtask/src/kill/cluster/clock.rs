//! The wall clock of a replica, which can be set while it runs: libfaketime stands between the program and the
//! system, and reads from a file what to add. The monotonic clock stays that of the machine, as it does where
//! somebody sets a clock. Not here: when a clock is set (`fault`), and what its owner may make of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::super::random::Random;

/// That for programs with threads.
const LIBRARY: &str = "libfaketimeMT.so.1";
/// Where systems keep it.
const FOLDERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/faketime",
    "/usr/lib/aarch64-linux-gnu/faketime",
    "/usr/lib64/faketime",
    "/usr/lib/faketime",
    "/usr/local/lib/faketime",
];
/// How wrong a clock that was set is, in seconds: more than any message takes, less than a sign-in lives.
const WRONG_S: (u64, u64) = (90, 3_600);
/// A fact that is so far from the clock of the database was written by a clock that was set.
pub(super) const NOTICED_S: f64 = 30.0;

/// The library, where it is installed.
///
/// # Errors
/// It is not, and this is CI, where nothing is left out.
pub(super) fn library() -> anyhow::Result<Option<PathBuf>> {
    let found =
        FOLDERS.iter().map(|folder| Path::new(folder).join(LIBRARY)).find(|at| at.is_file());
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    ensure!(
        found.is_some() || !is_ci,
        "{LIBRARY} is not installed (Debian and Ubuntu: the package faketime), so no clock can be set"
    );
    Ok(found)
}

/// How wrong a clock is set, in seconds.
pub(super) fn wrong_by(random: &mut Random) -> i64 {
    let seconds = i64::try_from(random.between(WRONG_S.0, WRONG_S.1)).unwrap_or(0);
    if random.below(2) == 0 { -seconds } else { seconds }
}

/// The clock of one replica, over all its processes.
pub(super) struct WallClock {
    library: PathBuf,
    file: PathBuf,
}

impl WallClock {
    /// One that is right, kept in this file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn new(library: &Path, file: PathBuf) -> anyhow::Result<WallClock> {
        let clock = WallClock { library: library.to_path_buf(), file };
        clock.set(0)?;
        Ok(clock)
    }

    /// Makes it wrong by so many seconds. Who reads it notices within a second.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn set(&self, seconds: i64) -> anyhow::Result<()> {
        // Renamed, so that nobody finds the file half written.
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{seconds:+}\n"))
            .and_then(|()| fs::rename(&new, &self.file))
            .with_context(|| format!("setting the clock {}", self.file.display()))
    }

    /// Has a program live by it.
    pub(super) fn wind(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_CACHE_DURATION", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            // Files have the time that the system gave them.
            .env("NO_FAKE_STAT", "1");
    }

    /// Removes what the library keeps in memory for a process, which one that is killed leaves behind.
    pub(super) fn tidy(&self, pid: u32) {
        for name in [format!("faketime_shm_{pid}"), format!("sem.faketime_sem_{pid}")] {
            // Whoever ended by itself has removed it.
            let _ = fs::remove_file(Path::new("/dev/shm").join(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::*;

    fn seconds(output: &std::process::Output) -> u64 {
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds")
    }

    #[test]
    fn d7_a_clock_is_wrong_by_what_it_was_set_to() {
        let folder = tempfile::tempdir().expect("a folder");
        // Without the library no clock can be set; CI has it.
        let Some(library) = library().expect("CI has it") else { return };
        let clock = WallClock::new(&library, folder.path().join("clock")).expect("a file");
        for wrong in [0, 3_600, -3_600] {
            clock.set(wrong).expect("it is written");
            let mut command = Command::new("date");
            command.arg("+%s");
            clock.wind(&mut command);
            let told = seconds(&command.output().expect("date starts"));
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            let off = Duration::from_secs(told).as_secs_f64() - now.as_secs_f64();
            assert!((off - wrong as f64).abs() < 20.0, "set to {wrong}, off by {off}");
        }
    }

    #[test]
    fn d7_clocks_are_wrong_both_ways_and_noticeably() {
        let mut random = Random::of(1, 0);
        let wrong: Vec<i64> = (0..50).map(|_| wrong_by(&mut random)).collect();
        assert!(wrong.iter().any(|by| *by < 0) && wrong.iter().any(|by| *by > 0));
        assert!(wrong.iter().all(|by| by.unsigned_abs() as f64 > NOTICED_S), "{wrong:?}");
    }
}
