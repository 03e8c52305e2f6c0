//! What asks the person, as lines of line mode. Pure; everything is made safe. Not here: what is
//! answered ([`super::asks`]).

use serde_json::Value;
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::view::plain::visible;
use weir_core::view::told::everywhere;
use weir_core::view::visible::{diff, remarks};

use super::asks::Manner;
use super::words;

/// Lines of a difference or an argument that are printed before one is told how to see the rest.
const LINES_MAX: usize = 60;

/// What can be typed.
pub(super) fn choices(lasting: bool, manner: Manner) -> &'static str {
    match (manner, lasting) {
        (Manner::Signs, true) => "Allow? Type: once / session / always / no REASON",
        (Manner::Signs, false) => "Allow? Type: once / no REASON",
        (Manner::Words, true) => {
            "Allow it? Type once, session or always; or type no and your reason."
        }
        (Manner::Words, false) => "Allow it? Type once; or type no and your reason.",
    }
}

/// An approval, which one of how many, and what can be typed.
pub(super) fn approval(
    asked: &ApprovalRequested,
    path: &[String],
    number: usize,
    count: usize,
    manner: Manner,
) -> Vec<String> {
    let mut lines = vec![format!("approval {number} of {count}: {}", visible(&asked.summary))];
    if !path.is_empty() {
        let path: Vec<String> = path.iter().map(|name| visible(name)).collect();
        lines.push(format!("  asked by the agent {}", path.join(", then ")));
    }
    lines.push(format!("  tool: {}", visible(&asked.tool)));
    lines.push(format!("  why it is asked: {}", visible(&asked.reason)));
    if !asked.label.is_clean() {
        let label = visible(&asked.label.to_string());
        lines.push(format!("  what the model had read: {label}"));
    }
    lines.extend(subject(asked, LINES_MAX, manner));
    lines.extend(remarks(asked).iter().map(|remark| format!("  look closely: {remark}")));
    if !asked.rules.is_empty() {
        let rules: Vec<String> = asked.rules.iter().map(|rule| visible(rule.text())).collect();
        lines.push(format!(
            "  session, and always in this project, would allow: {}",
            rules.join(", ")
        ));
        // Who listens would hear it with every question.
        if manner == Manner::Signs {
            let commands = asked.rules.iter().map(|rule| everywhere(rule.text()));
            let commands: Vec<String> = commands.collect();
            lines.push(format!("  in every project: {}", commands.join("; ")));
        }
    }
    lines.push(choices(!asked.rules.is_empty(), manner).into());
    lines
}

/// The change, or the arguments where there is none; at most `lines_max` lines of each text.
pub(super) fn subject(asked: &ApprovalRequested, lines_max: usize, manner: Manner) -> Vec<String> {
    const MORE: &str = "type /full to read all of it";
    if let Some(text) = &asked.diff {
        let shown = diff(text, lines_max);
        let mut lines = vec![format!("  the change: {}", shown.head)];
        lines.extend(shown.lines.iter().map(|line| match manner {
            Manner::Signs => format!("  {line}"),
            Manner::Words => format!("  {}", words::changed(line)),
        }));
        lines.extend(shown.cut().map(|cut| format!("  {cut}; {MORE}")));
        return lines;
    }
    let Value::Object(fields) = &asked.input else {
        return vec![format!("  with: {}", visible(&asked.input.to_string()))];
    };
    let mut lines = Vec::new();
    for (name, value) in fields {
        let name = visible(name);
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                lines.push(format!("  {name}:"));
                lines.extend(text.lines().take(lines_max).map(|l| format!("    {}", visible(l))));
                let left = text.lines().count().saturating_sub(lines_max);
                if left > 0 {
                    lines.push(format!("    {left} more lines; {MORE}"));
                }
            }
            Some(text) => lines.push(format!("  {name}: {}", visible(text))),
            None => lines.push(format!("  {name}: {}", visible(&value.to_string()))),
        }
    }
    lines
}

/// A question with its options.
pub(super) fn question(asked: &QuestionAsked) -> Vec<String> {
    let mut lines: Vec<String> = asked.text.lines().map(visible).collect();
    let first = lines.first().cloned().unwrap_or_default();
    lines.splice(..lines.len().min(1), [format!("question: {first}")]);
    for (number, option) in asked.options.iter().enumerate() {
        lines.push(format!("  {}: {}", number + 1, visible(option)));
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
