//! What a person is asked about a client's call: everything that must be seen before somebody says yes, as
//! plain text with a form of one field, what the filled-in form means, and about what it may decide at all.
//! Pure. Not here: whether anybody is asked, and the answer's way to the session.

use serde_json::{Map, Value, json};
use weir_core::event::{ApprovalLine, ApprovalRequested, CallJudged, Decision};
use weir_core::governance::flow::instructs_below;
use weir_core::label::Taint;
use weir_core::safe_text::visible_text;
use weir_core::tool::{CommandEffect, Effects, PathEffect, PathPlace};
use weir_core::view::told::{lines_head, one_line, question_line};
use weir_core::view::visible::{cut_diff, lookalike_remarks};
use weir_mcp_server::{OtherAnswerers, PersonAnswer, PersonQuestion};

/// Lines of a diff with which a form can be asked about.
const DIFF_LINES_MAX: usize = 400;
/// Characters of a form.
const FORM_CHARS_MAX: usize = 32_000;
/// The field of the form.
const FIELD: &str = "decision";
const ALLOW: &str = "allow";
const DENY: &str = "deny";

/// Whether the client's form may decide about a call although nobody vouches for the client, whose program
/// can answer it without showing it to anybody: an ordinary change in the folder, or a command that reaches
/// nothing. Not what is to be agreed to exactly, what can carry data out, and what later runs or instructs.
pub(super) fn is_ordinary(judged: &CallJudged) -> bool {
    let effects = &judged.inspection.effects;
    // Whatever else there is to be known of a call, today or one day, is more than that.
    let ordinary = Effects {
        paths: effects.paths.clone(),
        changes: effects.changes.clone(),
        commands: effects.commands.clone(),
        searches: effects.searches.clone(),
        named_grants: effects.named_grants.clone(),
        gives: effects.gives.clone(),
        ..Effects::default()
    };
    *effects == ordinary
        && !judged.gates.iter().any(|opinion| opinion.exact || opinion.bound)
        && effects.paths.iter().all(is_ordinary_path)
        && effects.changes.iter().all(|change| instructs_below(&change.path, None).is_none())
        && effects.commands.iter().all(is_ordinary_command)
}

fn is_ordinary_path(path: &PathEffect) -> bool {
    path.place == PathPlace::Inside
        && path.sensitive.is_none()
        && path.protected.is_none()
        && !(path.access.is_write() && instructs_below(&path.path, None).is_some())
}

fn is_ordinary_command(command: &CommandEffect) -> bool {
    let CommandEffect { background, outside_sandbox, secrets, uncovers, .. } = command;
    let stays = !command.has_network() && !outside_sandbox && !background;
    stays && secrets.is_empty() && uncovers.is_empty()
}

/// The question as a form; `None`: it does not fit into one, so it is answered where it can be seen whole.
/// Only this one call can be allowed here: what reaches further is decided in Weir's own faces, where the
/// rules that it would add are shown.
pub(super) fn approval_form(asked: &ApprovalRequested, root: &str) -> Option<PersonQuestion> {
    let schema = json!({
        "type": "object",
        "properties": {
            FIELD: {
                "type": "string",
                "title": "This call",
                "description": "allow: this call alone, once. deny: it does not happen.",
                "enum": [ALLOW, DENY]
            }
        },
        "required": [FIELD]
    });
    let name = asked.approval.to_string();
    let others = OtherAnswerers::Somebody;
    Some(PersonQuestion { name, message: approval_text(asked, root)?, schema, others })
}

/// Where such a call stands, in a line.
pub(super) fn waiting_text(asked: &ApprovalRequested) -> String {
    format!(
        "Waits for a person: {} (weir approvals answer {} once, or deny)",
        one_line(&asked.summary),
        asked.approval
    )
}

/// What a filled-in form means; `None`: nothing, the question stays open for others. Whatever is no plain
/// yes is a no.
pub(super) fn decision_of(answer: &PersonAnswer) -> Option<Decision> {
    match answer {
        PersonAnswer::Accepted(fields) => Some(decision_of_fields(fields)),
        PersonAnswer::Declined => Some(Decision::Deny),
        PersonAnswer::Dismissed => None,
    }
}

fn decision_of_fields(fields: &Map<String, Value>) -> Decision {
    match fields.get(FIELD).and_then(Value::as_str) {
        Some(ALLOW) => Decision::Once,
        Some(_) | None => Decision::Deny,
    }
}

