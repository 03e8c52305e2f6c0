//! Which confinement commands get, where it is applied, and an honest report of it (Z4).
//!
//! Today there is one tier, `none`: commands are supervised but can do what the user can do. A
//! tier that confines is a variant here, and acts in [`Tier::confine`] (on the thread from which
//! the command is started: Landlock and seccomp are inherited from it) or in
//! [`Tier::command_line`] (bubblewrap is a program around the shell). Nothing here decides whether
//! a command may run.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A level of confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Supervised, not confined: every command asks.
    None,
}

impl Tier {
    /// Confines the calling thread, and so what it starts. Never undone.
    pub(crate) fn confine(self) -> io::Result<()> {
        match self {
            Tier::None => Ok(rustix::thread::set_no_new_privs(true)?),
        }
    }

    /// Program and arguments that run `command` in a shell.
    pub(crate) fn command_line(self, command: &str) -> (OsString, Vec<OsString>) {
        let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
        match self {
            Tier::None => (shell.into(), vec!["-c".into(), command.into()]),
        }
    }
}

/// Something of the kernel or the system that a stronger tier needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Support {
    /// `landlock`, `seccomp`, `user namespaces`, `bubblewrap`.
    pub name: &'static str,
    /// It is there; `None` when that cannot be told without trying.
    pub found: Option<bool>,
    /// Where this was seen.
    pub detail: String,
}

/// What holds for commands on this machine, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TierReport {
    /// The tier in use.
    pub tier: Tier,
    /// What holds.
    pub guarantees: Vec<&'static str>,
    /// What does not.
    pub missing: Vec<&'static str>,
    /// What a stronger tier could use here.
    pub support: Vec<Support>,
}

const GUARANTEES: [&str; 6] = [
    "each command has a supervisor that ends its whole process tree on cancel, on timeout and when \
     Weir dies, also processes that detached themselves",
    "a command is started at most once, and how it ended can be looked up after a crash",
    "no new privileges: set-user-id programs such as sudo do not work",
    "the environment is filtered: no variable that looks like a key is passed",
    "no core dumps; limits on open files, output and wall time",
    "no terminal: a command cannot read what the person types",
];

const MISSING: [&str; 4] = [
    "files: a command can read and write whatever your user can, inside and outside the workspace",
    "network: a command can reach whatever your user can",
    "system calls are not filtered, and a command sees and can signal your user's other processes, \
     its own supervisor included",
    "a command can ask a service outside (cron, a container engine, a service manager) to run \
     something that is then not supervised",
];

/// Looks at this machine: what is guaranteed for commands, what is not, and what is there for a
/// stronger tier. Reads a few files, changes nothing.
pub fn probe() -> TierReport {
    TierReport {
        tier: Tier::None,
        guarantees: GUARANTEES.to_vec(),
        missing: MISSING.to_vec(),
        support: vec![landlock(), seccomp(), user_namespaces(), bubblewrap()],
    }
}

fn landlock() -> Support {
    const FILE: &str = "/sys/kernel/security/lsm";
    let (found, detail) = match std::fs::read_to_string(FILE) {
        Ok(list) => {
            let found = list.trim().split(',').any(|name| name == "landlock");
            (Some(found), format!("{FILE}: {}", list.trim()))
        }
        Err(error) => (None, format!("{FILE}: {error}")),
    };
    Support { name: "landlock", found, detail }
}

fn seccomp() -> Support {
    const FILE: &str = "/proc/sys/kernel/seccomp/actions_avail";
    let (found, detail) = match std::fs::read_to_string(FILE) {
        Ok(list) => (Some(list.contains("errno")), format!("{FILE}: {}", list.trim())),
        Err(error) => (Some(false), format!("{FILE}: {error}")),
    };
    Support { name: "seccomp", found, detail }
}

fn user_namespaces() -> Support {
    const MAX: &str = "/proc/sys/user/max_user_namespaces";
    // Two distributions' own switches: absent on most machines.
    const DENIED_WHEN: [(&str, &str); 2] = [
        ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
    ];
    let number = std::fs::read_to_string(MAX).unwrap_or_default();
    let number = number.trim();
    let allowed = number.parse::<u64>().unwrap_or(0) > 0;
    let switch = DENIED_WHEN.iter().find(|(file, value)| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == *value)
    });
    let (found, detail) = match switch {
        Some((file, value)) => (false, format!("{file} is {value}")),
        None if number.is_empty() => (false, format!("{MAX} is not there")),
        None => (allowed, format!("{MAX} is {number}")),
    };
    Support { name: "user namespaces", found: Some(found), detail }
}

fn bubblewrap() -> Support {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|dir| dir.join("bwrap")).find(|p| p.is_file());
    let (found, detail) = match program {
        Some(program) => (true, program.display().to_string()),
        None => (false, "no bwrap on PATH; the package is called bubblewrap".to_string()),
    };
    Support { name: "bubblewrap", found: Some(found), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_the_probe_says_plainly_that_commands_are_not_confined() {
        let report = probe();
        assert_eq!(report.tier, Tier::None);
        assert!(report.missing.iter().any(|line| line.starts_with("files:")));
        assert!(report.missing.iter().any(|line| line.starts_with("network:")));
        assert_eq!(report.support.len(), 4);
        let json = serde_json::to_value(&report).expect("a report is plain data");
        assert_eq!(json["tier"], "none");
    }
}
