//! What the first process inside a sandbox is told, and what it says to the supervisor. Not here: who
//! starts it (`tier`, `supervise`), and what it does (`inside`).

use serde::{Deserialize, Serialize};
use weir_engine::ports::CommandEnd;

/// The hidden subcommand.
pub const INSIDE: &str = "__inside";

/// What it is told, as its second argument.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct InsideOrders {
    /// Processor time of each process.
    pub(crate) cpu_seconds: Option<u64>,
    /// Processes at once.
    pub(crate) processes: u64,
    /// Ports of loopback here that lead out: to the proxy, or to the machine's own loopback.
    pub(crate) ports: Vec<u16>,
    /// Ports here that are found at the machine's loopback.
    pub(crate) serves: Vec<u16>,
    /// The sandbox is still to be built, from the layout that comes first with the input.
    pub(crate) room: Option<SandboxStage>,
}

/// A line to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inside", rename_all = "snake_case")]
pub(crate) enum InsideMessage {
    /// The sandbox is built and the shell is started next: from here on something of the command may have
    /// happened, whatever comes.
    Starting,
    /// The shell runs.
    Started,
    /// It cannot be started.
    Failed {
        /// The reason, as a sentence for people.
        why: String,
    },
    /// The shell ended; others may still be there.
    Ended {
        /// How the command ended.
        end: CommandEnd,
    },
}

/// How far a sandbox is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxStage {
    /// Nothing is made.
    Outside,
    /// In the namespaces, with the machine's files still there.
    Within {
        /// User and group outside.
        user: u32,
        group: u32,
    },
}
