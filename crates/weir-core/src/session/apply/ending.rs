//! The fold of what ends a run: the check of its answer, limits, its end. Not here: everything before.

use std::sync::Arc;

use crate::event::{CancelCause, LimitLevel, LimitReached, OutputChecked, RunFinished, RunStatus};
use crate::profile::LimitName;
use crate::session::{RunPhase, Session, solving};

/// Corrections that a final answer may need before the run fails (`--output-schema`).
const MISMATCHES_MAX: u32 = 2;
/// How often `StopReason` hooks may keep one run from ending (G11).
const STOPS_REFUSED_MAX: u32 = 5;

pub(super) fn output_checked(s: &mut Session, f: &OutputChecked) {
    let Some(run) = &mut s.run else { return };
    if let Some(reason) = &f.kept_going {
        run.stops_refused += 1;
        if run.stops_refused > STOPS_REFUSED_MAX {
            let text = format!(
                "Hooks kept the run from ending {STOPS_REFUSED_MAX} times; the last one said: \
                 {reason}"
            );
            s.end_run(RunStatus::Failed, Some(text));
            return;
        }
        run.phase = RunPhase::Between;
        s.pending.push_composed(format!("A hook says that the work is not done: {reason}"));
        return;
    }
    run.output.clone_from(&f.output);
    let Some(mismatch) = &f.mismatch else {
        s.complete_run();
        return;
    };
    run.mismatches += 1;
    if run.mismatches > MISMATCHES_MAX {
        let text = format!("The final answer does not match the output schema: {mismatch}");
        s.end_run(RunStatus::Failed, Some(text));
        return;
    }
    run.phase = RunPhase::Between;
    s.pending.push_composed(format!(
        "Your final answer must be one JSON value that matches the schema, and nothing else. \
         {mismatch} Answer again."
    ));
}

pub(super) fn limit_reached(s: &mut Session, f: &LimitReached) {
    if f.limit == LimitName::Window {
        let text = s.overflow_error();
        s.end_run(RunStatus::Failed, text);
        return;
    }
    let Some(config) = s.config.clone() else { return };
    let spent = s.spent_in_all();
    let Some(run) = &mut s.run else { return };
    match f.level {
        LimitLevel::Soft => {
            run.soft_said = true;
            let left = (f64::from(config.limits.max_iterations) - f.value).max(0.0);
            s.pending.push_composed(format!(
                "Note: {} of {} model calls of this run are used. Wrap up: finish what matters \
                 most within the {left} that are left, then give the result.",
                f.value, config.limits.max_iterations
            ));
        }
        LimitLevel::Hard if f.limit == LimitName::RunTimeout => {
            run.cancel = Some((CancelCause::Timeout, "the time limit".into()));
        }
        LimitLevel::Hard => {
            let (status, text) = run.limit_end(&config, f, spent);
            s.end_run(status, Some(text));
        }
    }
}

pub(super) fn run_finished(s: &mut Session, f: &RunFinished) {
    s.found.clear();
    s.switching = None;
    s.falling = None;
    s.condensing = None;
    s.solved = solving::solved_run(s, f).map(Arc::new);
    s.run = None;
    s.finished = Some(f.clone());
    if s.open_question().is_none() {
        s.turn = None;
    }
}
