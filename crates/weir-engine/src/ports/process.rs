//! Processes: commands under supervisors (D6). Not here: how one is confined.

use std::path::PathBuf;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId};
use weir_core::tool::Tier;

use super::ProgressSink;
pub use crate::workspace::CommandConfinement;

/// A command to run under a supervisor.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// Id of the session.
    pub session: SessionId,
    /// The call: it also names the supervisor's record, so a second start of the same call is
    /// refused.
    pub call: CallId,
    /// Given to `/bin/sh -c` (bash where there is one).
    pub command: String,
    /// Absolute folder.
    pub cwd: PathBuf,
    /// Wall time before the whole tree ends.
    pub timeout_ms: u64,
    /// Output kept in memory for the result: half from the head, half from the tail. All of it goes
    /// to the supervisor's file, up to its own bound.
    pub keep_bytes: usize,
    /// It goes on after the call returns, as a job.
    pub background: bool,
    /// It runs in a terminal of its own (R7).
    pub terminal: bool,
    /// Paths and hosts that the command may touch.
    pub confine: CommandConfinement,
    /// The variables of the person's environment that the command sees.
    pub variables: Variables,
    /// Secrets that it finds in variables of these names (Z7). Names alone: the values are put in
    /// where the process starts.
    pub secrets: Vec<String>,
}

/// The variables of the person's environment that a command sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variables {
    /// The usual ones, and those that the settings list.
    #[default]
    Listed,
    /// All but what looks like a key: the command runs as if the person had typed it.
    Persons,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum CommandEnd {
    /// By itself.
    Exited {
        /// Exit status.
        code: i32,
    },
    /// By a signal that was not ours.
    Signaled {
        /// Number of the signal.
        signal: i32,
    },
    /// Its time was over; the whole tree was ended.
    TimedOut,
    /// Cancelled; the whole tree was ended.
    Cancelled,
    /// The engine died and did not come back; the supervisor ended the whole tree.
    Orphaned,
    /// It could not be started.
    NotStarted {
        /// The reason, as a sentence for people.
        why: String,
    },
}

/// Output and end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub end: CommandEnd,
    /// Standard output and error as they came, at most `keep_bytes`, a marker line where the middle
    /// was left out; invalid UTF-8 replaced.
    pub output: String,
    /// Bytes of all output.
    pub bytes: u64,
    /// Wall time.
    pub duration_ms: u64,
    /// What the sandbox refused it, each once, at most a few: hosts (`host example.org:443`) and
    /// paths (`path /etc/x`) as far as they can be told.
    pub refused: Vec<String>,
}

/// A background job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its name, unique in the session: `j3`.
    pub job: String,
    /// Command line of the job.
    pub command: String,
    /// Where it can reach outside; `None`: nowhere. Empty: everywhere, since nothing confines it.
    pub reaches: Option<Vec<String>>,
    /// Ports of this machine at which it is reached, if that is all that it has to do with the outside:
    /// its sandbox holds them as long as it runs. Else none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serves_only: Vec<u16>,
    /// Running, or how it ended.
    pub end: Option<CommandEnd>,
    /// Bytes of output so far.
    pub bytes: u64,
    /// Since when, in milliseconds.
    pub age_ms: u64,
}

/// What became of a command whose result was not recorded (D4, class *process*).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandTrace {
    /// The supervisor never began: it can be run (again).
    NeverStarted,
    /// It ended: here is what the supervisor wrote.
    Ended(CommandOutcome),
    /// Cannot be told.
    Unknown {
        /// The reason, as a sentence for people.
        why: String,
    },
}

/// Commands under supervisors, so that no process outlives a killed engine (D6).
#[async_trait]
pub trait Processes: Send + Sync {
    /// How strongly commands are confined here. The same for the life of the program.
    fn tier(&self) -> Tier;
    /// What the confinement here cannot do, in a sentence: with the first command of a session, and
    /// not again.
    fn weakness_once(&self, _session: &SessionId) -> Option<String> {
        None
    }
    /// Whether a command may be given this secret.
    ///
    /// # Errors
    /// Why not, and the way out.
    fn check_secret(&self, name: &str) -> Result<(), String> {
        Err(format!("there is no secret {name:?} for commands"))
    }
    /// Runs a foreground command to its end. `progress` gets output as it comes. On cancel the
    /// whole process tree ends within a second.
    async fn run(
        &self,
        spec: CommandSpec,
        progress: &ProgressSink,
        cancel: &CancellationToken,
    ) -> CommandOutcome;
    /// Starts a background job.
    ///
    /// # Errors
    /// Why it could not start.
    async fn start_job(&self, spec: CommandSpec) -> Result<JobInfo, String>;
    /// Output of a job from byte `offset` on, at most `max` bytes, with its state.
    async fn read_job_output(
        &self,
        session: &SessionId,
        job: &str,
        offset: u64,
        max: usize,
    ) -> Result<(JobInfo, String), String>;
    /// Writes to a job's standard input.
    async fn write_job_input(
        &self,
        session: &SessionId,
        job: &str,
        text: &str,
    ) -> Result<(), String>;
    /// Ends a job and its whole tree.
    async fn kill_job(&self, session: &SessionId, job: &str) -> Result<JobInfo, String>;
    /// Jobs of a session.
    async fn jobs(&self, session: &SessionId) -> Vec<JobInfo>;
    /// Ends all jobs of a session.
    async fn end_all(&self, session: &SessionId);
    /// After a crash: what became of the command of this call. Waits while its supervisor is still
    /// ending it.
    async fn command_trace(&self, session: &SessionId, call: CallId) -> CommandTrace;
}

/// No command can be run: for engines whose tools need none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProcesses;

/// What is said of every command.
const NO_COMMANDS: &str = "commands cannot be run from here";

#[async_trait]
impl Processes for NoProcesses {
    fn tier(&self) -> Tier {
        Tier::None
    }
    async fn run(&self, _: CommandSpec, _: &ProgressSink, _: &CancellationToken) -> CommandOutcome {
        CommandOutcome {
            end: CommandEnd::NotStarted { why: NO_COMMANDS.into() },
            output: String::new(),
            bytes: 0,
            duration_ms: 0,
            refused: Vec::new(),
        }
    }
    async fn start_job(&self, _: CommandSpec) -> Result<JobInfo, String> {
        Err(NO_COMMANDS.into())
    }
    async fn read_job_output(
        &self,
        _: &SessionId,
        _: &str,
        _: u64,
        _: usize,
    ) -> Result<(JobInfo, String), String> {
        Err(NO_COMMANDS.into())
    }
    async fn write_job_input(&self, _: &SessionId, _: &str, _: &str) -> Result<(), String> {
        Err(NO_COMMANDS.into())
    }
    async fn kill_job(&self, _: &SessionId, _: &str) -> Result<JobInfo, String> {
        Err(NO_COMMANDS.into())
    }
    async fn jobs(&self, _: &SessionId) -> Vec<JobInfo> {
        Vec::new()
    }
    async fn end_all(&self, _: &SessionId) {}
    async fn command_trace(&self, _: &SessionId, _: CallId) -> CommandTrace {
        CommandTrace::NeverStarted
    }
}
