//! Tests of what must have been in sight before anything is agreed to: every step, and the end of a
//! command.

use serde_json::json;
use weir_core::event::SharedFact;
use weir_core::governance::rules::{Rule, RuleAction, RuleOrigin};

use super::*;

fn dialog(steps: u32) -> ApprovalDialog {
    let line = |step: u32| {
        json!({
            "call": format!("c{step}"), "step": step, "tool": "email", "reason": "mode ask",
            "input": { "text": format!("words {step}") }, "summary": "Send it",
            "reaches": [{ "to": format!("ada{step}@x.example"), "from": "agent" }],
        })
    };
    let asked: ApprovalRequested = serde_json::from_value(json!({
        "approval": "s1-a1", "call": "c1", "tool": "run_program", "input": {}, "binds": "x",
        "summary": "Steps of one program", "reason": "at once",
        "lines": (1..=steps).map(line).collect::<Vec<_>>(),
    }))
    .expect("an approval");
    ApprovalDialog::new(PendingAsk::Approval(SharedFact::from(asked)))
}

fn shown(dialog: &ApprovalDialog, rows: usize) -> String {
    let state = DialogState { others: 0, focused: true };
    let (lines, _) = dialog.render_dialog(80, rows, &Theme::plain_theme(), state);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn press(dialog: &mut ApprovalDialog, key: char) -> ApprovalKeyOutcome {
    dialog.handle_key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE))
}

#[test]
fn u8_a_yes_to_several_steps_wants_every_one_of_them_in_sight() {
    let mut roomy = dialog(3);
    let text = shown(&roomy, 20);
    for step in 1..=3 {
        let row = format!("{step}. email → ada{step}@x.example (the agent chose it): Send it");
        assert!(text.contains(&row), "{text}");
    }
    assert_eq!(press(&mut roomy, 'y'), ApprovalKeyOutcome::Decide(Decision::Once, None));
    let mut tight = dialog(30);
    let text = shown(&tight, 20);
    assert!(text.contains("Too little room: v shows it"), "{text}");
    assert_eq!(press(&mut tight, 'y'), ApprovalKeyOutcome::Took);
    assert_eq!(press(&mut tight, 'v'), ApprovalKeyOutcome::All);
    let whole = tight.all_lines(80, &Theme::plain_theme());
    let whole: String = whole.iter().map(|line| format!("{line}\n")).collect();
    assert!(whole.contains("30. email") && whole.contains("words 30"), "{whole}");
    shown(&tight, 20);
    assert_eq!(press(&mut tight, 'y'), ApprovalKeyOutcome::Decide(Decision::Once, None));
}

/// A dialog about a command of so many lines.
fn command_dialog(count: usize) -> ApprovalDialog {
    let command: Vec<String> = (1..=count).map(|line| format!("echo line {line}")).collect();
    let rule = Rule::parse(RuleAction::Allow, "Shell(echo:*)", RuleOrigin::new("an approval"));
    let asked: ApprovalRequested = serde_json::from_value(json!({
        "approval": "s1-a1", "call": "c1", "tool": "run_shell", "binds": "x",
        "input": { "command": command.join("\n") }, "rules": [rule.expect("a rule")],
        "summary": format!("Run {}", command.join("; ")), "reason": "mode ask",
    }))
    .expect("an approval");
    ApprovalDialog::new(PendingAsk::Approval(SharedFact::from(asked)))
}

#[test]
fn f1_a_command_is_allowed_only_where_its_end_was_in_sight() {
    let mut short = command_dialog(3);
    let text = shown(&short, 20);
    assert!(text.contains("echo line 3") && text.contains("y yes, once"), "{text}");
    assert_eq!(press(&mut short, 'y'), ApprovalKeyOutcome::Decide(Decision::Once, None));
    for (lines, rows) in [(60, 10), (60, 20), (20, 20), (12, 12)] {
        let mut long = command_dialog(lines);
        let text = shown(&long, rows);
        assert!(text.contains("echo line 1\n"), "its beginning is seen: {text}");
        assert!(text.contains("more lines · v shows all, then y"), "{text}");
        assert!(!text.contains("y yes") && !text.contains("s this session"), "{text}");
        for key in ['y', 's', 'a'] {
            assert_eq!(press(&mut long, key), ApprovalKeyOutcome::Took, "{key} {lines} {rows}");
        }
        assert_eq!(press(&mut long, 'v'), ApprovalKeyOutcome::All);
        let whole = long.all_lines(80, &Theme::plain_theme());
        assert!(whole.iter().any(|line| line.to_string().contains(&format!("line {lines}"))));
        let text = shown(&long, rows);
        assert!(text.contains("y yes, once"), "{text}");
        assert_eq!(press(&mut long, 'y'), ApprovalKeyOutcome::Decide(Decision::Once, None));
    }
}

#[test]
fn f1_words_around_a_command_give_way_to_its_end() {
    // The summary says the whole command once more: it is cut before a line of the command is.
    let mut tight = command_dialog(12);
    let text = shown(&tight, 18);
    assert!(text.contains("echo line 12") && text.contains("y yes, once"), "{text}");
    assert_eq!(press(&mut tight, 'y'), ApprovalKeyOutcome::Decide(Decision::Once, None));
}

#[test]
fn f1_a_digit_answers_nothing() {
    for key in ['1', '2', '3', '4'] {
        let mut dialog = command_dialog(1);
        shown(&dialog, 20);
        assert_eq!(press(&mut dialog, key), ApprovalKeyOutcome::Passed, "{key}");
    }
}
