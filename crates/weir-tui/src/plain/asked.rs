//! What asks the person, as lines of line mode. Pure; everything is made safe. Not here: what is
//! answered ([`super::asks`]).

use serde_json::Value;
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::view::plain::visible_text;
use weir_core::view::told::{
    self, OFTEN_ASKED, bound_rules_text, grant_text, lines_head, offers_always, permission_command,
};
use weir_core::view::visible::{argument_lines, cut_diff, lookalike_remarks};

use super::asks::WordingStyle;
use super::words;

/// Lines of a difference or an argument that are printed before one is told how to see the rest.
const LINES_MAX: usize = 60;

/// What can be typed; what saves the next question of a kind that was often asked stands first (U13).
pub(super) fn choices_prompt(asked: &ApprovalRequested, manner: WordingStyle) -> String {
    let mut all = vec!["once"];
    if !asked.rules.is_empty() {
        all.insert(usize::from(!asked.often), "session");
    }
    if offers_always(asked) {
        all.push("always");
    }
    if !asked.lines.is_empty() {
        return match manner {
            WordingStyle::Words => {
                "Allow all of these steps? Type once; or type no and your reason.".into()
            }
            WordingStyle::Signs => "Allow all of these steps? Type: once / no REASON".into(),
        };
    }
    match (manner, all.split_last()) {
        (WordingStyle::Words, Some((last, rest))) if !rest.is_empty() => {
            format!("Allow it? Type {} or {last}; or type no and your reason.", rest.join(", "))
        }
        (WordingStyle::Words, _) => "Allow it? Type once; or type no and your reason.".into(),
        (WordingStyle::Signs, _) => format!("Allow? Type: {} / no REASON", all.join(" / ")),
    }
}

/// An approval, which one of how many, and what can be typed.
pub(super) fn approval_lines(
    asked: &ApprovalRequested,
    path: &[String],
    number: usize,
    count: usize,
    manner: WordingStyle,
) -> Vec<String> {
    let mut lines = vec![format!("approval {number} of {count}: {}", visible_text(&asked.summary))];
    if !path.is_empty() {
        let path: Vec<String> = path.iter().map(|name| visible_text(name)).collect();
        lines.push(format!("  asked by the agent {}", path.join(", then ")));
    }
    lines.push(format!("  tool: {}", visible_text(&asked.tool)));
    lines.push(format!("  why it is asked: {}", visible_text(&asked.reason)));
    if !asked.label.is_plain() {
        let label = visible_text(&asked.label.to_string());
        lines.push(format!("  what the model had read: {label}"));
    }
    lines.extend(subject_lines(asked, LINES_MAX, manner));
    lines.extend(lookalike_remarks(asked).iter().map(|remark| format!("  look closely: {remark}")));
    if !asked.rules.is_empty() {
        let rules: Vec<String> = asked.rules.iter().map(|rule| visible_text(rule.text())).collect();
        let rules = rules.join(", ");
        match &asked.grant {
            Some(grant) => {
                lines.push(format!("  session would grant: {}", grant_text(grant)));
                lines.push(format!("  always in this project would allow: {rules}"));
            }
            None if asked.bound => {
                lines.push(format!("  session would allow: {}", bound_rules_text(&rules)));
            }
            None => {
                lines.push(format!("  session, and always in this project, would allow: {rules}"))
            }
        }
        // Who listens would hear it with every question.
        if manner == WordingStyle::Signs && offers_always(asked) {
            let commands = asked.rules.iter().map(|rule| permission_command(rule.text()));
            let commands: Vec<String> = commands.collect();
            lines.push(format!("  in every project: {}", commands.join("; ")));
        }
    }
    if asked.often {
        lines.push(format!("  {OFTEN_ASKED}"));
    }
    lines.push(choices_prompt(asked, manner));
    lines
}

/// The change, or the arguments where there is none; at most `lines_max` lines of each text.
pub(super) fn subject_lines(
    asked: &ApprovalRequested,
    lines_max: usize,
    manner: WordingStyle,
) -> Vec<String> {
    if asked.lines.is_empty() {
        return change_lines(asked.diff.as_deref(), &asked.input, lines_max, manner);
    }
    let mut lines = vec![format!("  {}", lines_head(asked))];
    lines.extend(told::question_lines(asked).iter().map(|line| format!("    {line}")));
    for line in &asked.lines {
        lines.push(format!("  step {}: {}", line.step, visible_text(&line.summary)));
        lines.push(format!("  why it is asked: {}", visible_text(&line.reason)));
        lines.extend(change_lines(line.diff.as_deref(), &line.input, lines_max, manner));
    }
    lines
}

fn change_lines(
    diff: Option<&str>,
    input: &Value,
    lines_max: usize,
    manner: WordingStyle,
) -> Vec<String> {
    const MORE: &str = "type /full to read all of it";
    if let Some(text) = diff {
        let shown = cut_diff(text, lines_max);
        let mut lines = vec![format!("  the change: {}", shown.head)];
        lines.extend(shown.lines.iter().map(|line| match manner {
            WordingStyle::Signs => format!("  {}", line.text),
            WordingStyle::Words => format!("  {}", words::diff_line_words(line.kind, &line.text)),
        }));
        lines.extend(shown.cut_notice().map(|cut| format!("  {cut}; {MORE}")));
        return lines;
    }
    let Value::Object(fields) = input else {
        return vec![format!("  with: {}", visible_text(&input.to_string()))];
    };
    let shown = argument_lines(fields, lines_max, |left| format!("{left} more lines; {MORE}"));
    shown.iter().map(|line| format!("  {line}")).collect()
}

/// A question with its options.
pub(super) fn question_lines(asked: &QuestionAsked) -> Vec<String> {
    let mut lines: Vec<String> = asked.text.lines().map(visible_text).collect();
    let first = lines.first().cloned().unwrap_or_default();
    lines.splice(..lines.len().min(1), [format!("question: {first}")]);
    for (number, option) in asked.options.iter().enumerate() {
        lines.push(format!("  {}: {}", number + 1, visible_text(option)));
    }
    lines.push(match (asked.options.is_empty(), asked.multiple) {
        (true, _) => "Type your answer.".into(),
        (false, false) => "Type a number, or an answer in your own words.".into(),
        (false, true) => {
            "Type numbers with commas between them, or an answer in your own words.".into()
        }
    });
    lines
}
