//! An approval in words, for the terminal: what, why, with which arguments, and what in it is not
//! what it looks like (G4, Z10).

use serde_json::Value;
use weir_core::event::{ApprovalRequested, Decision};
use weir_core::governance::lease::{LeaseGrant, LeaseTerms};
use weir_core::governance::rules::Rule;
use weir_core::view::plain::visible_text;
use weir_core::view::visible::{cut_diff, lookalike_remarks};

use super::describe_duration;

/// Lines of a diff or an argument that are shown before it is cut, visibly.
pub(in crate::command) const DIFF_LINES_MAX: usize = 200;

/// What is asked and why: the difference where files change, else the arguments. At most
/// `lines_max` lines of each text; `more` says how to see the rest.
pub(in crate::command) fn describe_approval_request(
    asked: &ApprovalRequested,
    lines_max: usize,
    more: &str,
) -> Vec<String> {
    let mut lines = vec![visible_text(&asked.summary)];
    lines.push(format!("  why it is asked: {}", visible_text(&asked.reason)));
    if !asked.label.is_clean() {
        let label = visible_text(&asked.label.to_string());
        lines.push(format!("  what the model had read: {label}"));
    }
    match &asked.diff {
        Some(text) => lines.extend(render_difference(text, lines_max, more)),
        None => lines.extend(render_arguments(asked, lines_max, more)),
    }
    lines.extend(suspicion_lines(asked));
    lines
}

/// The difference, its size first.
pub(super) fn render_difference(text: &str, lines_max: usize, more: &str) -> Vec<String> {
    let shown = cut_diff(text, lines_max);
    let mut lines = vec![format!("  the change: {}", shown.head)];
    lines.extend(shown.lines.iter().map(|line| format!("  {}", line.text)));
    lines.extend(shown.cut_notice().map(|cut| format!("  {cut}; {more}")));
    lines
}

/// Tool and arguments, one a line; texts of several lines as they are.
pub(super) fn render_arguments(
    asked: &ApprovalRequested,
    lines_max: usize,
    more: &str,
) -> Vec<String> {
    let mut lines = vec![format!("  {}", visible_text(&asked.tool))];
    let Value::Object(fields) = &asked.input else {
        lines.push(format!("    {}", visible_text(&asked.input.to_string())));
        return lines;
    };
    for (name, value) in fields {
        let name = visible_text(name);
        match value.as_str() {
            Some(text) if text.contains('\n') => {
                lines.push(format!("    {name}:"));
                lines.extend(
                    text.lines().take(lines_max).map(|l| format!("      {}", visible_text(l))),
                );
                let left = text.lines().count().saturating_sub(lines_max);
                if left > 0 {
                    lines.push(format!("      … {left} more lines; {more}"));
                }
            }
            Some(text) => lines.push(format!("    {name}: {}", visible_text(text))),
            None => lines.push(format!("    {name}: {}", visible_text(&value.to_string()))),
        }
    }
    lines
}

/// What is not what it looks like, one line each.
pub(super) fn suspicion_lines(asked: &ApprovalRequested) -> Vec<String> {
    lookalike_remarks(asked).iter().map(|remark| format!("  look closely: {remark}")).collect()
}

/// The rules in one line.
pub(in crate::command) fn join_rules(rules: &[Rule]) -> String {
    rules.iter().map(|rule| visible_text(rule.text())).collect::<Vec<_>>().join(", ")
}

/// What a typed answer to a question means: numbers stand for options, everything else is the
/// answer itself.
pub(in crate::command) fn resolve_typed_choice(line: &str, options: &[String]) -> String {
    let named = |word: &str| {
        let number: usize = word.trim().parse().ok()?;
        options.get(number.checked_sub(1)?).cloned()
    };
    let words: Option<Vec<String>> = line.split(',').map(named).collect();
    words.map_or_else(|| line.to_string(), |words| words.join(", "))
}

/// A decision in words: `allowed for this session (2 calls), by ada`.
pub(in crate::command) fn describe_decision(
    decision: Decision,
    terms: Option<LeaseTerms>,
    by: &str,
    reason: Option<&str>,
) -> String {
    let what = match decision {
        Decision::Once => "allowed once",
        Decision::Session => "allowed for this session",
        Decision::Always => "always allowed in this project",
        Decision::Deny => "denied",
        Decision::Cancelled => "withdrawn: the run was ended",
        Decision::Expired => return "denied: nobody answered in time".into(),
    };
    let reach = terms.map(describe_lease_terms).filter(|text| !text.is_empty());
    let reach = reach.map(|text| format!(" ({text})")).unwrap_or_default();
    let reason = reason.map(|text| format!(": {}", visible_text(text))).unwrap_or_default();
    format!("{what}{reach}, by {}{reason}", visible_text(by))
}

