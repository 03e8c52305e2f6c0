//! A program under valgrind's counter of instructions, and how many it took.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};

/// A program that is counted, or was.
pub(super) struct Counted {
    child: Child,
    report: PathBuf,
    errors: PathBuf,
}

impl Drop for Counted {
    fn drop(&mut self) {
        // It has mostly ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Counted {
    /// Starts `command` under the counter; what it writes for itself goes to `folder`.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn start(command: &Command, folder: &Path) -> anyhow::Result<Counted> {
        let errors = folder.join("counted.err");
        let mut counted = Command::new("valgrind");
        counted
            .args(["--tool=callgrind", "--quiet", "--fair-sched=try"])
            // Named by the process: what it forks must not write over what it counted.
            .arg(format!("--callgrind-out-file={}/callgrind.%p", folder.display()))
            .arg("--")
            .arg(command.get_program())
            .args(command.get_args())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&errors)?);
        if let Some(place) = command.get_current_dir() {
            counted.current_dir(place);
        }
        let child = counted.spawn().context("starting valgrind")?;
        let report = folder.join(format!("callgrind.{}", child.id()));
        Ok(Counted { child, report, errors })
    }

    /// Its process: valgrind gives way to what it counts.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended, and what it said, if it has.
    pub(super) fn said_at_its_end(&mut self) -> anyhow::Result<Option<String>> {
        let ended = self.child.try_wait()?;
        Ok(ended.map(|status| format!("{status}: {}", self.said())))
    }

    /// Waits for its end by itself.
    ///
    /// # Errors
    /// It fails, or valgrind wrote no count.
    pub(super) fn instructions(mut self) -> anyhow::Result<u64> {
        let status = self.child.wait()?;
        ensure!(status.success(), "what is counted ended with {status}: {}", self.said());
        self.count()
    }

    /// Ends it here, and says what it took until now: valgrind writes its count when a signal ends what it
    /// counts, if that does not catch it.
    ///
    /// # Errors
    /// It ended before, or valgrind wrote no count.
    pub(super) fn end_here(mut self) -> anyhow::Result<u64> {
        use std::os::unix::process::ExitStatusExt as _;

        use rustix::process::{Pid, Signal, kill_process};
        kill_process(Pid::from_child(&self.child), Signal::USR2)
            .context("ending what is counted")?;
        let status = self.child.wait()?;
        let is_by_us = status.signal() == Some(Signal::USR2.as_raw());
        ensure!(is_by_us, "what is counted ended with {status}: {}", self.said());
        self.count()
    }

    fn count(&self) -> anyhow::Result<u64> {
        let text = fs::read_to_string(&self.report)
            .with_context(|| format!("{}: {}", self.report.display(), self.said()))?;
        total(&text).with_context(|| format!("{} has no total", self.report.display()))
    }

    fn said(&self) -> String {
        let said = fs::read_to_string(&self.errors).unwrap_or_default();
        let tail: Vec<&str> = said.lines().rev().take(6).collect();
        tail.into_iter().rev().collect::<Vec<_>>().join(" | ")
    }
}

/// The total of a report: instructions read are the first and only event.
fn total(report: &str) -> Option<u64> {
    let line = report.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q23_a_total_is_read_from_a_report() {
        let report = "version: 1\nevents: Ir\nfn=(1) main\n1 20\n\ntotals: 1220665\n";
        assert_eq!(total(report), Some(1_220_665));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }
}
