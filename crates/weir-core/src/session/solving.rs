//! What of a run could become a recipe (M5): what was said, and its calls in the order in which they
//! were asked for. Bounded, whatever the run does. Not here: what is made of it (`recipe::learn`).

use serde::{Deserialize, Serialize};

use crate::event::{CallFinished, RunFinished, RunStatus, RunTrigger};
use crate::ids::CallId;
use crate::message::{MessageBlock, plain_text};
use crate::recipe::{SHAPE_CALLS_MAX, SHAPE_CALLS_MIN, SolvedCall, SolvedRun};
use crate::sorting::sort_stably_by_key;
use crate::tool::ToolGroup;

use super::{Session, UndeliveredInput};

/// Most bytes of the arguments of all calls of a run.
const INPUT_BYTES_MAX: usize = 24_000;
/// Most characters of what was said: a task, not a document.
const SAID_CHARS_MAX: usize = 2_000;

/// A run that is under way, as an example.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SolvingRun {
    said: String,
    calls: Vec<(CallId, SolvedCall)>,
    bytes: usize,
    /// An input was delivered.
    heard: bool,
    /// Another one was, while it was under way.
    corrected: bool,
    /// Nothing is learned from it: a call failed, a person corrected it, it is too long.
    spoiled: bool,
}

impl SolvingRun {
    pub(super) fn for_trigger(trigger: RunTrigger) -> SolvingRun {
        // What a schedule or another agent wants has its own prompt already.
        SolvingRun { spoiled: trigger != RunTrigger::User, ..SolvingRun::default() }
    }

    /// An input is delivered. One that comes later than the first is a correction.
    pub(super) fn note_input(&mut self, queued: &UndeliveredInput) {
        let text = plain_text(&queued.content);
        let attached =
            queued.content.iter().any(|block| !matches!(block, MessageBlock::Text { .. }));
        let again = self.heard;
        self.corrected |= again;
        self.heard = true;
        let long = text.chars().count() > SAID_CHARS_MAX;
        // A command of the person's own is a recipe already.
        let command = text.trim_start().starts_with('/');
        self.spoiled |= again || attached || long || command || queued.scheduled;
        if !self.spoiled {
            self.said = text;
        }
    }

    /// Whether the person said something while it was under way.
    pub(super) fn is_corrected(&self) -> bool {
        self.corrected
    }

    fn add_call(&mut self, id: CallId, call: SolvedCall) {
        self.bytes += call.input.to_string().len();
        if self.calls.len() >= SHAPE_CALLS_MAX || self.bytes > INPUT_BYTES_MAX {
            self.spoil_example();
        }
        if !self.spoiled {
            self.calls.push((id, call));
        }
    }

    pub(super) fn spoil_example(&mut self) {
        self.spoiled = true;
        self.calls.clear();
    }
}

/// A call was answered. Those that only steer the agent are no part of what was done.
pub(super) fn note_finished_call(s: &mut Session, f: &CallFinished) {
    // Of a long run nothing is learned: its calls are not copied for that.
    if s.run.as_ref().is_none_or(|run| run.solving.spoiled) {
        return;
    }
    let steers = s.find_tool(&f.tool).is_some_and(|tool| tool.group == ToolGroup::Agent);
    // As it was written: words of handles are nothing to learn.
    let input = s.find_call(f.call).map(|call| call.written_input().clone());
    let Some(run) = s.run.as_mut().filter(|_| !steers) else { return };
    match input.filter(|_| f.ok) {
        Some(input) => run.solving.add_call(f.call, SolvedCall { tool: f.tool.clone(), input }),
        None => run.solving.spoil_example(),
    }
}

/// The run that ends, as an example; `None`: nothing is to be learned from it.
pub(super) fn solved_run(s: &Session, f: &RunFinished) -> Option<SolvedRun> {
    let config = s.config.as_ref()?;
    let policy = config.recipes;
    // What followed a recipe speaks for that recipe; sub-agents learn nothing.
    let new = f.recipe.is_none() && config.depth == 0 && !policy.off && policy.learn;
    let completed = f.status == RunStatus::Completed && f.denials.is_empty();
    let run = s.run.as_ref().filter(|run| new && completed && run.id == f.run)?;
    let SolvingRun { said, calls, spoiled, .. } = &run.solving;
    let fits = !*spoiled && !said.trim().is_empty();
    if !fits || calls.len() < SHAPE_CALLS_MIN {
        return None;
    }
    // Calls that ran beside each other were answered in any order.
    let mut calls = calls.clone();
    sort_stably_by_key(&mut calls, |(id, _)| *id);
    Some(SolvedRun {
        session: s.id.clone(),
        run: f.run,
        workspace: config.workspace.clone(),
        profile: config.profile.name.clone(),
        ts: s.last,
        said: said.clone(),
        calls: calls.into_iter().map(|(_, call)| call).collect(),
        label: s.label.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::InputId;

    fn queued(text: &str) -> UndeliveredInput {
        let content = vec![MessageBlock::text(text.to_string())];
        UndeliveredInput { input: InputId(1), content, added: Vec::new(), scheduled: false }
    }

    fn call(bytes: usize) -> SolvedCall {
        SolvedCall { tool: "read_file".into(), input: json!({ "path": "x".repeat(bytes) }) }
    }

    #[test]
    fn m5_only_what_a_person_asked_for_in_one_message_is_an_example() {
        let heard = |trigger: RunTrigger, said: &[UndeliveredInput]| {
            let mut solving = SolvingRun::for_trigger(trigger);
            said.iter().for_each(|queued| solving.note_input(queued));
            (!solving.spoiled, solving.corrected)
        };
        assert_eq!(heard(RunTrigger::User, &[queued("Tidy up")]), (true, false));
        assert_eq!(heard(RunTrigger::User, &[queued("Tidy up"), queued("No!")]), (false, true));
        for trigger in [RunTrigger::Agent, RunTrigger::Schedule, RunTrigger::Resume] {
            assert!(!heard(trigger, &[queued("Tidy up")]).0, "{trigger:?}");
        }
        assert!(!heard(RunTrigger::User, &[queued("/tidy up")]).0, "a command of the person's own");
        assert!(!heard(RunTrigger::User, &[queued(&"x".repeat(2_001))]).0, "a document");
        let scheduled = UndeliveredInput { scheduled: true, ..queued("Tidy up") };
        assert!(!heard(RunTrigger::User, &[scheduled]).0, "a schedule");
    }

    #[test]
    fn m5_a_run_takes_bounded_room_as_an_example() {
        let calls = |count: u32, bytes: usize| {
            let mut solving = SolvingRun::for_trigger(RunTrigger::User);
            (1..=count).for_each(|n| solving.add_call(CallId(n), call(bytes)));
            (solving.spoiled, solving.calls.len())
        };
        assert_eq!(calls(16, 10), (false, 16));
        assert_eq!(calls(17, 10), (true, 0));
        assert_eq!(calls(100_000, 10), (true, 0));
        assert_eq!(calls(2, 13_000), (true, 0));
    }
}
