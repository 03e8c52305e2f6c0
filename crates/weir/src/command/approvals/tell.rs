//! An approval in words, for the terminal: what, why, with which arguments, and what in it is not
//! what it looks like (G4, Z10).

use serde_json::Value;
use weir_core::event::{ApprovalRequested, Decision};
use weir_core::governance::lease::{LeaseGrant, LeaseTerms};
use weir_core::governance::rules::Rule;
use weir_core::view::plain::visible_text;
use weir_core::view::told::{
    OFTEN_ASKED, bound_rules_text, grant_text, lines_head, offers_always, question_lines,
};
use weir_core::view::visible::{argument_lines, cut_diff, lookalike_remarks};

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
    if !asked.label.is_plain() {
        let label = visible_text(&asked.label.to_string());
        lines.push(format!("  what the model had read: {label}"));
    }
    match &asked.diff {
        _ if !asked.lines.is_empty() => lines.extend(describe_steps(asked, lines_max, more)),
        Some(text) => lines.extend(render_difference(text, lines_max, more)),
        None => lines.extend(render_arguments(asked, lines_max, more)),
    }
    lines.extend(suspicion_lines(asked));
    lines
}

/// The steps of a question about several: first all of them, one line each, then each with its
/// difference or arguments (U8).
fn describe_steps(asked: &ApprovalRequested, lines_max: usize, more: &str) -> Vec<String> {
    let mut lines = vec![format!("  {}", lines_head(asked))];
    lines.extend(question_lines(asked).iter().map(|line| format!("    {line}")));
    for line in &asked.lines {
        lines.push(format!("  step {}: {}", line.step, visible_text(&line.summary)));
        lines.push(format!("    why it is asked: {}", visible_text(&line.reason)));
        let shown = match &line.diff {
            Some(text) => render_difference(text, lines_max, more),
            None => render_call(&line.tool, &line.input, lines_max, more),
        };
        lines.extend(shown.iter().map(|line| format!("  {line}")));
    }
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
    render_call(&asked.tool, &asked.input, lines_max, more)
}

fn render_call(tool: &str, input: &Value, lines_max: usize, more: &str) -> Vec<String> {
    let mut lines = vec![format!("  {}", visible_text(tool))];
    let Value::Object(fields) = input else {
        lines.push(format!("    {}", visible_text(&input.to_string())));
        return lines;
    };
    let shown = argument_lines(fields, lines_max, |left| format!("… {left} more lines; {more}"));
    lines.extend(shown.iter().map(|line| format!("    {line}")));
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

/// The words with which it is answered.
pub(in crate::command) fn describe_answer_words(asked: &ApprovalRequested) -> &'static str {
    match (asked.rules.is_empty(), offers_always(asked)) {
        (true, _) => "once|deny",
        (false, true) => "once|session|always|deny",
        (false, false) => "once|session|deny",
    }
}

/// What answers that last would give, one line each: for the session a grant by its name, where there
/// is one (U13).
pub(super) fn describe_lasting_answers(asked: &ApprovalRequested) -> Vec<String> {
    if asked.rules.is_empty() {
        return Vec::new();
    }
    let rules = join_rules(&asked.rules);
    let often = asked.often.then(|| format!("  {OFTEN_ASKED}"));
    let lasting = match &asked.grant {
        Some(grant) => vec![
            format!("  `session` would grant: {}", grant_text(grant)),
            format!("  `always` (in this project) would allow: {rules}"),
        ],
        None if asked.bound => {
            vec![format!("  `session` would allow: {}", bound_rules_text(&rules))]
        }
        None => vec![format!("  `session` or `always` (in this project) would allow: {rules}")],
    };
    lasting.into_iter().chain(often).collect()
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

/// What a lease lets pass, in one line.
pub(super) fn describe_covered(lease: &LeaseGrant) -> String {
    let all = lease.covered_texts();
    all.iter().map(|text| visible_text(text)).collect::<Vec<_>>().join(", ")
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
    fn u8_every_step_of_a_question_about_several_is_shown_with_whom_it_reaches() {
        let line = |step: u32, to: &str, from: &str, text: &str| {
            json!({
                "call": format!("c{step}"), "step": step, "tool": "email", "reason": "mode ask",
                "input": { "to": [to], "text": text }, "summary": "Send \"Friday\"",
                "reaches": [{ "to": to, "from": from }],
            })
        };
        let lines = [line(1, "ada@x", "said", "ten"), line(2, "bob@x", "read", "ten\neleven")];
        let asked = ApprovalRequested {
            lines: serde_json::from_value(json!(lines)).expect("lines"),
            ..asked(&json!({}), None)
        };
        let expected = [
            "Run <U+202E>it",
            "  why it is asked: mode ask",
            "  2 steps, allowed or refused together:",
            "    1. email → ada@x (you wrote it): Send \"Friday\"",
            "    2. email → bob@x (it may come out of what was read): Send \"Friday\"",
            "  step 1: Send \"Friday\"",
            "    why it is asked: mode ask",
            "    email",
            "      to: [\"ada@x\"]",
            "      text: ten",
            "  step 2: Send \"Friday\"",
            "    why it is asked: mode ask",
            "    email",
            "      to: [\"bob@x\"]",
            "      text:",
            "        ten",
            "        … 1 more lines; more",
        ];
        assert_eq!(describe_approval_request(&asked, 1, "more"), expected);
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
    fn u13_a_grant_is_told_by_its_name() {
        let origin = weir_core::governance::rules::RuleOrigin::new("an approval");
        let action = weir_core::governance::rules::RuleAction::Allow;
        let rule = Rule::parse(action, "Web(crates.io)", origin).expect("a rule");
        let plain = asked(&json!({}), None);
        assert_eq!(describe_lasting_answers(&plain), [""; 0]);
        let by_rule = ApprovalRequested { rules: vec![rule], ..plain };
        let both = "  `session` or `always` (in this project) would allow: Web(crates.io)";
        assert_eq!(describe_lasting_answers(&by_rule), [both]);
        let grant = weir_core::tool::NamedGrant {
            name: "crates.io for cargo".into(),
            hosts: vec!["crates.io".into()],
            commands: vec!["cargo add".into()],
        };
        let by_name = ApprovalRequested { grant: Some(grant), often: true, ..by_rule };
        let expected = [
            "  `session` would grant: crates.io for cargo (crates.io)".to_owned(),
            "  `always` (in this project) would allow: Web(crates.io)".to_owned(),
            format!("  {OFTEN_ASKED}"),
        ];
        assert_eq!(describe_lasting_answers(&by_name), expected);
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
