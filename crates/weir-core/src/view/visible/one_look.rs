//! Whether everything that is asked can be seen at one look at a small screen, so that it may be answered
//! from a notice (R5). Not here: whether a call may run, and who may answer.

use super::{cut_diff, lookalike_remarks};
use crate::event::ApprovalRequested;
use crate::governance::each_text;
use crate::safe_text::visible_text;

/// Characters of the arguments, and lines of a difference, that a telephone shows without hiding any.
const INPUT_CHARS_MAX: usize = 1_200;
const INPUT_LINES_MAX: usize = 24;
const DIFF_LINES_MAX: usize = 40;
const DIFF_CHARS_MAX: usize = 3_000;

/// Whether a yes or no may be offered beside a notice: everything that is asked is short, is what it looks
/// like, is one call, and is nothing that must be asked exactly, each time. Where that is not sure, it is no.
pub fn is_seen_at_one_look(asked: &ApprovalRequested) -> bool {
    // What no rule may lift, or only as long as nothing from elsewhere is read, is asked exactly.
    let is_exact = asked.rules.is_empty() || asked.bound;
    let is_one_call = asked.lines.is_empty() && asked.unknown.is_empty();
    !is_exact
        && is_one_call
        && !asked.label.is_external()
        && lookalike_remarks(asked).is_empty()
        && is_plain(&asked.tool)
        && is_plain(&asked.summary)
        && is_plain(&asked.reason)
        && is_short_input(asked)
        && asked.diff.as_deref().is_none_or(is_short_diff)
}

fn is_plain(text: &str) -> bool {
    text.lines().all(|line| visible_text(line) == line)
}

fn is_short_input(asked: &ApprovalRequested) -> bool {
    let written = asked.input.to_string();
    // As a whole: the names of fields are the choice of whoever asks, too.
    let (mut lines, mut plain) = (0, is_plain(&written));
    each_text(&asked.input, &mut |text| {
        lines += text.lines().count();
        plain &= is_plain(text);
    });
    plain && lines <= INPUT_LINES_MAX && written.chars().count() <= INPUT_CHARS_MAX
}

fn is_short_diff(diff: &str) -> bool {
    let is_whole = cut_diff(diff, DIFF_LINES_MAX).cut_notice().is_none();
    is_whole && is_plain(diff) && diff.chars().count() <= DIFF_CHARS_MAX
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::governance::label::Label;
    use crate::governance::rules::{Rule, RuleAction, RuleOrigin};
    use crate::ids::{ApprovalId, CallId};

    fn asked(input: Value) -> ApprovalRequested {
        let rule = Rule::parse(RuleAction::Allow, "Edit(notes.md)", RuleOrigin::new("a test"));
        ApprovalRequested {
            approval: ApprovalId::new("s-a1"),
            call: CallId(1),
            tool: "write_file".into(),
            input,
            summary: "Write notes.md".into(),
            diff: None,
            reason: "Mode ask: files are changed only with your yes.".into(),
            unknown: Vec::new(),
            rules: vec![rule.expect("a rule")],
            grant: None,
            often: false,
            binds: String::new(),
            expires: None,
            label: Label::default(),
            bound: false,
            lines: Vec::new(),
        }
    }

    fn short() -> ApprovalRequested {
        asked(json!({ "path": "notes.md", "content": "one\ntwo\n" }))
    }

    #[test]
    fn r5_a_short_plain_call_is_seen_at_one_look() {
        assert!(is_seen_at_one_look(&short()));
        let diff = Some("--- a\n+++ b\n@@ -1 +1 @@\n-one\n+two\n".to_owned());
        assert!(is_seen_at_one_look(&ApprovalRequested { diff, ..short() }));
    }

    #[test]
    fn r5_what_is_asked_exactly_or_hides_something_is_not() {
        let many: String = (0..60).map(|n| format!("+line {n}\n")).collect();
        let diff = format!("--- a\n+++ b\n@@ -0,0 +1,60 @@\n{many}");
        for (why, asked) in [
            ("no rule may lift it", ApprovalRequested { rules: Vec::new(), ..short() }),
            ("bound", ApprovalRequested { bound: true, ..short() }),
            ("unknown outcomes", ApprovalRequested { unknown: vec![CallId(7)], ..short() }),
            ("a long difference", ApprovalRequested { diff: Some(diff), ..short() }),
            ("a long text", asked(json!({ "content": "x".repeat(5_000) }))),
            ("many lines", asked(json!({ "content": "x\n".repeat(100) }))),
            ("turned text", asked(json!({ "command": "rm \u{202E}txt" }))),
            ("a turned name", asked(json!({ "content\u{202E}": "x" }))),
            ("a hidden name", asked(json!({ "to": { "a\u{200B}b": 1 } }))),
            ("another alphabet", asked(json!({ "command": "curl https://раypal.com/x" }))),
            ("a hidden summary", ApprovalRequested { summary: "a\u{200B}b".into(), ..short() }),
        ] {
            assert!(!is_seen_at_one_look(&asked), "{why}");
        }
    }
}
