//! What holds for commands on this machine, in words for a person. It tries the tiers; what it says
//! of each is kept here, beside nothing that enforces it.

use std::path::Path;

use serde::Serialize;
use weir_core::tool::Tier;

use super::{TierWish, holding_tier, try_bubblewrap, try_landlock, try_namespaces};

/// One tier, tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TierCheck {
    /// The tier that was tried.
    pub tier: Tier,
    /// It works here.
    pub works: bool,
    /// What was found, or why it does not work.
    pub detail: String,
    /// What to do so that it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What holds for commands on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TierReport {
    /// The tier in use.
    pub tier: Tier,
    /// It works; where it does not, no command is started.
    pub works: bool,
    /// What holds.
    pub guarantees: Vec<&'static str>,
    /// What does not.
    pub missing: Vec<&'static str>,
    /// Every tier that confines, strongest first.
    pub tiers: Vec<TierCheck>,
}

/// In every tier.
const ALWAYS: [&str; 6] = [
    "each command has a supervisor that ends its whole process tree on cancel, on timeout and when \
     Weir dies, also processes that detached themselves",
    "a command is started at most once, and how it ended can be looked up after a crash",
    "no new privileges: set-user-id programs such as sudo do not work",
    "the environment is filtered: no variable that looks like a key is passed",
    "no core dumps; limits on open files, output and wall time",
    "no terminal: a command cannot read what the person types",
];

const CONFINED: [&str; 4] = [
    "files: only the workspace and what was granted can be written; protected files and .git \
     internals there cannot",
    "ignored files, keys and Weir's own state cannot be read, also through links",
    "network: none, and where hosts were granted, through a proxy that lets through those",
    "system calls that reach other processes, namespaces, mounts, the kernel or a terminal's input \
     are refused; so are 32-bit programs, io_uring and set-user-id bits",
];

const OWN_VIEW: [&str; 3] = [
    "a command sees no processes, shared memory or network of the machine, not its loopback either, \
     and ends with its supervisor whatever happens",
    "/tmp, /run and /dev are its own: no socket of the container engine, of the message bus, of a \
     key agent or of the display is there",
    "no capabilities",
];

const LANDLOCK: [&str; 2] = [
    "sockets: Unix ones in folders that may be written and TCP at the loopback, between processes of \
     the command only; with hosts granted, the proxy",
    "no capabilities",
];

const MISSING_NONE: [&str; 4] = [
    "files: a command can read and write whatever your user can, inside and outside the workspace",
    "network: a command can reach whatever your user can",
    "system calls are not filtered, and a command sees and can signal your user's other processes, \
     its own supervisor included",
    "a command can ask a service outside (cron, a container engine, a service manager) to run \
     something that is then not supervised",
];

const MISSING_OWN_VIEW: [&str; 3] = [
    "what is not ignored can be read outside of the home folder; inside it, the workspace, tools and \
     what was granted",
    "a protected folder that is missing is held by an empty one while a command runs; a file that \
     somebody outside replaces meanwhile is no longer guarded for that command",
    "sockets that programs open in visible folders after a command began can be reached by it",
];

const MISSING_LANDLOCK: [&str; 6] = [
    "what is not ignored can be read outside of the home folder; inside it, the workspace, tools and \
     what was granted; names, sizes and times of all files can be seen",
    "modes, owners, times and attributes of your own files can be changed everywhere",
    "the command lines of other processes can be seen, and other programs of this machine can connect \
     to a server that a command opens at the loopback",
    "no shared memory and no UDP, and /tmp is read-only: $TMPDIR is not",
    "where something ignored lies in the workspace, a command can start at most 64 programs that it \
     built itself in new folders",
    "a process tree ends with its supervisor only as long as Weir, or its next start, finds it",
];

const MISSING_ROOT: &str = "the number of processes is not limited, because you are root: a fork bomb ends at the time limit";

const MISSING_SIGNALS: &str =
    "this version of Landlock (before 6) does not keep commands from signalling your processes";

/// What a tier cannot do, in the one sentence that everybody is told who uses it.
pub fn tier_weakness(tier: Tier) -> Option<&'static str> {
    match tier {
        Tier::None => {
            Some("commands are not confined here: each can do what your user can, and so each asks")
        }
        Tier::Landlock => Some(
            "commands are confined by Landlock here: they share /tmp (read-only), processes and loopback \
             with this machine, and have no UDP",
        ),
        Tier::Bubblewrap | Tier::Namespaces => None,
    }
}

