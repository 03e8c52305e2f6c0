//! What became of a call whose result the journal does not have (D4, class *process*). Blocking.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use weir_core::ids::CallId;
use weir_engine::ports::CommandTrace;

use super::drive::end_without_supervisor;
use crate::history::carry_over_of;
use crate::process_tree::ProcessEntry;
use crate::record::{CommandRecord, RecordFile, StartRecord, machine_id};

/// A supervisor whose engine is gone needs half a second; one that needs longer is not ending.
const SUPERVISOR_WAIT: Duration = Duration::from_secs(5);

/// Looks it up. Waits while the supervisor is still ending the tree.
pub(super) fn trace_call(record: &CommandRecord, call: CallId) -> CommandTrace {
    if let RecordFile::Whole(ending) = record.read_ending() {
        return CommandTrace::Ended(ending.into());
    }
    let started = match record.read_start() {
        RecordFile::Absent => return without_record(record, call),
        RecordFile::Damaged(why) => return CommandTrace::Unknown { why },
        RecordFile::Whole(started) => started,
    };
    let supervisor = started.find_supervisor();
    let waited = supervisor.is_none_or(|_| wait_for_exit(&started));
    match record.read_ending() {
        RecordFile::Whole(ending) => CommandTrace::Ended(ending.into()),
        RecordFile::Damaged(why) => CommandTrace::Unknown { why },
        RecordFile::Absent if !waited => {
            // One that is kept from working will never end its tree.
            if supervisor
                .and_then(|found| ProcessEntry::read_pid(found.pid))
                .is_some_and(|p| p.is_stopped())
            {
                end_without_supervisor(Some(started.pid), record);
            }
            CommandTrace::Unknown {
                why: format!("its supervisor (process {}) did not end in time", started.pid),
            }
        }
        RecordFile::Absent if !started.is_here() => CommandTrace::Unknown {
            why: {
                carry_over_of(record.dir());
                "it was started, and then the machine was started again".into()
            },
        },
        RecordFile::Absent => {
            let left = end_without_supervisor(None, record);
            if left == 0 {
                carry_over_of(record.dir());
            }
            let why = "it was started, but its supervisor ended without saying how it went";
            CommandTrace::Unknown {
                why: match left {
                    0 => why.to_string(),
                    left => format!("{why}, and {left} process(es) of it could not be ended"),
                },
            }
        }
    }
}

/// There is no record: it never started, unless a power cut may have taken the record.
fn without_record(record: &CommandRecord, call: CallId) -> CommandTrace {
    match record.boot_of(call) {
        Some(boot) if !machine_id().is_ok_and(|here| here == boot) => CommandTrace::Unknown {
            why: "there is no record of it, but the machine was started again since, and the \
                  record may have been lost"
                .into(),
        },
        Some(_) | None => CommandTrace::NeverStarted,
    }
}

/// Whether the supervisor is gone, at the latest after [`SUPERVISOR_WAIT`].
fn wait_for_exit(started: &StartRecord) -> bool {
    let Some(supervisor) = started.find_supervisor() else { return true };
    let Some(handle) = supervisor.open_pidfd() else { return true };
    // A command can stop its supervisor; one that runs sees that the engine is gone.
    supervisor.signal(Signal::CONT);
    let mut fds = [PollFd::new(&handle, PollFlags::IN)];
    let timeout = Timespec::try_from(SUPERVISOR_WAIT).ok();
    rustix::event::poll(&mut fds, timeout.as_ref()).is_ok_and(|count| count > 0)
}
