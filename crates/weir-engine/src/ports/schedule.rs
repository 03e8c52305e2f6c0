//! What is kept of scheduled agents (M7), and who starts their runs. Not here: when one is due.

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::event::RunStatus;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::schedule::{AgentRun, ScheduledAgent};

use super::StoreError;

/// The kind under which scheduled agents are kept.
pub const KEPT_AGENT: &str = "agent";
/// The kind under which it is kept what a run was given beside its instructions, until it was said.
/// `by`: where it came from.
pub const KEPT_GIVEN: &str = "agent_given";
/// The state of what a run was given.
pub const GIVEN_WAITS: &str = "waits";
/// The same, where the run may answer whoever sent it (U5).
pub const GIVEN_ANSWERS: &str = "answers";
/// What stands before the sender's address in `by` of a mail that a run was given.
pub const MAIL_ORIGIN: &str = "mail from ";
/// The state of an agent that is due when its calendar says so; any other: it is not.
pub const AGENT_ACTIVE: &str = "active";
/// Runs of one agent that stay in its history; older ones that are over go.
pub const AGENT_RUNS_KEPT: usize = 1_000;
/// Milliseconds of an hour.
pub const HOUR_MS: u64 = 3_600_000;

/// The outcome of claiming a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickClaim {
    /// It is the caller's.
    Claimed,
    /// A run of the same agent is not over. A tick that waits stands in the history as skipped; one
    /// that a person wanted now does not.
    Overlaps,
    /// It stands in the history already.
    Taken,
}

/// The remark on a tick that came while a run of its agent was not over.
pub const STILL_RUNNING: &str = "an earlier run of this agent was not over";

/// How many runs of scheduled agents may be under way in the whole store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceLimits {
    /// At once. What waits for a person, or what a person began by hand, takes no place.
    pub at_once: usize,
    /// Begun within an hour; 0: no bound.
    pub per_hour: usize,
    /// The current time, in microseconds since 1970 (UTC).
    pub now: Timestamp,
}

impl PlaceLimits {
    /// The beginning of the hour that ends now.
    pub fn hour_start(&self) -> Timestamp {
        let hour = i64::try_from(HOUR_MS).unwrap_or(i64::MAX).saturating_mul(1_000);
        Timestamp(self.now.micros().saturating_sub(hour))
    }

    /// Up to which moment beginnings count. What began later than this by the clock of then says
    /// that the clock was wrong and was set back: it must not fill an hour that is years away.
    pub fn latest_start(&self) -> Timestamp {
        self.now.plus_ms(HOUR_MS)
    }
}

/// Whether a run could begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunBeginOutcome {
    /// It is under way.
    Begun,
    /// As many as may are under way.
    Full,
    /// As many as may were begun within the hour; the next place is free then.
    HourFull {
        /// When the next one may begin, in microseconds since 1970 (UTC).
        until: Timestamp,
    },
    /// The run does not wait any more, or another process has it.
    Gone,
}

/// A filter of runs of scheduled agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentRunFilter {
    /// Only of this agent.
    pub agent: Option<String>,
    /// Only those that run or ran in this session.
    pub session: Option<SessionId>,
    /// Only those that are not over.
    pub open: bool,
    /// At most so many.
    pub limit: Option<usize>,
}

/// How a run came to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtRest {
    /// It is over.
    Ended {
        /// How the run ended.
        status: RunStatus,
        /// What is to be said of it in the history; may be empty.
        note: String,
    },
    /// It was closed where it was: whoever takes it up again goes on there.
    Closed,
    /// It could not be started, or went down.
    Failed(String),
}

/// Opens and drives the sessions of scheduled agents. Called by the scheduler alone, once for each
/// run that has a place.
#[async_trait]
pub trait RunStarter: Send + Sync {
    /// The name of the session of a new run.
    fn new_session_id(&self) -> SessionId;

    /// Runs until the session is at rest, or closes it where it is when `stop` says so. `run` has a
    /// session: one that exists is taken up again, and nothing is said to it twice. `desk` hears
    /// when the run waits for a person and when it goes on. It must not write the history itself.
    async fn run(
        &self,
        agent: &ScheduledAgent,
        run: &AgentRun,
        desk: &dyn RunDesk,
        stop: CancellationToken,
    ) -> AtRest;
}

/// Places of scheduled runs beyond one store: those of an installation in which everybody has a store of
/// their own. What a person began by hand takes none.
#[async_trait]
pub trait SharedRunPlaces: Send + Sync {
    /// A place for `run`. [`RunBeginOutcome::Gone`] is never the answer. Who is refused is
    /// remembered: places go round among people.
    ///
    /// # Errors
    /// The database refuses; then nothing begins.
    async fn take_place(&self, run: &AgentRun) -> Result<RunBeginOutcome, StoreError>;
    /// `run` takes no place any more. One that had none changes nothing.
    async fn give_back(&self, run: &AgentRun);
    /// Returns when a place may have become free.
    async fn wait_until_freed(&self);
}

/// Where a run says that it waits for a person: it takes no place then.
#[async_trait]
pub trait RunDesk: Send + Sync {
    /// Whether it waits now.
    async fn set_asking(&self, asks: bool);
}
