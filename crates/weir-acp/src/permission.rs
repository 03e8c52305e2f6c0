//! Questions to the person as the editor asks them, and what its answers mean. Pure. Not here: when one is
//! asked, and that the first answer from anywhere counts.

use serde_json::Value;
use weir_core::event::{ApprovalLine, ApprovalRequested, Decision, QuestionAsked};
use weir_core::label::Taint;
use weir_core::safe_text::visible_text;
use weir_core::view::told::{
    OFTEN_ASKED, bound_rules_text, grant_text, lines_head, offers_always, one_line, question_line,
};
use weir_core::view::transcript::{PendingAsk, Transcript};
use weir_core::view::visible::lookalike_remarks;
use weir_install::file_view::escape_words;
use weir_install::wording::code_fence;

use crate::render::{call_title, diff_contents, kind_of_effects, locations_of};
use crate::rpc::RpcError;
use crate::wire::{
    PermissionKind, PermissionOption, PermissionOutcome, PermissionParams, PermissionResult,
    ToolCallChange, ToolCallContent, ToolCallStatus,
};

/// Bytes of arguments that are shown.
const ARGUMENT_BYTES_MAX: usize = 64 << 10;
/// Bytes of what a server is and offers that are shown.
const SERVER_BYTES_MAX: usize = 256 << 10;
/// Characters of the rules that stand in the name of an answer.
const RULE_CHARS_MAX: usize = 80;
/// What the answers are called.
const ONCE: &str = "once";
const SESSION: &str = "session";
const ALWAYS: &str = "always";
const DENY: &str = "deny";
/// Beginning of the name of an answer to choose from.
const CHOICE: &str = "choice-";
/// To answer a question in words of one's own.
const IN_WORDS: &str = "words";

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PermissionReply {
    /// A call is allowed or not.
    Decided(Decision),
    /// The answer of this number was chosen.
    Chosen(usize),
    /// A question was answered in these words.
    Said(String),
    /// Nothing was chosen.
    Nothing,
    /// The editor cannot ask: why.
    Unable(String),
}

/// The question to the editor about what waits; `None`: it is one that is answered in words.
pub(crate) fn permission_question(
    session: &str,
    ask: &PendingAsk,
    view: &Transcript,
    root: &str,
) -> Option<PermissionParams> {
    let call = view.find_call(ask.call());
    let judged = call.and_then(|entry| entry.judged.as_deref());
    let effects = judged.map(|judged| &judged.inspection.effects);
    let title = call.map(call_title);
    let mut tool_call = ToolCallChange {
        tool_call_id: ask.call().to_string(),
        status: Some(ToolCallStatus::Pending),
        title,
        kind: effects.and_then(kind_of_effects),
        ..ToolCallChange::default()
    };
    let options = match (ask.request(), ask.question()) {
        (Some(asked), _) => {
            tool_call.title = Some(one_line(&asked.summary)).filter(|words| !words.is_empty());
            tool_call.raw_input = Some(asked.input.clone()).filter(|_| asked.lines.is_empty());
            tool_call.content = Some(approval_content(asked, ask.agent_path(), root));
            let diff = asked.diff.as_deref();
            let found = effects.map(|effects| locations_of(effects, diff, root));
            tool_call.locations = found.filter(|found| !found.is_empty());
            approval_options(asked)
        }
        (None, Some(asked)) if !asked.options.is_empty() && !asked.multiple => {
            tool_call.title = Some(one_line(&asked.text));
            tool_call.content = Some(vec![ToolCallContent::text_content(question_text(asked))]);
            choice_options(asked)
        }
        (None, _) => return None,
    };
    Some(PermissionParams { session_id: session.to_owned(), tool_call, options })
}

/// What is asked about a server that the editor brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerQuestion {
    /// Whether it is started.
    Start,
    /// Whether the tools that it offers are used.
    Tools,
}

