//! Calls as an editor shows them: what kind they are, what they touch, what they printed and changed. Pure.
//! Not here: the question whether one may run (`crate::permission`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use weir_core::event::{CallFinished, CallProposed};
use weir_core::ids::CallId;
use weir_core::message::plain_text;
use weir_core::tool::{Effects, PathAccess, built_in};
use weir_core::view::streamed::{OUTPUT_BYTES_MAX, push_tail};
use weir_core::view::told::one_line;
use weir_core::view::transcript::{CallEntry, CallStage};
use weir_install::wording::code_fence;

use crate::wire::{
    SessionUpdate, ToolCallChange, ToolCallContent, ToolCallLocation, ToolCallStart,
    ToolCallStatus, ToolKind,
};

use super::diffs::{changed_places, diff_contents};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 200;
/// Bytes of arguments that are told as they are.
const INPUT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a result that are shown.
const RESULT_BYTES_MAX: usize = 64 << 10;
/// Files of one call that are named.
const LOCATIONS_MAX: usize = 50;

/// What an editor was told of a call.
#[derive(Debug, Default)]
struct ToldCall {
    status: Option<ToolCallStatus>,
    /// What it touches was told.
    is_inspected: bool,
    /// What came of it was told.
    is_ended: bool,
    /// The end of what it printed.
    output: String,
    /// Some of that was not told yet.
    has_news: bool,
    /// The terminal of the editor that shows it.
    terminal: Option<String>,
}

/// What an editor was told of the calls of the run that is on.
#[derive(Debug, Default)]
pub(super) struct RenderedCalls {
    told: BTreeMap<CallId, ToldCall>,
}

impl RenderedCalls {
    /// A call was asked for.
    pub(super) fn start_call(&mut self, entry: &CallEntry) -> SessionUpdate {
        let status = status_of(entry.stage);
        self.told.insert(entry.call, ToldCall { status: Some(status), ..ToldCall::default() });
        let proposed = &entry.proposed.fact;
        SessionUpdate::ToolCall(ToolCallStart {
            tool_call_id: entry.call.to_string(),
            title: call_title(entry),
            name: Some(one_line(&proposed.tool)),
            kind: kind_of_name(&proposed.tool),
            status,
            raw_input: told_input(proposed),
        })
    }

    /// Something about a call is new; `None`: nothing that an editor shows.
    pub(super) fn change_call(&mut self, entry: &CallEntry, root: &str) -> Option<SessionUpdate> {
        let told = self.told.entry(entry.call).or_default();
        let mut change =
            ToolCallChange { tool_call_id: entry.call.to_string(), ..ToolCallChange::default() };
        let status = status_of(entry.stage);
        if told.status.replace(status) != Some(status) {
            change.status = Some(status);
        }
        if let Some(judged) = entry.judged.as_deref().filter(|_| !told.is_inspected) {
            told.is_inspected = true;
            let inspection = &judged.inspection;
            change.title = Some(call_title(entry));
            change.kind = kind_of_effects(&inspection.effects);
            let diff = inspection.diff.as_deref();
            let locations = locations_of(&inspection.effects, diff, root);
            change.locations = Some(locations).filter(|found| !found.is_empty());
            let contents = diff.map(|diff| diff_contents(diff, root)).unwrap_or_default();
            change.content = Some(contents).filter(|found| !found.is_empty());
        }
        // Who says no ends the call; what it gave back says why, and comes after that.
        let has_end = entry.finished.is_some() || entry.stage == CallStage::Unknown;
        if has_end && entry.stage.is_over() && !std::mem::replace(&mut told.is_ended, true) {
            let shown = told.terminal.take().map(terminal_content);
            let contents = final_content(entry, root);
            change.content = Some(shown.into_iter().chain(contents).collect());
            change.raw_output = entry.finished.as_deref().and_then(told_output);
            told.output.clear();
            told.has_news = false;
        }
        let is_empty = change
            == ToolCallChange { tool_call_id: entry.call.to_string(), ..ToolCallChange::default() };
        (!is_empty).then_some(SessionUpdate::ToolCallUpdate(change))
    }

