//! Scheduled agents (M7): who is due, who may begin, and what came of it.
//!
//! The [`Scheduler`] waits, claims and starts; what is due of one agent is decided in `due`, whose
//! turn it is in `turns`, what a calendar says in `calendar`. Not here: what a run is (a session
//! like any other, opened by whoever implements [`Starter`](crate::ports::Starter)).

pub mod calendar;
mod course;
mod due;
mod follow;
mod known;
mod scheduler;
mod turns;

pub use course::Course;
pub use due::{Wait, followers};
pub use follow::{ScheduledRun, follow, given_name, saying};
pub use known::{Known, Unusable, known};
pub use scheduler::{Scheduler, SchedulerParts, SchedulerSettings, Tell, Told};
