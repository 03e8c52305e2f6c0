//! Who holds a lease, and whether that process is still alive. Not here: what a lease is, and where
//! it is kept (a store).
//!
//! A process is named by its id *and* the moment it started, because ids are used again; and by the
//! boot of the machine, because neither means anything after a restart. Nothing here talks to
//! another machine: a lease from another boot id counts as void.

use std::fs;

use crate::ports::LeaseOwner;

/// This process as the owner of leases. `label` says what it is, for people: `weir run`.
pub fn this_process(label: &str) -> LeaseOwner {
    LeaseOwner {
        pid: std::process::id(),
        started: process_state("self").map_or(0, |state| state.started),
        host: boot_id(),
        label: label.to_string(),
    }
}

/// Whether `owner` is a process that runs now, on this boot of this machine.
pub fn is_alive(owner: &LeaseOwner) -> bool {
    owner.host == boot_id()
        && process_state(&owner.pid.to_string())
            .is_some_and(|state| state.started == owner.started && !state.ended)
}

struct ProcessState {
    started: u64,
    /// A zombie: it does nothing any more, although its entry still stands.
    ended: bool,
}

fn process_state(pid: &str) -> Option<ProcessState> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses itself; what counts begins after the
    // last one. Field 3 is the state, field 22 the start time.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    Some(ProcessState { started: fields.get(19)?.parse().ok()?, ended })
}

/// The boot of this machine: another one after each start; empty where the system does not say.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d2_a_process_is_alive_until_it_is_a_zombie() {
        let me = this_process("test");
        assert!(is_alive(&me));
        assert!(
            !is_alive(&LeaseOwner { started: me.started + 1, ..me.clone() }),
            "the id came again"
        );
        assert!(!is_alive(&LeaseOwner { host: "another boot".into(), ..me.clone() }));
        let mut child =
            std::process::Command::new("true").spawn().expect("the test machine has `true`");
        let pid = child.id();
        // Wait without reaping, so that the zombie can be seen.
        while !process_state(&pid.to_string()).expect("not reaped yet").ended {
            std::thread::yield_now();
        }
        let state = process_state(&pid.to_string()).expect("not reaped yet");
        assert!(!is_alive(&LeaseOwner { pid, started: state.started, ..me }));
        child.wait().expect("a child that was spawned can be waited for");
    }
}
