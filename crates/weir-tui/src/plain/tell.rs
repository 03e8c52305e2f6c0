//! Facts in words, for line mode: what a call does, how it ended, how a run ended. Pure; everything
//! is made safe. Not here: the model's text as it streams, and what asks the person.

use weir_core::event::{CallFinished, Event, RunFinished, RunStatus};
use weir_core::tool::PlanStatus;
use weir_core::view::plain::visible_text;
use weir_core::view::transcript::{CallEntry, CallStage, Transcript};

use crate::app::notes::{self, Loud};
use crate::words::{
    count_text, duration_text, format_dollars, one_line, path_text, run_status_text, shorten_text,
    stopped_by, to_sentence,
};

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

/// What a fact says, after `seen` has taken it in; empty: nothing that is said in this way.
pub(super) fn event_lines(event: &Event, seen: &Transcript) -> Vec<VoicedLine> {
    match event {
        Event::CallStarted(f) => match seen.find_call(f.call).filter(|call| changes_world(call)) {
            Some(call) => vec![(LineVoice::Tool, call_line(call, "runs"))],
            None => Vec::new(),
        },
        Event::CallReconciled(f) => {
            let what = format!("runs again, because it had not happened: {}", f.evidence);
            let call = seen.find_call(f.call);
            let line = call.map(|call| (LineVoice::Tool, call_line(call, &one_line(&what))));
            line.into_iter().collect()
        }
        Event::CallFinished(f) => {
            seen.find_call(f.call).map(|call| describe_finish(f, call)).into_iter().collect()
        }
        Event::CallUnknown(f) => {
            let what = format!(
                "{}: {} Look whether it happened before it is done again.",
                CallStage::Unknown.stage_words(),
                to_sentence(&f.reason)
            );
            let line = match seen.find_call(f.call) {
                Some(call) => call_line(call, &what),
                None => format!("tool {}: {what}", one_line(&f.tool)),
            };
            vec![(LineVoice::Warn, line)]
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
        Event::RunFinished(f) => run_end_lines(f),
        Event::ImageProduced(f) => {
            let at = f.path.as_deref().map(|path| format!(", saved as {}", one_line(path)));
            let what = format!(
                "a picture was made: {}{}",
                one_line(&f.media_type),
                at.unwrap_or_default()
            );
            vec![(LineVoice::Quiet, what)]
        }
        event => agent_report(event).map_or_else(|| fact_note_lines(event), |line| vec![line]),
    }
}

/// Whether it changes something: then it is said when it begins, too. Nobody knows it of one that was
/// not judged.
fn changes_world(call: &CallEntry) -> bool {
    call.judged.as_ref().is_none_or(|fact| fact.inspection.effects.changes_world())
}

/// What it is about.
fn call_subject(call: &CallEntry) -> String {
    let judged = call.judged.as_ref().map(|fact| one_line(&fact.inspection.summary));
    match judged.filter(|summary| !summary.is_empty()) {
        Some(summary) => shorten_text(&summary, ABOUT_CHARACTERS_MAX),
        None => argument_summary(&call.proposed.fact.input),
    }
}

fn describe_finish(fact: &CallFinished, call: &CallEntry) -> VoicedLine {
    let summary = shorten_text(&one_line(&fact.summary), ABOUT_CHARACTERS_MAX);
    let word = call.stage.stage_words();
    let mut what = match call.stage {
        CallStage::Done => format!("{word} in {}", duration_text(fact.duration_ms)),
        CallStage::Failed => format!("{word} after {}", duration_text(fact.duration_ms)),
        _ => word.to_owned(),
    };
    if !summary.is_empty() && summary != call_subject(call) {
        what.push_str(&format!(": {summary}"));
    }
    if let Some(why) = &fact.withheld {
        what.push_str(&format!("; its result is withheld: {}", one_line(why)));
    }
    (if fact.ok { LineVoice::Tool } else { LineVoice::Bad }, call_line(call, &what))
}

fn call_line(call: &CallEntry, what: &str) -> String {
    let subject = call_subject(call);
    let between = if subject.is_empty() { "" } else { ", " };
    let step = call.step_words().map(|words| format!(" ({words})")).unwrap_or_default();
    format!("tool {}{step}{between}{subject}: {what}", call.tool_name())
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
    let mut names: Vec<String> = files.iter().take(FILES_MAX).map(|name| path_text(name)).collect();
    let more = files.len() - names.len();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
