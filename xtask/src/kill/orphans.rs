//! Which processes of a session are alive, by what stands in their command line and environment.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may outlive its engine (D6).
const ALLOWED: Duration = Duration::from_secs(2);
/// Between two looks at the processes that are left.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A process, told from a later one with the same number by when it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) started: u64,
}

/// Processes that an engine left behind when it was killed.
#[derive(Debug)]
pub(super) struct Left {
    processes: Vec<Process>,
    killed: Instant,
}

impl Left {
    /// Those that name `folder` now, `killed` being when their engine died.
    pub(super) fn look(folder: &Path, killed: Instant) -> Left {
        Left { processes: of(folder), killed }
    }

    /// Those that are alive although their time is over, in words. Forgets those that are gone.
    pub(super) fn overdue(&mut self) -> Vec<String> {
        self.processes.retain(Process::is_alive);
        if self.killed.elapsed() <= ALLOWED {
            return Vec::new();
        }
        std::mem::take(&mut self.processes).iter().map(Process::describe).collect()
    }

    /// Waits until all are gone or their time is over.
    pub(super) fn settle(&mut self) -> Vec<String> {
        loop {
            let overdue = self.overdue();
            if !overdue.is_empty() || self.processes.is_empty() {
                return overdue;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Process {
    /// A zombie does nothing any more, although its entry still stands.
    fn is_alive(&self) -> bool {
        state(self.pid).is_some_and(|(started, ended)| started == self.started && !ended)
    }

    /// Its command line.
    pub(super) fn words(&self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    }

    fn describe(&self) -> String {
        format!("process {}: {}", self.pid, self.words().trim())
    }
}

/// All living processes that name `folder` in their command line or environment.
pub(super) fn of(folder: &Path) -> Vec<Process> {
    numbered_above(folder, 0)
}

/// Those of them with a number above this one: what a process started, unless the numbers began anew meanwhile.
/// A look at these costs little, however many other processes there are.
pub(super) fn numbered_above(folder: &Path, least: u32) -> Vec<Process> {
    // With the separator, so that the folder of session 1 is not found in that of session 12.
    let needle = format!("{}/", folder.display());
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let pids = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own && *pid > least);
    let names = |pid: u32, file: &str| {
        fs::read(format!("/proc/{pid}/{file}")).is_ok_and(|bytes| contains(&bytes, &needle))
    };
    pids.filter(|pid| names(*pid, "environ") || names(*pid, "cmdline"))
        .filter_map(|pid| {
            let (started, ended) = state(pid)?;
            (!ended).then_some(Process { pid, started })
        })
        .collect()
}

/// What of the bytes is no text never stands in the name of a folder of the harness.
fn contains(bytes: &[u8], needle: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(needle)
}

/// When it started, and whether it is over.
fn state(pid: u32) -> Option<(u64, bool)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; what counts begins after the last one. Field 3 is
    // the state, field 22 the start time.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    Some((fields.get(19)?.parse().ok()?, ended))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn d6_a_process_is_found_by_its_environment_until_it_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = Command::new("sleep")
            .arg("60")
            .env("MARK", folder.path().join("state"))
            .spawn()
            .expect("sleep starts");
        // Its time is not over, however slow the machine is.
        let killed = Instant::now() + Duration::from_secs(600);
        let mut left = Left::look(folder.path(), killed);
        while left.processes.is_empty() {
            // Between fork and exec the child still has our environment.
            left = Left::look(folder.path(), killed);
        }
        assert!(left.overdue().is_empty(), "its time is not over");
        let above = |pid: u32| numbered_above(folder.path(), pid).len();
        assert_eq!((above(child.id() - 1), above(child.id())), (1, 0));
        // A machine that was just started has no moment so long ago.
        if let Some(past) = Instant::now().checked_sub(Duration::from_secs(5)) {
            let mut late = Left { processes: left.processes.clone(), killed: past };
            assert_eq!(late.overdue().len(), 1);
        }
        child.kill().expect("it can be killed");
        child.wait().expect("it can be waited for");
        assert!(left.settle().is_empty());
        assert!(of(folder.path()).is_empty());
    }
}