    /// A call prints.
    pub(super) fn push_output(&mut self, subject: &str, text: &str) {
        let told = subject.parse::<CallId>().ok().and_then(|call| self.told.get_mut(&call));
        let is_on = |told: &&mut ToldCall| {
            told.status == Some(ToolCallStatus::InProgress) && told.terminal.is_none()
        };
        if let Some(told) = told.filter(is_on) {
            push_tail(&mut told.output, text, OUTPUT_BYTES_MAX);
            told.has_news = true;
        }
    }

    /// A terminal of the editor shows what a call prints, from its beginning.
    pub(super) fn attach_terminal(&mut self, call: CallId, terminal: String) -> SessionUpdate {
        let told = self.told.entry(call).or_default();
        told.output.clear();
        told.has_news = false;
        told.terminal = Some(terminal.clone());
        SessionUpdate::ToolCallUpdate(ToolCallChange {
            tool_call_id: call.to_string(),
            content: Some(vec![terminal_content(terminal)]),
            ..ToolCallChange::default()
        })
    }

    /// Whether a call printed something that was not told yet.
    pub(super) fn has_progress(&self) -> bool {
        self.told.values().any(|told| told.has_news)
    }

    /// What calls printed since.
    pub(super) fn take_progress(&mut self) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for (call, told) in &mut self.told {
            if std::mem::take(&mut told.has_news) {
                let printed = ToolCallContent::text_content(code_fence("", &told.output));
                updates.push(SessionUpdate::ToolCallUpdate(ToolCallChange {
                    tool_call_id: call.to_string(),
                    content: Some(vec![printed]),
                    ..ToolCallChange::default()
                }));
            }
        }
        updates
    }

    /// Calls that were told and are not over.
    pub(super) fn open_calls(&self) -> Vec<CallId> {
        let is_open = |told: &ToldCall| {
            matches!(told.status, Some(ToolCallStatus::Pending | ToolCallStatus::InProgress))
        };
        self.told.iter().filter(|(_, told)| is_open(told)).map(|(call, _)| *call).collect()
    }

    /// The run is over: nothing more is told of its calls, but of those that wait for an answer.
    pub(super) fn forget_run(&mut self) {
        self.told.retain(|_, told| told.status == Some(ToolCallStatus::Pending));
    }
}

fn status_of(stage: CallStage) -> ToolCallStatus {
    match stage {
        CallStage::Proposed | CallStage::Waiting => ToolCallStatus::Pending,
        CallStage::Running => ToolCallStatus::InProgress,
        CallStage::Done => ToolCallStatus::Completed,
        CallStage::Failed | CallStage::NotDone | CallStage::Refused | CallStage::Unknown => {
            ToolCallStatus::Failed
        }
    }
}

/// A call in a line: what it would do once that is known, until then its tool.
pub(crate) fn call_title(entry: &CallEntry) -> String {
    let summary = entry.judged.as_deref().map(|judged| one_line(&judged.inspection.summary));
    let title = match summary.filter(|summary| !summary.is_empty()) {
        Some(summary) => summary,
        None => entry.tool_name(),
    };
    let title = match entry.step_words() {
        Some(step) => format!("{step}: {title}"),
        None => title,
    };
    match title.char_indices().nth(TITLE_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &title[..cut]),
        None => title,
    }
}

fn told_input(proposed: &CallProposed) -> Option<Value> {
    let is_small = proposed.input.to_string().len() <= INPUT_BYTES_MAX;
    is_small.then(|| proposed.input.clone())
}

/// What a call gave back, as the person may see it, for editors that show it otherwise than Markdown.
fn told_output(finished: &CallFinished) -> Option<Value> {
    let text = plain_text(&finished.blocks_for_person());
    if text.trim().is_empty() {
        return None;
    }
    let cut = text.floor_char_boundary(RESULT_BYTES_MAX.min(text.len()));
    Some(match text.len() - cut {
        0 => Value::String(text),
        left => Value::String(format!("{}\n… {left} more bytes", &text[..cut])),
    })
}