/// Looks at this machine by trying the tiers: what holds for commands with this wish, and why the
/// others do not work. Changes nothing. `program` is the one that calls
/// [`inside_main`](crate::inside_main): this one, usually.
pub fn probe_tiers(wish: TierWish, program: &Path) -> TierReport {
    let tier = holding_tier(wish, program);
    let tiers = vec![checked_namespaces(program), checked_bubblewrap(), checked_landlock()];
    let works = tier == Tier::None || tiers.iter().any(|check| check.tier == tier && check.works);
    let mut guarantees = ALWAYS.to_vec();
    let mut missing: Vec<&'static str> = Vec::new();
    match tier {
        Tier::None => missing.extend(MISSING_NONE),
        Tier::Landlock => {
            guarantees.extend(CONFINED.iter().chain(&LANDLOCK));
            missing.extend(MISSING_LANDLOCK);
            if try_landlock().as_ref().is_ok_and(|version| *version < 6) {
                missing.push(MISSING_SIGNALS);
            }
        }
        Tier::Bubblewrap | Tier::Namespaces => {
            guarantees.extend(CONFINED.iter().chain(&OWN_VIEW));
            missing.extend(MISSING_OWN_VIEW);
        }
    }
    if rustix::process::geteuid().is_root() {
        missing.push(MISSING_ROOT);
    }
    if !works {
        guarantees = vec!["no command is started, because this tier does not work here"];
        missing.clear();
    }
    TierReport { tier, works, guarantees, missing, tiers }
}

fn checked_namespaces(program: &Path) -> TierCheck {
    let tier = Tier::Namespaces;
    match try_namespaces(program) {
        Ok(()) => TierCheck {
            tier,
            works: true,
            detail: "Weir built a sandbox itself".into(),
            remedy: None,
        },
        Err(why) => failed_check(tier, why),
    }
}

fn checked_bubblewrap() -> TierCheck {
    let tier = Tier::Bubblewrap;
    match try_bubblewrap() {
        Ok(program) => TierCheck {
            tier,
            works: true,
            detail: format!("{} built a sandbox", program.display()),
            remedy: None,
        },
        Err(why) => failed_check(tier, why),
    }
}

fn checked_landlock() -> TierCheck {
    let tier = Tier::Landlock;
    match try_landlock() {
        Ok(version) => TierCheck {
            tier,
            works: true,
            detail: format!("version {version}, with seccomp, refused what it should"),
            remedy: None,
        },
        Err(why) => failed_check(tier, why),
    }
}

fn failed_check(tier: Tier, why: &str) -> TierCheck {
    let remedy = tier_remedy(tier, why);
    TierCheck { tier, works: false, detail: why.to_owned(), remedy: Some(remedy) }
}

/// What to do so that a tier works.
pub(super) fn tier_remedy(tier: Tier, why: &str) -> String {
    match tier {
        Tier::None => String::new(),
        Tier::Landlock => "use a kernel of version 6.2 or later with landlock in \
                           /sys/kernel/security/lsm (boot with lsm=landlock,...), and a container \
                           profile that allows its calls"
            .into(),
        Tier::Bubblewrap if why.contains("no bwrap on PATH") => {
            "install the package bubblewrap".into()
        }
        Tier::Bubblewrap if why.contains("can be changed") => {
            "install the package bubblewrap of your system, owned by root".into()
        }
        Tier::Bubblewrap if why.contains("nknown option") => {
            "install a newer bubblewrap; 0.8 is known to work".into()
        }
        Tier::Bubblewrap | Tier::Namespaces => namespaces_remedy(),
    }
}

/// Which switch of the system forbids namespaces, if one is known.
fn namespaces_remedy() -> String {
    const SWITCHES: [(&str, &str, &str); 3] = [
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
        (
            "/proc/sys/kernel/unprivileged_userns_clone",
            "0",
            "sysctl kernel.unprivileged_userns_clone=1",
        ),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "install the package bubblewrap, whose AppArmor profile may build them, or sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ];
    let off = SWITCHES.iter().find(|(file, value, _)| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == *value)
    });
    match off {
        Some((file, value, remedy)) => format!("{file} is {value}: as root, {remedy}"),
        None => "allow user namespaces and a fresh /proc for this user or container".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_the_report_says_plainly_what_each_tier_does_not_hold() {
        // No program of Weir's: the tier that needs one says so.
        let program = Path::new("/bin/true");
        let none = probe_tiers(TierWish::Exactly(Tier::None), program);
        assert!(none.works && none.missing.iter().any(|line| line.starts_with("files:")));
        assert!(none.missing.iter().any(|line| line.starts_with("network:")));
        assert!(!none.guarantees.iter().any(|line| line.starts_with("files:")));
        let json = serde_json::to_value(&none).expect("a report is plain data");
        assert_eq!(json["tier"], "none");
        let auto = probe_tiers(TierWish::Auto, program);
        assert!(auto.works, "{auto:?}");
        for check in &auto.tiers {
            assert_eq!(check.works, check.remedy.is_none(), "{check:?}");
            let exactly = probe_tiers(TierWish::Exactly(check.tier), program);
            assert_eq!(exactly.works, check.works);
            assert!(!exactly.guarantees.is_empty());
        }
    }
}
