//! What fingers know: commands of other agents, slips, and what they do here. And what is shown of what
//! is long.

use serde_json::json;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::made::{Face, opened};
use crate::app::TerminalAction;
use crate::link::{ReportKind, SessionTarget, SlashCommandInfo, UiCommand, UiUpdate};

fn said(face: &mut Face, line: &str) -> Vec<UiCommand> {
    face.app.typed(line);
    face.app.take_wishes()
}

#[test]
fn f1_commands_that_fingers_know_do_something() {
    let mut face = Face::open(80, 24);
    assert_eq!(said(&mut face, "/new"), [UiCommand::Open(SessionTarget::New)]);
    assert_eq!(said(&mut face, "/plan"), [UiCommand::Mode(PermissionMode::Plan)]);
    let plan = said(&mut face, "/plan the move");
    let [UiCommand::Mode(PermissionMode::Plan), UiCommand::Say { text, .. }] = plan.as_slice()
    else {
        panic!("{plan:?}")
    };
    assert_eq!(text, "the move");
    for (line, expected) in
        [("/usage", ReportKind::Cost), ("/config", ReportKind::Config), ("/diff", ReportKind::Diff)]
    {
        let mut face = Face::open(80, 24);
        let wished = said(&mut face, line);
        assert!(
            matches!(wished[..], [UiCommand::Report { report, .. }] if report == expected),
            "{line}"
        );
    }
    for (line, part) in [("/login", "weir auth set"), ("/rename", "/resume"), ("/hooks", "/config")]
    {
        let mut face = Face::open(80, 24);
        assert_eq!(said(&mut face, line), []);
        let shot = face.shot();
        let words: Vec<&str> = shot.split_whitespace().collect();
        assert!(words.join(" ").contains(part), "{line}: {shot}");
    }
    let mut face = Face::open(80, 24);
    said(&mut face, "/status");
    let shot = face.shot();
    for part in ["script/demo", "coder", "ask", "~/code/weir", "weir --resume 0197"] {
        assert!(shot.contains(part), "{part} in {shot}");
    }
    assert_eq!(said(&mut face, "/exit"), [UiCommand::Leave]);
}

#[test]
fn f1_a_workflow_of_the_session_comes_before_a_word_of_other_agents() {
    let mut face = Face::open(80, 24);
    let own = |name: &str| SlashCommandInfo {
        name: name.into(),
        about: "Mine".into(),
        hint: String::new(),
        kind: "workflow".into(),
    };
    face.app.fold.named = vec![own("plan"), own("cost")];
    face.app.set_named();
    let wished = said(&mut face, "/plan this");
    assert!(
        matches!(&wished[..], [UiCommand::Say { text, .. }] if text == "/plan this"),
        "{wished:?}"
    );
    let listed = face.app.named.iter().filter(|one| one.name == "plan");
    assert_eq!(listed.map(|one| one.about.as_str()).collect::<Vec<_>>(), ["Mine"]);
    // The face's own are not hidden by one of the same name.
    let wished = said(&mut face, "/cost");
    assert!(
        matches!(wished[..], [UiCommand::Report { report: ReportKind::Cost, .. }]),
        "{wished:?}"
    );
}

#[test]
fn f1_such_a_word_waits_until_it_is_known_what_the_session_has() {
    for own in [true, false] {
        let mut face = Face::shut(80, 24);
        assert_eq!(said(&mut face, "/plan it"), []);
        let (about, named) = (Box::default(), named_of(own, "plan"));
        face.news(&UiUpdate::Opened { session: None, known: 0, about, named });
        let wished = face.wished();
        let Some(UiCommand::Say { text, .. }) = wished.last() else { panic!("{wished:?}") };
        assert_eq!(text == "/plan it", own, "{text}");
    }
    // One that only the session can have, or nobody.
    for own in [true, false] {
        let mut face = Face::shut(80, 24);
        assert_eq!(said(&mut face, "/pr it"), []);
        let (about, named) = (Box::default(), named_of(own, "pr"));
        face.news(&UiUpdate::Opened { session: None, known: 0, about, named });
        let is_said =
            |one: &UiCommand| matches!(one, UiCommand::Say { text, .. } if text == "/pr it");
        assert_eq!(face.wished().iter().any(is_said), own);
        assert_eq!(face.shot().contains("There is no command /pr"), !own, "{}", face.shot());
    }
    let mut face = Face::shut(80, 24);
    assert_eq!(said(&mut face, "/exit"), [UiCommand::Leave]);
}