/// All that is asked; `None`: something would be left out, and nobody says yes to what they do not see.
fn approval_text(asked: &ApprovalRequested, root: &str) -> Option<String> {
    let mut lines = vec![
        format!("Weir asks before it does this: {}", one_line(&asked.summary)),
        format!("Folder: {}", one_line(root)),
        format!("Why you are asked: {}", one_line(&asked.reason)),
    ];
    if matches!(asked.label.taint(), Taint::External | Taint::Both) {
        lines.push(format!(
            "Careful: what decided this had read {}",
            one_line(&asked.label.to_string())
        ));
    }
    let remarks = lookalike_remarks(asked);
    lines.extend(remarks.iter().map(|remark| format!("Look closely: {}", one_line(remark))));
    match asked.lines.is_empty() {
        true => lines.push(subject_text(&asked.tool, asked.diff.as_deref(), &asked.input)?),
        false => {
            lines.push(lines_head(asked));
            lines.extend(asked.lines.iter().map(step_text).collect::<Option<Vec<String>>>()?);
        }
    }
    lines.push(format!(
        "It can be answered elsewhere too: weir approvals answer {}",
        asked.approval
    ));
    let text = lines.join("\n");
    (text.chars().count() <= FORM_CHARS_MAX).then_some(text)
}

fn step_text(line: &ApprovalLine) -> Option<String> {
    let subject = subject_text(&line.tool, line.diff.as_deref(), &line.input)?;
    let (head, reason) = (question_line(line), one_line(&line.reason));
    Some(format!("{head}\nWhy you are asked: {reason}\n{subject}"))
}

/// What would change, or the arguments as they are, whole or not at all.
fn subject_text(tool: &str, diff: Option<&str>, input: &Value) -> Option<String> {
    if let Some(diff) = diff {
        let shown = cut_diff(diff, DIFF_LINES_MAX);
        if shown.cut_notice().is_some() {
            return None;
        }
        let mut lines = vec![shown.head.clone()];
        lines.extend(shown.lines.iter().map(|line| line.text.clone()));
        return Some(lines.join("\n"));
    }
    let text = serde_json::to_string_pretty(input).unwrap_or_default();
    let shown: Vec<String> = text.lines().map(visible_text).collect();
    Some(format!("{} {}", one_line(tool), shown.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(value: Value) -> PersonAnswer {
        match value {
            Value::Object(fields) => PersonAnswer::Accepted(fields),
            other => panic!("{other}"),
        }
    }

    fn asked(more: Value) -> ApprovalRequested {
        let mut fields = json!({
            "approval": "s-a1", "call": "c1", "tool": "write_file", "input": {"path": "b.txt"},
            "summary": "Write b.txt", "reason": "mode ask", "binds": "x"
        });
        if let Value::Object(more) = more {
            fields.as_object_mut().expect("an object").extend(more);
        }
        serde_json::from_value(fields).expect("the fields of a fact")
    }

    #[test]
    fn r2_what_does_not_fit_into_a_form_whole_is_asked_in_none() {
        let diff = |lines: usize| {
            let added = "+x\n".repeat(lines);
            let diff = format!("--- /dev/null\n+++ b.txt\n@@ -0,0 +1,{lines} @@\n{added}");
            approval_form(&asked(json!({ "diff": diff })), "/srv")
        };
        let form = diff(300).expect("it fits");
        assert_eq!(form.message.matches("\n+x").count(), 300, "{}", form.message);
        assert_eq!(diff(401), None);
        let arguments = |chars: usize| {
            let input = json!({"content": "x".repeat(chars)});
            approval_form(&asked(json!({ "input": input })), "/srv").is_some()
        };
        assert!(arguments(10_000) && !arguments(40_000));
        let step = json!({
            "call": "c2", "step": 1, "tool": "write_file", "input": {}, "summary": "Write it",
            "reason": "mode ask", "diff": format!("--- a\n+++ a\n{}", "+x\n".repeat(401))
        });
        assert_eq!(approval_form(&asked(json!({ "lines": [step] })), "/srv"), None);
    }

    #[test]
    fn r2_only_a_plain_yes_of_a_form_allows_and_only_once() {
        assert_eq!(decision_of(&fields(json!({"decision": "allow"}))), Some(Decision::Once));
        for no in [
            json!({"decision": "deny"}),
            json!({"decision": "always"}),
            json!({"decision": "Allow"}),
            json!({"decision": true}),
            json!({"decision": ["allow"]}),
            json!({"other": "allow"}),
            json!({}),
        ] {
            assert_eq!(decision_of(&fields(no.clone())), Some(Decision::Deny), "{no}");
        }
        assert_eq!(decision_of(&PersonAnswer::Declined), Some(Decision::Deny));
        assert_eq!(decision_of(&PersonAnswer::Dismissed), None);
    }
}
