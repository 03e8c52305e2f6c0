//! What asks the person, as lines of line mode. Pure; everything is made safe. Not here: what is
//! answered ([`super::asks`]).

use serde_json::Value;
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::view::plain::visible_text;
use weir_core::view::told::permission_command;
use weir_core::view::visible::{cut_diff, lookalike_remarks};

use super::asks::WordingStyle;
use super::words;

/// Lines of a difference or an argument that are printed before one is told how to see the rest.
const LINES_MAX: usize = 60;

/// What can be typed.
pub(super) fn choices_prompt(lasting: bool, manner: WordingStyle) -> &'static str {
    match (manner, lasting) {
        (WordingStyle::Signs, true) => "Allow? Type: once / session / always / no REASON",
        (WordingStyle::Signs, false) => "Allow? Type: once / no REASON",
        (WordingStyle::Words, true) => {
            "Allow it? Type once, session or always; or type no and your reason."
        }
        (WordingStyle::Words, false) => "Allow it? Type once; or type no and your reason.",
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
    if !asked.label.is_clean() {
        let label = visible_text(&asked.label.to_string());
        lines.push(format!("  what the model had read: {label}"));
    }
    lines.extend(subject_lines(asked, LINES_MAX, manner));
    lines.extend(lookalike_remarks(asked).iter().map(|remark| format!("  look closely: {remark}")));
    if !asked.rules.is_empty() {
        let rules: Vec<String> = asked.rules.iter().map(|rule| visible_text(rule.text())).collect();
        lines.push(format!(
            "  session, and always in this project, would allow: {}",
            rules.join(", ")
        ));
        // Who listens would hear it with every question.
        if manner == WordingStyle::Signs {
            let commands = asked.rules.iter().map(|rule| permission_command(rule.text()));
            let commands: Vec<String> = commands.collect();
            lines.push(format!("  in every project: {}", commands.join("; ")));
        }
    }
    lines.push(choices_prompt(!asked.rules.is_empty(), manner).into());
    lines
}

/// The change, or the arguments where there is none; at most `lines_max` lines of each text.
pub(super) fn subject_lines(
    asked: &ApprovalRequested,
    lines_max: usize,
    manner: WordingStyle,
) -> Vec<String> {
    const MORE: &str = "type /full to read all of it";
    if let Some(text) = &asked.diff {
        let shown = cut_diff(text, lines_max);
        let mut lines = vec![format!("  the change: {}", shown.head)];
        lines.extend(shown.lines.iter().map(|line| match manner {
            WordingStyle::Signs => format!("  {}", line.text),
            WordingStyle::Words => format!("  {}", words::diff_line_words(line.kind, &line.text)),
        }));
        lines.extend(shown.cut_notice().map(|cut| format!("  {cut}; {MORE}")));
        return lines;
    }
    let Value::Object(fields) = &asked.input else {
        return vec![format!("  with: {}", visible_text(&asked.input.to_string()))];
    };
    let mut lines = Vec::new();
    for (name, value) in fields {
        let name = visible_text(name);
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                lines.push(format!("  {name}:"));
                lines.extend(
                    text.lines().take(lines_max).map(|l| format!("    {}", visible_text(l))),
                );
                let left = text.lines().count().saturating_sub(lines_max);
                if left > 0 {
                    lines.push(format!("    {left} more lines; {MORE}"));
                }
            }
            Some(text) => lines.push(format!("  {name}: {}", visible_text(text))),
            None => lines.push(format!("  {name}: {}", visible_text(&value.to_string()))),
        }
    }
    lines
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