/// A workflow of the session of this name, or none.
fn named_of(is_there: bool, name: &str) -> Vec<SlashCommandInfo> {
    let named = SlashCommandInfo {
        name: name.into(),
        about: String::new(),
        hint: String::new(),
        kind: "workflow".into(),
    };
    if is_there { vec![named] } else { Vec::new() }
}

#[test]
fn f1_the_status_waits_until_the_settings_are_known() {
    let mut face = Face::shut(80, 24);
    assert_eq!(said(&mut face, "/status"), []);
    let about = Box::default();
    face.news(&UiUpdate::Opened { session: None, known: 0, about, named: Vec::new() });
    assert!(!face.shot().contains("Permission"), "{}", face.shot());
    face.news(&UiUpdate::Settings {
        model: "script/model".into(),
        profile: "standard".into(),
        permission: PermissionMode::Ask,
        thinking: Thinking::Off,
    });
    let shot = face.shot();
    assert!(shot.contains("Model       script/model"), "{shot}");
    assert_eq!(face.app.held.len(), 0);
}

#[test]
fn f1_a_slip_is_answered_with_what_was_meant() {
    let mut face = Face::open(80, 24);
    assert_eq!(said(&mut face, "/exti"), []);
    assert!(face.shot().contains("There is no command /exti: did you mean /exit? /help lists all"));
    assert_eq!(face.app.composer.current_message().text, "/exti", "it can be mended");
}

#[test]
fn f1_copy_is_for_the_terminal_and_says_what_it_took() {
    let mut face = Face::open(80, 24);
    said(&mut face, "/copy");
    assert!(face.app.take_acts().is_empty());
    assert!(face.shot().contains("nothing to copy"));
    face.begin("Show it.");
    face.replied("So:\n\n```rust\nfn a() {}\n```");
    said(&mut face, "/copy code");
    assert_eq!(face.app.take_acts(), [TerminalAction::Copy("fn a() {}\n".into())]);
    assert!(face.shot().contains("Copied the last block of code: 1 line"));
}

#[test]
fn f1_a_copy_of_a_session_says_that_it_is_one() {
    let mut face = Face::open(80, 24);
    let wished = said(&mut face, "/fork");
    assert!(
        matches!(wished[..], [UiCommand::Open(SessionTarget::Fork { before: None, .. })]),
        "{wished:?}"
    );
    let about = Box::new(face.app.about.clone());
    let session = Some(weir_core::ids::SessionId::new("0198"));
    face.news(&UiUpdate::Opened { session, known: 1, about, named: Vec::new() });
    let event = weir_core::event::Event::from_payload("session.opened", &opened().to_string());
    let event = std::sync::Arc::new(event.expect("a fact"));
    face.news(&UiUpdate::Fact { seq: 1, ts: face.now, event });
    let shot = face.shot();
    assert!(shot.contains("This is a copy of session 0197."), "{shot}");
}

#[test]
fn f1_what_is_long_is_folded_when_it_is_sent() {
    let mut face = Face::open(80, 24);
    let text: Vec<String> = (1..=500).map(|n| format!("line {n}")).collect();
    face.begin(&text.join("\n"));
    let shot = face.shot();
    for part in ["> line 1\n  line 2\n  line 3\n  … 496 more lines", "  line 500\n"] {
        assert!(shot.contains(part), "{part:?} in {shot}");
    }
    let mut face = Face::open(80, 24);
    face.begin(&text[..16].join("\n"));
    assert!(face.shot().contains("  line 16\n"), "a short one is whole");
}

