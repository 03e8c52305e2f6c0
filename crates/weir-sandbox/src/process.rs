//! One process: that nobody else reads its memory, and how it ended. Not here: finding and ending those
//! below one (`process_tree`).

use std::io;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{DumpableBehavior, WaitStatus};
use weir_engine::ports::CommandEnd;

/// Keeps other processes of the same user from reading this one's memory and environment, where
/// keys are. For the engine's `main`, before it starts anything. Root is not kept out.
///
/// # Errors
/// When the kernel refuses.
pub fn protect_process() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Whether whoever holds the other end of this socket closed it, which is what happens when it dies.
pub(crate) fn hung_up(control: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(control, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|count| count > 0)
}

/// How a process ended.
pub(crate) fn end_of(status: WaitStatus) -> CommandEnd {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandEnd::Exited { code },
        (None, Some(signal)) => CommandEnd::Signaled { signal },
        // `wait` was not asked for anything else; the shell's own code for "cannot tell".
        (None, None) => CommandEnd::Exited { code: 128 },
    }
}