fn describe_lease_terms(terms: LeaseTerms) -> String {
    let uses = terms.uses.map(count_calls);
    let span = terms.for_ms.map(|ms| format!("for {}", describe_duration(ms)));
    uses.into_iter().chain(span).collect::<Vec<_>>().join(", ")
}

fn count_calls(number: u32) -> String {
    if number == 1 { "1 call".into() } else { format!("{number} calls") }
}

/// What is left of a lease: `2 calls left, until 2026-01-02 10:00:00 UTC`.
pub(super) fn describe_lease_remainder(lease: &LeaseGrant) -> String {
    let uses = lease.uses_left.map(|uses| format!("{} left", count_calls(uses)));
    let until = lease
        .until
        .map(|until| format!("until {} UTC", crate::command::sessions::timestamp_text(until)));
    let words: Vec<String> = uses.into_iter().chain(until).collect();
    if words.is_empty() { "until the end of the session".into() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::event::ApprovalRequested;

    use super::*;

    fn asked(input: &Value, diff: Option<&str>) -> ApprovalRequested {
        serde_json::from_value(json!({
            "approval": "s-a1", "call": "c1", "tool": "run_shell", "input": input,
            "summary": "Run \u{202E}it", "diff": diff, "reason": "mode ask", "binds": "x",
        }))
        .expect("it is an approval")
    }

    #[test]
    fn l13_numbers_choose_options() {
        let options = ["red".to_string(), "blue".to_string()];
        assert_eq!(resolve_typed_choice("2", &options), "blue");
        assert_eq!(resolve_typed_choice("1, 2", &options), "red, blue");
        assert_eq!(resolve_typed_choice("green", &options), "green");
        assert_eq!(resolve_typed_choice("9", &options), "9");
    }

    #[test]
    fn g4_arguments_are_shown_whole_and_what_hides_is_written_out() {
        let asked =
            asked(&json!({"command": "curl https://р\u{430}ypal.com\u{1b}[2J", "n": 3}), None);
        let expected = [
            "Run <U+202E>it",
            "  why it is asked: mode ask",
            "  run_shell",
            "    command: curl https://раypal.com<U+001B>[2J",
            "    n: 3",
            "  look closely: `раypal.com` mixes Cyrillic and Latin letters",
        ];
        assert_eq!(describe_approval_request(&asked, 10, "x"), expected);
    }

    #[test]
    fn g4_a_long_argument_is_cut_and_says_so() {
        let text = (0..50).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let lines = describe_approval_request(
            &asked(&json!({ "text": text }), None),
            10,
            "--full shows them",
        );
        assert_eq!(lines.len(), 3 + 1 + 10 + 1);
        assert_eq!(lines[14], "      … 40 more lines; --full shows them");
    }

    #[test]
    fn g4_a_difference_is_counted_first_and_its_content_may_have_any_letters() {
        let body: String = (0..300).map(|n| format!("+а{n}z\n")).collect();
        let text = format!("--- /dev/null\n+++ b/x\n@@ -0,0 +1,300 @@\n{body}");
        let input = json!({"path": "x", "content": "аz\nbz"});
        let lines =
            describe_approval_request(&asked(&input, Some(&text)), 100, "--full shows them");
        assert_eq!(lines[2], "  the change: 1 file, 303 lines: 300 added, 0 removed");
        assert_eq!(lines[103], "  … 203 more lines; --full shows them");
        assert_eq!(lines.len(), 104, "no remark on the content of a file");
    }

    #[test]
    fn g4_decisions_are_told_in_words() {
        let terms = Some(LeaseTerms { uses: Some(1), for_ms: Some(600_000) });
        for (decision, terms, reason, text) in [
            (Decision::Once, None, None, "allowed once, by ada"),
            (
                Decision::Session,
                terms,
                None,
                "allowed for this session (1 call, for 10 min), by ada",
            ),
            (Decision::Deny, None, Some("no\u{7}"), "denied, by ada: no<U+0007>"),
        ] {
            assert_eq!(describe_decision(decision, terms, "ada", reason), text);
        }
    }
}
