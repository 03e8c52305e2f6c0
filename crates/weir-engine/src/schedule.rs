//! Scheduled agents (M7): who is due, who may begin, and what came of it.
//!
//! The [`Scheduler`] waits, claims and starts; what is due of one agent is decided in `due`, whose
//! turn it is in `turns`, what a calendar says in `calendar`. Not here: what a run is (a session
//! like any other, opened by whoever implements [`RunStarter`](crate::ports::RunStarter)).

pub mod calendar;
mod course;
mod due;
mod follow;
mod known;
mod scheduler;
mod turns;

pub use course::ScheduledRunProgress;
pub use due::{AgentWait, follower_runs};
pub use follow::{ScheduledRun, first_prompt_input, follow_agent_run, given_name};
pub use known::{KnownAgent, UnusableAgent, load_known_agents};
pub use scheduler::{
    Scheduler, SchedulerEvent, SchedulerListener, SchedulerParts, SchedulerSettings,
};