/// What a call does, before its effects are known: by what the core itself knows of tools.
fn kind_of_name(tool: &str) -> ToolKind {
    match tool {
        built_in::COMMAND_RUNNER => ToolKind::Execute,
        built_in::FILE_EDITOR => ToolKind::Edit,
        built_in::TEXT_FINDER => ToolKind::Search,
        built_in::PAGE_FETCHER => ToolKind::Fetch,
        built_in::AGENT_SWITCHER => ToolKind::SwitchMode,
        built_in::TASK_LIST_KEEPER
        | built_in::MEMORY_FINDER
        | built_in::MEMORY_KEEPER
        | built_in::PAST_FINDER => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// What a call does, by what it touches; `None`: it touches nothing that says so.
pub(crate) fn kind_of_effects(effects: &Effects) -> Option<ToolKind> {
    let has =
        |wanted: &[PathAccess]| effects.paths.iter().any(|path| wanted.contains(&path.access));
    Some(if !effects.commands.is_empty() {
        ToolKind::Execute
    } else if has(&[PathAccess::MoveFrom, PathAccess::MoveTo]) {
        ToolKind::Move
    } else if has(&[PathAccess::Write, PathAccess::Create]) || !effects.changes.is_empty() {
        ToolKind::Edit
    } else if has(&[PathAccess::Delete]) {
        ToolKind::Delete
    } else if !effects.hosts.is_empty() || !effects.queries.is_empty() {
        ToolKind::Fetch
    } else if !effects.searches.is_empty() || has(&[PathAccess::List]) {
        ToolKind::Search
    } else if has(&[PathAccess::Read]) {
        ToolKind::Read
    } else {
        return None;
    })
}

/// A path of the workspace as editors name it.
pub(crate) fn absolute_path(root: &str, path: &str) -> String {
    Path::new(root).join(path).display().to_string()
}

/// The files that a call touches; those that it changes with the line.
pub(crate) fn locations_of(
    effects: &Effects,
    diff: Option<&str>,
    root: &str,
) -> Vec<ToolCallLocation> {
    let mut found: Vec<ToolCallLocation> = Vec::new();
    for place in diff.map(|diff| changed_places(diff, root)).unwrap_or_default() {
        found.push(ToolCallLocation { path: place.path, line: Some(place.line) });
    }
    for path in effects.paths.iter().filter(|path| path.ignored.is_none()) {
        let path = absolute_path(root, &path.path);
        if !found.iter().any(|known| known.path == path) {
            found.push(ToolCallLocation { path, line: None });
        }
    }
    found.truncate(LOCATIONS_MAX);
    found
}

/// What stands of a call that is over: its changes where it made them, else what it gave back.
fn final_content(entry: &CallEntry, root: &str) -> Vec<ToolCallContent> {
    let diff = entry.judged.as_deref().and_then(|judged| judged.inspection.diff.as_deref());
    let mut contents = match (entry.stage, diff) {
        (CallStage::Done, Some(diff)) => diff_contents(diff, root),
        _ => Vec::new(),
    };
    if contents.is_empty() {
        contents.extend(entry.finished.as_deref().and_then(result_content));
    }
    if let (CallStage::Unknown, Some(note)) = (entry.stage, entry.notes.last()) {
        contents.push(ToolCallContent::text_content(format!("Outcome unknown: {}", note.text())));
    }
    contents
}

fn terminal_content(terminal_id: String) -> ToolCallContent {
    ToolCallContent::Terminal { terminal_id }
}

/// What a call gave back, as what it is: words that nobody here wrote, and no Markdown.
fn result_content(finished: &CallFinished) -> Option<ToolCallContent> {
    let text = plain_text(&finished.blocks_for_person());
    let text = if text.trim().is_empty() { finished.summary.clone() } else { text };
    if text.trim().is_empty() {
        return None;
    }
    let cut = text.floor_char_boundary(RESULT_BYTES_MAX.min(text.len()));
    let shown = code_fence("", &text[..cut]);
    Some(ToolCallContent::text_content(match text.len() - cut {
        0 => shown,
        left => format!("{shown}\n\n*({left} more bytes)*"),
    }))
}
