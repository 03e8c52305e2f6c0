//! Finds and ends processes, going by `/proc`: the descendants of a process, those that carry a
//! marker in their environment. Signals go through a pidfd after the start time was compared, so
//! that a reused process id is never hit. Not here: when to end what.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Rounds of stopping what is still forking before everything found is killed.
const FREEZE_ROUNDS_MAX: usize = 200;

/// So many looks in a row must find nothing.
const CLEAN_LOOKS: usize = 3;

/// The environment variable by which processes are found whose supervisor is gone: the folder of
/// the call's record.
pub(crate) const MARKER: &str = "WEIR_SUPERVISED";

/// A process as `/proc` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ProcessEntry {
    /// Its id.
    pub(crate) pid: i32,
    /// Its parent's id.
    pub(crate) parent: i32,
    /// When it started, in clock ticks since boot.
    pub(crate) start_ticks: u64,
    /// `Z` when it ended and was not waited for.
    pub(crate) state: u8,
}

impl ProcessEntry {
    /// The process with this id, if there is one.
    pub(crate) fn read_pid(pid: i32) -> Option<ProcessEntry> {
        parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// It runs, sleeps or is stopped; not ended.
    pub(crate) fn is_alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }

    /// It was stopped by a signal.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state == b'T'
    }

    /// A handle that becomes readable when it ends; `None` when it is gone already.
    pub(crate) fn open_pidfd(&self) -> Option<OwnedFd> {
        let pidfd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // Opened first, compared second: now the handle is known to mean this very process.
        let found = ProcessEntry::read_pid(self.pid)?;
        (found.start_ticks == self.start_ticks).then_some(pidfd)
    }

    /// Sends it a signal if it is still the same process.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pidfd) = self.open_pidfd() {
            // It may have ended meanwhile, which is what whoever signals wants.
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }
}

/// Every process below `root`, `root` itself excluded, ended ones too.
pub(crate) fn descendants_of(root: i32) -> Vec<ProcessEntry> {
    processes_below(&[root], &all_processes())
}

/// Living processes whose environment holds the marker `value`, and everything below them. The
/// calling process is never among them.
pub(crate) fn marked_processes(value: &[u8]) -> Vec<ProcessEntry> {
    let entry = [MARKER.as_bytes(), b"=", value].concat();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let all = all_processes();
    let mut found: Vec<ProcessEntry> = all
        .iter()
        .filter(|process| process.pid != own && process.is_alive())
        .filter(|process| has_variable(process.pid, &entry))
        .copied()
        .collect();
    let roots: Vec<i32> = found.iter().map(|process| process.pid).collect();
    found.extend(processes_below(&roots, &all));
    let mut seen = HashSet::new();
    found.retain(|process| process.pid != own && seen.insert(process.pid));
    found
}

/// Kills all that `find` finds, once. Stops them first, round by round, so
/// that what forks faster than it is killed does not get away.
pub(crate) fn freeze_and_kill(find: impl Fn() -> Vec<ProcessEntry>) {
    let mut frozen = HashSet::new();
    for _ in 0..FREEZE_ROUNDS_MAX {
        let mut grew = false;
        for process in find().into_iter().filter(ProcessEntry::is_alive) {
            if frozen.insert((process.pid, process.start_ticks)) {
                process.signal(Signal::STOP);
                grew = true;
            }
        }
        if !grew {
            break;
        }
    }
    for process in find().iter().filter(|process| process.is_alive()) {
        process.signal(Signal::KILL);
    }
}

/// Kills all that `find` finds, again and again until nothing of it is alive, and says how many
/// still are when `patience` is over. One look is not of one moment, so it takes several without a
/// find to believe it.
pub(crate) fn end_all(find: impl Fn() -> Vec<ProcessEntry>, patience: Duration) -> usize {
    let until = Instant::now() + patience;
    let mut clean_looks = 0;
    loop {
        freeze_and_kill(&find);
        let alive = find().iter().filter(|process| process.is_alive()).count();
        clean_looks = if alive == 0 { clean_looks + 1 } else { 0 };
        if clean_looks == CLEAN_LOOKS {
            return 0;
        }
        if Instant::now() >= until {
            return alive;
        }
    }
}

fn processes_below(roots: &[i32], all: &[ProcessEntry]) -> Vec<ProcessEntry> {
    let mut children: HashMap<i32, Vec<ProcessEntry>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = Vec::new();
    let mut open: Vec<i32> = roots.to_vec();
    while let Some(pid) = open.pop() {
        // Removed, not looked up: a listing that is not of one moment may contain a circle.
        for child in children.remove(&pid).unwrap_or_default() {
            open.push(child.pid);
            found.push(child);
        }
    }
    found
}

fn all_processes() -> Vec<ProcessEntry> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut all: Vec<ProcessEntry> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(ProcessEntry::read_pid)
        .collect();
    // A parent that ended while we read: by now its children have another one.
    let pids: HashSet<i32> = all.iter().map(|process| process.pid).collect();
    for process in all.iter_mut().filter(|process| !pids.contains(&process.parent)) {
        *process = ProcessEntry::read_pid(process.pid).unwrap_or(*process);
    }
    all
}

fn has_variable(pid: i32, entry: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|found| found == entry))
}

/// `pid (name) state parent …`, where the name may contain anything, brackets too.
fn parse_stat(stat: &[u8]) -> Option<ProcessEntry> {
    let name_start = stat.iter().position(|byte| *byte == b'(')?;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(stat.get(..name_start)?).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 22 of the whole line; state was field 3 and parent field 4.
    let start_ticks = fields.nth(17)?.parse().ok()?;
    Some(ProcessEntry { pid, parent, start_ticks, state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d6_a_process_name_cannot_hide_its_parent() {
        let stat = b"77 (a) R 1 (b)) S 42 77 77 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let process = ProcessEntry { pid: 77, parent: 42, start_ticks: 98765, state: b'S' };
        assert_eq!(parse_stat(stat), Some(process));
        assert_eq!(parse_stat(b""), None);
        assert_eq!(parse_stat(b"1 ) ( S"), None);
    }

    #[test]
    fn d6_a_listing_with_a_circle_ends() {
        let process = |pid, parent| ProcessEntry { pid, parent, start_ticks: 1, state: b'S' };
        let all = [process(2, 1), process(3, 2), process(2, 3), process(9, 8)];
        let found: Vec<i32> =
            processes_below(&[1], &all).iter().map(|process| process.pid).collect();
        assert_eq!(found, [2, 3, 2]);
    }

    #[test]
    fn this_process_is_found_alive() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let process = ProcessEntry::read_pid(own).expect("this test runs in a process");
        assert!(process.is_alive() && process.open_pidfd().is_some());
        let other = ProcessEntry { start_ticks: process.start_ticks + 1, ..process };
        assert!(other.open_pidfd().is_none(), "a reused id is not the same process");
    }
}
