//! What engine and supervisor say to each other over the control socket: one request line, single
//! bytes that command, and report lines. Not here: who sends what when.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_engine::ports::{CommandConfinement, CommandEnd, CommandOutcome};

use crate::limits::CommandLimits;

/// The only command after the request: end the tree, it is cancelled.
pub(crate) const CANCEL: u8 = b'c';

/// A request or `started.json` longer than this is refused. A command longer than 128 KiB cannot
/// be started by the kernel, and escaping makes a byte six at most.
pub(crate) const REQUEST_BYTES_MAX: usize = 1 << 20;

/// What is to run. The folder of the record is the supervisor's last argument, the
/// working folder and the environment are its own: neither needs to be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandRequest {
    /// For the shell.
    pub(crate) command: String,
    /// Wall time.
    pub(crate) timeout_ms: u64,
    /// Output in the result.
    pub(crate) keep_bytes: usize,
    /// A job: standard input is open, and it lasts until its last process is gone.
    pub(crate) background: bool,
    /// It runs in a terminal of its own.
    #[serde(default)]
    pub(crate) terminal: bool,
    /// A service: its standard output goes where progress goes, as it is, and only standard error is
    /// kept. Standard input is open.
    #[serde(default)]
    pub(crate) service: bool,
    /// Bounds that hold for every command.
    pub(crate) limits: CommandLimits,
    /// What it may touch.
    #[serde(default)]
    pub(crate) confine: CommandConfinement,
    /// The program that was tried, for the tier that needs it.
    #[serde(default)]
    pub(crate) bubblewrap: Option<PathBuf>,
    /// The way out, when hosts were granted.
    #[serde(default)]
    pub(crate) way: Option<ProxyRoute>,
}

/// What the engine sends first: the request, and what is nobody's to keep. Unlike the request it is
/// written nowhere.
#[derive(Serialize, Deserialize)]
pub(crate) struct SupervisorOrder {
    /// What is to run.
    pub(crate) request: CommandRequest,
    /// Values that are taken out of what the command prints.
    #[serde(default)]
    pub(crate) secrets: Vec<String>,
}

/// Where the proxy listens for this command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProxyRoute {
    /// For who is in a network namespace.
    pub(crate) socket: PathBuf,
    /// For who is not, on loopback,
    pub(crate) port: u16,
    /// with this word as user name.
    pub(crate) word: String,
}

/// A line from the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum SupervisorReport {
    /// The shell runs.
    Started,
    /// All is over; the last line.
    Ended(CommandEnding),
}

/// How a command ended: also the content of `end.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandEnding {
    /// How the command ended.
    pub(crate) end: CommandEnd,
    /// Head and tail of the output.
    pub(crate) output: String,
    /// Bytes of all output.
    pub(crate) bytes: u64,
    /// Wall time.
    pub(crate) duration_ms: u64,
    /// What the sandbox refused it.
    #[serde(default)]
    pub(crate) refused: Vec<String>,
}

impl CommandEnding {
    /// It never ran.
    pub(crate) fn not_started(why: impl Into<String>) -> CommandEnding {
        CommandEnding {
            end: CommandEnd::NotStarted { why: why.into() },
            output: String::new(),
            bytes: 0,
            duration_ms: 0,
            refused: Vec::new(),
        }
    }
}

impl From<CommandEnding> for CommandOutcome {
    fn from(ending: CommandEnding) -> CommandOutcome {
        let CommandEnding { end, output, bytes, duration_ms, refused } = ending;
        CommandOutcome { end, output, bytes, duration_ms, refused }
    }
}
