//! Facts in words, for line mode: what a call does, how it ended, how a run ended. Pure; everything
//! is made safe. Not here: the model's text as it streams, and what asks the person.

use std::collections::BTreeMap;

use weir_core::event::{CallFinished, CallJudged, Event, RunFinished, RunStatus};
use weir_core::ids::CallId;
use weir_core::tool::PlanStatus;
use weir_core::view::plain::visible_text;

use crate::app::notes::{self, Loud};
use crate::words::{
    count_text, duration_text, format_dollars, one_line, run_status_text, shorten_text, stopped_by,
    to_sentence,
};

/// Most calls that are remembered at once; a turn has far fewer.
const CALLS_MAX: usize = 1_000;
/// Longest description of a call, in characters.
const ABOUT_CHARACTERS_MAX: usize = 200;
/// Lines of the task list that are said.
const TASKS_MAX: usize = 50;
/// Files that are named at the end of a run.
const FILES_MAX: usize = 8;

/// Whose words a line has: what it is coloured by, where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineVoice {
    /// What is read.
    Text,
    /// Whose text follows: a line before it.
    Label,
    /// What tools do.
    Tool,
    /// In passing.
    Quiet,
    /// It went well.
    Good,
    /// Look at this.
    Warn,
    /// It went wrong.
    Bad,
}

/// A line to be printed.
pub(super) type VoicedLine = (LineVoice, String);

/// What is known of the calls of the run that is on.
#[derive(Debug, Default)]
pub(super) struct KnownCalls {
    known: BTreeMap<CallId, KnownCall>,
}

#[derive(Debug)]
struct KnownCall {
    tool: String,
    about: String,
    /// It changes something: it is said when it begins, too.
    changes: bool,
}

impl KnownCalls {
    /// Nothing is known any more.
    pub(super) fn forget_calls(&mut self) {
        self.known.clear();
    }

    /// What a fact says; empty: nothing that is said in this way.
    pub(super) fn describe_event(&mut self, event: &Event) -> Vec<VoicedLine> {
        match event {
            Event::CallProposed(f) => {
                let about = argument_summary(&f.input);
                let call = KnownCall { tool: one_line(&f.tool), about, changes: true };
                self.known.insert(f.call, call);
                while self.known.len() > CALLS_MAX {
                    self.known.pop_first();
                }
                Vec::new()
            }
            Event::CallJudged(f) => {
                self.note_judgement(f);
                Vec::new()
            }
            Event::CallStarted(f) => match self.known.get(&f.call) {
                Some(call) if call.changes => vec![(LineVoice::Tool, call_line(call, "runs"))],
                Some(_) | None => Vec::new(),
            },
            Event::CallReconciled(f) => {
                let what = format!("runs again, because it had not happened: {}", f.evidence);
                self.about_call(f.call, LineVoice::Tool, &one_line(&what))
            }
            Event::CallFinished(f) => vec![self.describe_finish(f)],
            Event::CallUnknown(f) => {
                let what = format!(
                    "outcome unknown: {} Look whether it happened before it is done again.",
                    to_sentence(&f.reason)
                );
                let about = self.known.get(&f.call).map(|call| call.about.clone());
                let tool = one_line(&f.tool);
                let call = KnownCall { tool, about: about.unwrap_or_default(), changes: true };
                vec![(LineVoice::Warn, call_line(&call, &what))]
            }
            Event::PlanUpdated(f) => {
                let done = f.items.iter().filter(|item| item.status == PlanStatus::Done).count();
                let head = format!("tasks: {done} of {} done", f.items.len());
                let items = f.items.iter().take(TASKS_MAX).map(|item| {
                    let how = match item.status {
                        PlanStatus::Pending => "to do",
                        PlanStatus::InProgress => "under way",
                        PlanStatus::Done => "done",
                    };
                    (LineVoice::Quiet, format!("  {how}: {}", one_line(&item.text)))
                });
                [(LineVoice::Quiet, head)].into_iter().chain(items).collect()
            }
            Event::RunFinished(f) => {
                self.forget_calls();
                run_end_lines(f)
            }
            Event::ImageProduced(f) => {
                let what = format!("a picture was made: {}", one_line(&f.media_type));
                vec![(LineVoice::Quiet, what)]
            }
            event => agent_report(event).map_or_else(|| fact_note_lines(event), |line| vec![line]),
        }
    }

    fn note_judgement(&mut self, fact: &CallJudged) {
        if let Some(call) = self.known.get_mut(&fact.call) {
            let summary = one_line(&fact.inspection.summary);
            if !summary.is_empty() {
                call.about = shorten_text(&summary, ABOUT_CHARACTERS_MAX);
            }
            call.changes = fact.inspection.effects.changes_world();
        }
    }

