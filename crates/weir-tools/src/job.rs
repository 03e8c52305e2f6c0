//! What the background job tools share: their effects and how a job is described.

use weir_core::tool::{EffectClass, Effects};
use weir_engine::ports::{CallPlan, CommandEnd, JobInfo};

use crate::text;

/// A plan that touches one job of this session.
pub(crate) fn plan_for_job(class: EffectClass, job: &str, summary: String) -> CallPlan {
    CallPlan::new(class, Effects { jobs: vec![job.to_owned()], ..Effects::default() }, summary)
}

/// `j3 (cargo watch): running for 12.0 s, 4.1 kB of output`.
pub(crate) fn describe_job(info: &JobInfo) -> String {
    let state = match &info.end {
        None => format!("running for {}", text::duration_text(info.age_ms)),
        Some(end) => self::describe_end(end),
    };
    format!(
        "{} ({}): {state}, {} of output",
        info.job,
        text::one_line(&info.command, 80),
        text::size_text(info.bytes)
    )
}

/// How a command ended, in words.
pub(crate) fn describe_end(end: &CommandEnd) -> String {
    match end {
        CommandEnd::Exited { code } => format!("exit code {code}"),
        CommandEnd::Signaled { signal } => format!("ended by signal {signal}"),
        CommandEnd::TimedOut => "timed out; all its processes were ended".into(),
        CommandEnd::Cancelled => "cancelled; all its processes were ended".into(),
        CommandEnd::Orphaned => "ended with the engine that had started it".into(),
        CommandEnd::NotStarted { why } => format!("could not be started: {why}"),
    }
}