#[test]
fn f1_a_long_output_shows_its_two_ends() {
    let judged = |call: &str| {
        json!({
            "call": call, "verdict": "allow", "inspection": {
                "known": true, "class": "process", "summary": "Run it",
                "effects": {"commands": [{"command": "seq", "cwd": "."}]},
            },
        })
    };
    let finish = |face: &mut Face, text: &str, full: Option<&str>| {
        let result = json!([{"type": "text", "text": text}]);
        let mut fields = json!({
            "call": "c1", "tool": "run_shell", "ok": true, "summary": "1", "result": result,
            "confirmed": false, "bytes": 100, "duration_ms": 10,
        });
        if let Some(full) = full {
            fields["full"] = json!(full);
        }
        face.fact("call.finished", &fields);
    };
    let begin = || {
        let mut face = Face::open(80, 24);
        face.begin("Count.");
        face.replied("");
        face.proposed("c1", "run_shell", &json!({"command": "seq 1 20000"}));
        face.fact("call.judged", &judged("c1"));
        face.started("c1");
        face
    };
    let mut face = begin();
    let all: String = (1..=30).map(|n| format!("out {n}\n")).collect();
    finish(&mut face, &all, None);
    let shot = face.shot();
    let ends = "  out 1\n  out 2\n  out 3\n  … 23 more lines · Ctrl-O shows all\n  out 27\n  \
                out 28\n  out 29\n  out 30\n";
    assert!(shot.contains(ends), "{shot}");
    // What was put elsewhere: its end is known from what it printed while it ran.
    let reference = "Result of 108894 characters in results/run_shell-1.md (20000 lines).\n20000 \
                     entries.\nThe first ones:\n1\n2\n3\n… and 19997 more lines.\nRead more with \
                     read_file on results/run_shell-1.md (offset: the line to begin with, limit: how \
                     many lines), or search in it.\n";
    let mut face = begin();
    face.signal(crate::link::SignalKind::Output, "c1", "19998\n19999\n20000\n");
    finish(&mut face, reference, Some("00ff"));
    let shot = face.shot();
    let ends =
        "  1\n  2\n  3\n  … 19994 more lines · Ctrl-O shows all\n  19998\n  19999\n  20000\n";
    assert!(shot.contains(ends), "{shot}");
    assert!(!shot.contains("read_file") && !shot.contains("Result of"), "{shot}");
    // Without it, its beginning.
    let mut face = begin();
    finish(&mut face, reference, Some("00ff"));
    assert!(face.shot().contains("  1\n  2\n  3\n  … 19997 more lines"), "{}", face.shot());
}

#[test]
fn f1_who_stopped_a_run_is_said_once() {
    for (by, words) in [("person", "─ You stopped it · "), ("ada", "─ Stopped by ada · ")] {
        let mut face = Face::open(80, 24);
        face.begin("Count.");
        face.fact("cancel.requested", &json!({"cause": "cancelled", "by": by}));
        face.ended("cancelled", Some(&format!("Cancelled by {by}.")));
        let shot = face.shot();
        assert!(shot.contains(words), "{shot}");
        assert!(!shot.contains("Cancelled by") && !shot.contains("ends the run"), "{shot}");
    }
}

#[test]
fn f1_settings_that_change_are_said_by_their_names() {
    let mut face = Face::open(80, 24);
    let mut config = opened()["config"].clone();
    config["permission"] = json!("plan");
    let fields = json!({"reason": "another permission mode, other rules", "config": config});
    face.fact("session.configured", &fields);
    let shot = face.shot();
    assert!(shot.contains("· Permission mode: plan\n"), "{shot}");
    assert!(!shot.contains("other rules"), "{shot}");
}