    fn describe_finish(&mut self, fact: &CallFinished) -> VoicedLine {
        let about = self.known.remove(&fact.call).map(|call| call.about).unwrap_or_default();
        let call = KnownCall { tool: one_line(&fact.tool), about, changes: false };
        let summary = shorten_text(&one_line(&fact.summary), ABOUT_CHARACTERS_MAX);
        let mut what = match (fact.ok, fact.duration_ms) {
            (true, ms) => format!("done in {}", duration_text(ms)),
            (false, 0) => "not done".into(),
            (false, ms) => format!("failed after {}", duration_text(ms)),
        };
        if !summary.is_empty() && summary != call.about {
            what.push_str(&format!(": {summary}"));
        }
        if let Some(why) = &fact.withheld {
            what.push_str(&format!("; its result is withheld: {}", one_line(why)));
        }
        (if fact.ok { LineVoice::Tool } else { LineVoice::Bad }, call_line(&call, &what))
    }

    fn about_call(&self, call: CallId, voice: LineVoice, what: &str) -> Vec<VoicedLine> {
        self.known.get(&call).map(|call| (voice, call_line(call, what))).into_iter().collect()
    }
}

fn call_line(call: &KnownCall, what: &str) -> String {
    let between = if call.about.is_empty() { "" } else { ", " };
    format!("tool {}{between}{}: {what}", call.tool, call.about)
}

/// The first short text of the arguments: mostly a path or a command.
fn argument_summary(input: &serde_json::Value) -> String {
    let fields = input.as_object().into_iter().flatten();
    let text = fields.filter_map(|(_, value)| value.as_str()).next().unwrap_or_default();
    shorten_text(&one_line(text), ABOUT_CHARACTERS_MAX)
}

fn fact_note_lines(event: &Event) -> Vec<VoicedLine> {
    let told = notes::fact_note(event).map(|(loud, text)| (voice_for_tone(loud), text));
    told.into_iter().collect()
}

/// The voice for a line that is so loud.
pub(super) fn voice_for_tone(loud: Loud) -> LineVoice {
    match loud {
        Loud::Quiet | Loud::Mark => LineVoice::Quiet,
        Loud::Good => LineVoice::Good,
        Loud::Warn => LineVoice::Warn,
        Loud::Bad => LineVoice::Bad,
    }
}

/// What sub-agents do (M6).
fn agent_report(event: &Event) -> Option<VoicedLine> {
    Some(match event {
        Event::AgentSpawned(f) => {
            let task = shorten_text(&one_line(&f.task), ABOUT_CHARACTERS_MAX);
            (LineVoice::Tool, format!("agent {}: begins: {task}", one_line(&f.profile)))
        }
        Event::AgentFinished(f) => {
            let (loud, word) = run_status_text(f.status);
            let error = f.error.as_deref().map(|why| format!(": {}", one_line(why)));
            let cost =
                f.cost_usd.map(|usd| format!(", {}", format_dollars(usd))).unwrap_or_default();
            let tokens = f.usage.total_tokens();
            let error = error.unwrap_or_default();
            let word = word.to_lowercase();
            (voice_for_tone(loud), format!("agent: {word}{error} ({tokens} tokens{cost})"))
        }
        _ => return None,
    })
}

/// How a run ended, what it cost, what it changed.
fn run_end_lines(fact: &RunFinished) -> Vec<VoicedLine> {
    let (loud, word) = run_status_text(fact.status);
    let mut lines = Vec::new();
    let stopped = stopped_by(fact);
    let word = stopped.as_deref().unwrap_or(word);
    if let Some(error) = fact.error.as_ref().filter(|_| stopped.is_none()) {
        // What went wrong, why, and what to do may be several lines.
        let text = error.lines().map(visible_text).collect::<Vec<_>>().join("\n");
        let voice = if fact.status == RunStatus::Failed { LineVoice::Bad } else { LineVoice::Warn };
        lines.push((voice, format!("error: {text}")));
    }
    let cost = match fact.cost_usd {
        Some(usd) => format!(", cost {}", format_dollars(usd)),
        None => ", cost unknown".into(),
    };
    let calls = count_text(fact.tool_calls as usize, "tool call");
    let iterations = count_text(fact.iterations as usize, "model call");
    let tokens = fact.usage.total_tokens();
    lines.push((
        voice_for_tone(loud),
        format!("{}: {iterations}, {calls}, {tokens} tokens{cost}.", lowercase_first(word)),
    ));
    if !fact.changed_files.is_empty() {
        let files = list_files(&fact.changed_files);
        lines.push((LineVoice::Quiet, format!("changed: {files} (/undo takes it back)")));
    }
    if !fact.marked_files.is_empty() {
        let files = list_files(&fact.marked_files);
        let what = "read these before you use them, they were written while text from outside \
                    and private data were in the context";
        lines.push((LineVoice::Warn, format!("{what}: {files}")));
    }
    for denial in &fact.denials {
        let what = if denial.summary.is_empty() { &denial.tool } else { &denial.summary };
        let (by, why) = (one_line(&denial.by), one_line(&denial.reason));
        lines.push((LineVoice::Quiet, format!("denied: {} (by {by}: {why})", one_line(what))));
    }
    lines
}

/// The first letter small.
fn lowercase_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_lowercase);
    first.into_iter().flatten().chain(letters).collect()
}

fn list_files(files: &[String]) -> String {
    let mut names: Vec<String> = files.iter().take(FILES_MAX).map(|name| one_line(name)).collect();
    let more = files.len() - names.len();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
