//! What is hit at a moment: the engine itself, a process that it started, or its disk, or what it syncs.

use clap::ValueEnum;
use rustix::process::{Pid, Signal, kill_process};

use super::house::House;
use super::orphans;

/// The word by which an engine starts the supervisor of a command.
const SUPERVISOR: &str = "__supervise";

/// What is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, ValueEnum)]
pub(super) enum Victim {
    /// The process of the face is killed.
    #[default]
    Engine,
    /// The supervisor of a command is killed; its engine goes on.
    Supervisor,
    /// The newest process of a command is killed; its engine goes on.
    Child,
    /// The disk of the state becomes full until the process has ended.
    Disk,
    /// From one of its syncs on none succeeds, until the process has ended. Needs strace.
    Sync,
}

impl Victim {
    /// Whether a process of a face goes on when it is hit, and may be hit again.
    pub(super) fn leaves_engine(self) -> bool {
        matches!(self, Victim::Supervisor | Victim::Child)
    }

    /// Whether a process that is hit can write no more, and says so: that is no fault of its own.
    pub(super) fn cuts_off(self) -> bool {
        matches!(self, Victim::Disk | Victim::Sync)
    }
}

/// Hits something else than the engine, whose process is `engine` and which started it. Whether there was anything
/// to hit.
///
/// # Errors
/// The disk cannot be filled.
pub(super) fn hit(victim: Victim, house: &House, engine: u32) -> anyhow::Result<bool> {
    let is_wanted = match victim {
        // Syncs fail by themselves, once the process was started so.
        Victim::Engine | Victim::Sync => return Ok(false),
        Victim::Disk => {
            house.fill_disk()?;
            return Ok(true);
        }
        Victim::Supervisor => |words: &str| words.contains(SUPERVISOR),
        Victim::Child => |words: &str| !words.contains(SUPERVISOR),
    };
    let mut found: Vec<orphans::Process> = orphans::numbered_above(&house.inner, engine)
        .into_iter()
        .filter(|process| is_wanted(&process.words()))
        .collect();
    found.sort_by_key(|process| process.started);
    let pid = found.last().and_then(|process| Pid::from_raw(i32::try_from(process.pid).ok()?));
    // One that has just ended was no victim.
    Ok(pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok()))
}