/// The question to the editor about a server that it brings; `call`: under which name it is shown, `text`:
/// all that a person has to see.
pub(crate) fn server_question(
    session: &str,
    call: ToolCallChange,
    asked: ServerQuestion,
    text: &str,
) -> PermissionParams {
    let options = match asked {
        ServerQuestion::Start => vec![
            offered_option(ONCE, "Start it, then show its tools", PermissionKind::AllowOnce),
            offered_option(ALWAYS, "Start it and use its tools", PermissionKind::AllowAlways),
            offered_option(DENY, "Do not start it", PermissionKind::RejectOnce),
        ],
        ServerQuestion::Tools => vec![
            offered_option(ONCE, "Use these tools in this project", PermissionKind::AllowOnce),
            offered_option(DENY, "Do not use them", PermissionKind::RejectOnce),
        ],
    };
    let shown = bounded_lines(text, SERVER_BYTES_MAX);
    let content = Some(vec![ToolCallContent::text_content(code_fence("", &shown))]);
    let tool_call = ToolCallChange { content, ..call };
    PermissionParams { session_id: session.to_owned(), tool_call, options }
}

/// What is asked, in words.
pub(crate) fn question_text(asked: &QuestionAsked) -> String {
    let who = match &asked.server {
        Some(server) => format!("The server {} asks:\n\n", escape_words(&one_line(server))),
        None => String::new(),
    };
    // The words of a server are nobody's Markdown.
    let words = match asked.server {
        Some(_) => code_fence("", &visible_lines(&asked.text)),
        None => asked.text.clone(),
    };
    let options =
        asked.options.iter().map(|option| format!("\n- {}", escape_words(&one_line(option))));
    format!("{who}{words}{}", options.collect::<String>())
}

/// What an answer of the editor means.
pub(crate) fn read_reply(answer: Result<Value, RpcError>) -> PermissionReply {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return PermissionReply::Unable(one_line(&error.message)),
    };
    let outcome = match serde_json::from_value::<PermissionResult>(answer) {
        Ok(result) => result.outcome,
        Err(_) => return PermissionReply::Unable("its answer cannot be read".into()),
    };
    let PermissionOutcome::Selected { option_id } = outcome else {
        return PermissionReply::Nothing;
    };
    match option_id.as_str() {
        ONCE => PermissionReply::Decided(Decision::Once),
        SESSION => PermissionReply::Decided(Decision::Session),
        ALWAYS => PermissionReply::Decided(Decision::Always),
        DENY => PermissionReply::Decided(Decision::Deny),
        IN_WORDS => PermissionReply::Nothing,
        other => {
            let number = other.strip_prefix(CHOICE).and_then(|number| number.parse().ok());
            let unknown = || PermissionReply::Unable("its answer is none that was offered".into());
            number.map_or_else(unknown, PermissionReply::Chosen)
        }
    }
}

fn offered_option(id: &str, name: impl Into<String>, kind: PermissionKind) -> PermissionOption {
    PermissionOption { option_id: id.to_owned(), name: name.into(), kind }
}

/// The ways to answer, as in every face: what saves the next question stands first where it was often asked.
fn approval_options(asked: &ApprovalRequested) -> Vec<PermissionOption> {
    let mut all = vec![offered_option(ONCE, "Allow once", PermissionKind::AllowOnce)];
    if !asked.rules.is_empty() {
        let name = format!("Allow for this session: {}", session_words(asked));
        let session = offered_option(SESSION, shorten_name(&name), PermissionKind::AllowAlways);
        all.insert(usize::from(!asked.often), session);
    }
    if offers_always(asked) {
        let name = format!("Always allow in this project: {}", rule_words(asked));
        all.push(offered_option(ALWAYS, shorten_name(&name), PermissionKind::AllowAlways));
    }
    all.push(offered_option(DENY, "Deny", PermissionKind::RejectOnce));
    all
}

fn choice_options(asked: &QuestionAsked) -> Vec<PermissionOption> {
    let choice = |(number, words): (usize, &String)| {
        offered_option(
            &format!("{CHOICE}{number}"),
            shorten_name(&one_line(words)),
            PermissionKind::AllowOnce,
        )
    };
    let mut all: Vec<PermissionOption> = asked.options.iter().enumerate().map(choice).collect();
    all.push(offered_option(IN_WORDS, "Answer in my own words", PermissionKind::RejectOnce));
    all
}

