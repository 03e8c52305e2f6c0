//! Tests of the dialog about several steps: none is agreed to that had no room.

use serde_json::json;
use weir_core::event::SharedFact;

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