fn rule_words(asked: &ApprovalRequested) -> String {
    let rules: Vec<String> = asked.rules.iter().map(|rule| one_line(rule.text())).collect();
    rules.join(", ")
}

/// What an answer for the session adds.
fn session_words(asked: &ApprovalRequested) -> String {
    match &asked.grant {
        Some(grant) => grant_text(grant),
        None if asked.bound => bound_rules_text(&rule_words(asked)),
        None => rule_words(asked),
    }
}

fn shorten_name(name: &str) -> String {
    match name.char_indices().nth(RULE_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &name[..cut]),
        None => name.to_owned(),
    }
}

/// Everything that must be seen before somebody says yes.
fn approval_content(
    asked: &ApprovalRequested,
    agents: &[String],
    root: &str,
) -> Vec<ToolCallContent> {
    let mut lines = Vec::new();
    if !agents.is_empty() {
        lines.push(format!("Asked by the sub-agent {}", one_line(&agents.join(" › "))));
    }
    if matches!(asked.label.taint(), Taint::External | Taint::Both) {
        lines.push(format!("Careful: it had read {}", one_line(&asked.label.to_string())));
    }
    let remarks = lookalike_remarks(asked);
    lines.extend(remarks.iter().map(|remark| format!("Look closely: {}", one_line(remark))));
    lines.push(format!("Why you are asked: {}", one_line(&asked.reason)));
    if !asked.rules.is_empty() {
        lines.push(format!("For this session adds: {}", session_words(asked)));
    }
    if offers_always(asked) {
        lines.push(format!("Always in this project adds: {}", rule_words(asked)));
    }
    if asked.often {
        lines.push(OFTEN_ASKED.to_owned());
    }
    let lines: Vec<String> = lines.iter().map(|line| escape_words(line)).collect();
    let mut contents = vec![ToolCallContent::text_content(lines.join("\n\n"))];
    if !asked.lines.is_empty() {
        contents.push(ToolCallContent::text_content(escape_words(&lines_head(asked))));
        asked.lines.iter().for_each(|line| contents.extend(step_content(line, root)));
        return contents;
    }
    contents.extend(subject_content(asked.diff.as_deref(), &asked.input, root));
    contents
}

/// A step of several that are asked about together.
fn step_content(line: &ApprovalLine, root: &str) -> Vec<ToolCallContent> {
    let head = format!("{}\n\nWhy you are asked: {}", question_line(line), one_line(&line.reason));
    let mut contents = vec![ToolCallContent::text_content(escape_words(&head))];
    contents.extend(subject_content(line.diff.as_deref(), &line.input, root));
    contents
}

/// The lines of a text, each as it may be shown.
fn visible_lines(text: &str) -> String {
    text.lines().map(visible_text).collect::<Vec<_>>().join("\n")
}

/// The same of at most so many bytes, and how many more there are.
fn bounded_lines(text: &str, bytes_max: usize) -> String {
    let cut = text.floor_char_boundary(bytes_max.min(text.len()));
    let mut shown = visible_lines(&text[..cut]);
    if cut < text.len() {
        shown.push_str(&format!("\n… {} more bytes are not shown here", text.len() - cut));
    }
    shown
}

/// What would change, or the arguments as they are.
fn subject_content(diff: Option<&str>, input: &Value, root: &str) -> Vec<ToolCallContent> {
    let changes = diff.map(|diff| diff_contents(diff, root)).unwrap_or_default();
    if !changes.is_empty() {
        return changes;
    }
    let text = serde_json::to_string_pretty(input).unwrap_or_default();
    let shown = bounded_lines(&text, ARGUMENT_BYTES_MAX);
    vec![ToolCallContent::text_content(code_fence("json", &shown))]
}

#[cfg(test)]
mod tests;
