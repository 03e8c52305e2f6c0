//! What went wrong once: keys that meet another question than they were meant for, words that were
//! lost, settings that were shown and did not hold.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Value, json};
use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, InputId, SessionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::profile::PermissionMode;

use super::keys::{ask, asks, decided};
use super::made::Face;
use crate::app::ANSWER_MS;
use crate::compose::WrittenMessage;
use crate::link::{NoticeTone, OpenSessionInfo, ShellNews, UiCommand, UiUpdate};
use crate::screen::ScreenStep;

fn notice(face: &mut Face, tone: NoticeTone) {
    face.news(&UiUpdate::Notice { tone, text: "it cannot be done".into() });
}

fn resolved(face: &mut Face, name: &str) {
    let fields = json!({"approval": name, "call": "c1", "decision": "once", "by": "web:bob"});
    face.fact("approval.resolved", &fields);
}

#[test]
fn f1_the_next_approval_takes_no_key_before_it_was_seen() {
    let mut face = asks(&[]);
    ask(&mut face, "a2", &[]);
    face.wait(5_000);
    // The first one is settled elsewhere while a key for it is on its way.
    resolved(&mut face, "a1");
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), []);
    face.app.composer.set_text("");
    // However long nothing is painted: what was not seen is not answered.
    face.now = face.now.plus_ms(60_000);
    face.app.tick(face.now);
    assert_eq!(
        face.app.next_tick_ms(),
        Some(250).filter(|_| face.app.fold.view.has_calls_at_work())
    );
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), []);
    face.app.composer.set_text("");
    face.wait(400);
    assert!(!face.app.dialog_state().focused);
    face.wait(200);
    face.press(KeyCode::Char('y'));
    let approval = ApprovalId::new("a2");
    assert_eq!(
        face.wished(),
        [UiCommand::Tell(PersonCommand::Decide(ApprovalAnswer {
            approval,
            decision: Decision::Once,
            reason: None,
            terms: None
        }))]
    );
}

#[test]
fn f1_a_letter_with_control_or_alt_decides_nothing() {
    let all = [KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SUPER, KeyModifiers::META];
    for modifiers in all {
        for key in ['y', 's', 'a', '1', 'n'] {
            let mut face = asks(&["Shell(make:*)"]);
            face.chord(KeyCode::Char(key), modifiers);
            face.press(KeyCode::Enter);
            let wished = face.wished();
            let decides =
                |wish: &UiCommand| matches!(wish, UiCommand::Tell(PersonCommand::Decide(_)));
            assert!(!wished.iter().any(decides), "{modifiers:?} {key}: {wished:?}");
        }
    }
    let mut face = asks(&[]);
    face.chord(KeyCode::Char('Y'), KeyModifiers::SHIFT);
    assert_eq!(face.wished(), decided(Decision::Once, None));
}

#[test]
fn f1_a_key_that_is_not_for_the_reason_does_not_end_it() {
    let mut face = asks(&[]);
    face.type_in("nnot");
    face.control('k');
    face.chord(KeyCode::Char('f'), KeyModifiers::ALT);
    face.press(KeyCode::Up);
    face.type_in(" now");
    face.press(KeyCode::Enter);
    assert_eq!(face.wished(), decided(Decision::Deny, Some("not now")));
    assert!(face.app.composer.is_empty());
}

#[test]
fn f1_an_answer_that_is_lost_can_be_given_again() {
    for lost in [true, false] {
        let mut face = asks(&[]);
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), decided(Decision::Once, None));
        assert!(!face.shot().contains("Allow this?"));
        assert!(face.app.next_tick_ms().is_some_and(|ms| ms <= ANSWER_MS));
        match lost {
            true => face.wait(ANSWER_MS),
            false => notice(&mut face, NoticeTone::Bad),
        }
        assert!(face.shot().contains("Allow this?"), "{lost}");
        assert_eq!(face.shot().contains("Nothing was heard of your answer"), lost);
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), [], "it has only just come again");
        face.app.composer.set_text("");
        face.wait(1_000);
        face.press(KeyCode::Char('y'));
        assert_eq!(face.wished(), decided(Decision::Once, None));
    }
}

#[test]
fn f1_what_is_pasted_after_an_answer_goes_into_the_box() {
    let mut face = asks(&[]);
    face.type_in("nno");
    face.press(KeyCode::Enter);
    face.wished();
    face.app.handle_paste("words", face.now);
    face.press(KeyCode::Tab);
    face.type_in("!");
    assert_eq!(face.app.composer.current_message().text, "words!");
}

#[test]
fn f1_the_footer_shows_what_holds_and_what_is_wished_for() {
    let footer = |face: &mut Face| {
        let shot = face.shot();
        let line = shot.lines().find(|line| line.contains("script/demo")).map(str::to_owned);
        line.expect("a footer").split(" · ").next().unwrap_or_default().to_owned()
    };
    let configured = json!({"reason": "x", "config": super::made::opened()["config"]});
    let mut face = Face::open(80, 24);
    let widen = |face: &mut Face| {
        face.press(KeyCode::Tab);
        face.wait(600);
        face.press(KeyCode::Enter);
    };
    widen(&mut face);
    assert_eq!(footer(&mut face), "ask → auto-edit");
    notice(&mut face, NoticeTone::Quiet);
    assert_eq!(footer(&mut face), "ask → auto-edit", "it is only put off");
    notice(&mut face, NoticeTone::Bad);
    assert_eq!(footer(&mut face), "ask");
    widen(&mut face);
    let mut other = configured.clone();
    other["config"]["permission"] = Value::from("auto-edit");
    face.fact("session.configured", &other);
    assert_eq!(footer(&mut face), "auto-edit");
    let modes = face.wished();
    assert_eq!(modes, [PermissionMode::AutoEdit; 2].map(UiCommand::Mode));
    face.control('t');
    assert!(face.shot().contains("answers at once → thinks a little"));
    face.fact("session.configured", &configured);
    assert_eq!(footer(&mut face), "ask");
    assert!(!face.shot().contains('→'));
}

#[test]
fn f1_what_a_turn_took_stands_in_the_conversation_and_not_in_the_box() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    face.queue("i2", "later");
    face.press(KeyCode::Esc);
    assert_eq!(
        face.wished(),
        [
            UiCommand::Tell(PersonCommand::Withdraw { input: InputId(2) }),
            UiCommand::Tell(PersonCommand::Cancel)
        ]
    );
    assert!(!face.shot().contains("queued later"));
    face.fact("turn.started", &json!({"turn": "t2", "iteration": 2, "inputs": ["i2"]}));
    notice(&mut face, NoticeTone::Bad);
    assert!(face.shot().contains("> later"));
    assert!(face.app.composer.is_empty());
    // What could not be taken back waits again.
    face.queue("i3", "and then");
    face.press(KeyCode::Up);
    notice(&mut face, NoticeTone::Bad);
    assert!(face.shot().contains("queued and then"));
}

#[test]
fn f1_what_others_said_is_not_taken_back() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    let content = json!([{"type": "text", "text": "from the browser"}]);
    let fields = json!({"input": "i2", "content": content, "by": "ada", "client_id": "web-1"});
    face.fact("input.accepted", &fields);
    face.press(KeyCode::Up);
    assert_eq!(face.wished(), []);
    face.press(KeyCode::Esc);
    assert_eq!(face.wished(), [UiCommand::Tell(PersonCommand::Cancel)]);
    assert!(face.shot().contains("queued from the browser"));
}

#[test]
fn f1_what_was_sent_belongs_to_its_session() {
    let mut face = Face::open(80, 24);
    face.app.typed("hello");
    assert!(face.shot().contains("queued hello"));
    let news = UiUpdate::Opened {
        session: Some(SessionId::new("0198")),
        known: 0,
        about: Box::new(OpenSessionInfo::default()),
        named: Vec::new(),
    };
    face.news(&news);
    assert!(!face.shot().contains("queued hello"));
}

#[test]
fn f1_two_slashes_are_words_and_a_wrong_command_keeps_what_goes_along() {
    for text in ["//note this", "// note", "/ note"] {
        let mut face = Face::open(80, 24);
        face.app.typed(text);
        let wished = face.app.take_wishes();
        assert!(
            matches!(&wished[..], [UiCommand::Say { text: said, .. }] if said == text),
            "{text}"
        );
    }
    let mut face = Face::open(80, 24);
    let attached = crate::link::MessageAttachment::Path("a.png".into());
    let written = WrittenMessage {
        attached: vec![attached.clone()],
        ..WrittenMessage::seen("/nope [image: a.png]")
    };
    face.app.send_written(written);
    assert_eq!(face.app.composer.current_message().attached, [attached]);
}

#[test]
fn f1_going_back_keeps_a_draft() {
    let mut face = Face::open(80, 24);
    face.type_in("a draft");
    face.app.apply_step(ScreenStep::Put("said before".into()));
    assert_eq!(face.app.composer.current_message().text, "said before\na draft");
}

#[test]
fn f1_ctrl_c_twice_in_a_run_does_not_leave() {
    let mut face = Face::open(80, 24);
    face.control('c');
    face.begin("Go on.");
    face.control('c');
    face.control('c');
    assert_eq!(
        face.wished(),
        [UiCommand::Tell(PersonCommand::Cancel), UiCommand::Tell(PersonCommand::Cancel)]
    );
    face.ended("cancelled", None);
    face.control('c');
    assert_eq!(face.wished(), []);
    face.control('c');
    assert_eq!(face.wished(), [UiCommand::Leave]);
}

#[test]
fn z10_warnings_are_not_cut_without_a_word_and_what_is_not_seen_is_not_allowed() {
    let dialog = |rows: u16| {
        let mut face = Face::open(60, rows);
        face.begin("Run it.");
        let input = json!({"command": "cat a\ncat b\ncat c"});
        face.proposed("c1", "run_shell", &input);
        let label = json!({"integrity": "external", "origins": ["example.com"]});
        let rule = json!({"action": "allow", "rule": "Shell(cat:*)", "source": "x"});
        let fields = json!({
            "approval": "a1", "call": "c1", "tool": "run_shell", "input": input, "binds": "x",
            "summary": "Run cat", "reason": "asked", "rules": [rule], "label": label,
        });
        face.fact("approval.requested", &fields);
        face.wait(1_000);
        face.shot();
        face
    };
    let (mut whole, mut tight) = (false, false);
    for rows in 1..=24 {
        let shot = dialog(rows).shot();
        let live = shot.split("live ════").nth(1).unwrap_or_default().to_owned();
        let warned = live.contains("! It had read") || live.contains("more line");
        let (mut once, mut always) = (dialog(rows), dialog(rows));
        once.press(KeyCode::Char('y'));
        always.press(KeyCode::Char('a'));
        let (once, always) = (once.wished(), always.wished());
        if live.contains("  command:") {
            assert!(warned, "{live}");
            // Of a command nothing counts before its end was seen.
            let yes = match live.contains("cat c") {
                true => decided(Decision::Once, None),
                false => vec![],
            };
            assert_eq!(once, yes, "{live}");
            let rules = live.contains("Session, or always");
            assert_eq!(always.len(), usize::from(rules), "{live}");
            whole |= rules && live.contains("! It had read");
        } else {
            assert_eq!((once, always), (vec![], vec![]), "{live}");
            let mut no = dialog(rows);
            no.type_in("n");
            no.press(KeyCode::Enter);
            assert_eq!(no.wished(), decided(Decision::Deny, None), "{rows}");
            tight |= live.contains("Too little room: v shows it");
        }
    }
    assert!(whole && tight);
}

#[test]
fn f1_a_long_dialog_leaves_room_for_what_must_not_be_overlooked() {
    let mut face = Face::open(60, 16);
    face.begin("Run it.");
    let unknown = json!({"call": "c9", "tool": "run_shell", "reason": "It ended."});
    face.fact("call.unknown", &unknown);
    let input = json!({"command": "cat a\n".repeat(99)});
    face.proposed("c1", "run_shell", &input);
    let fields = json!({
        "approval": "a1", "call": "c1", "tool": "run_shell", "input": input, "binds": "x",
        "summary": "Run cat", "reason": "asked", "rules": [],
    });
    face.fact("approval.requested", &fields);
    face.news(&UiUpdate::Lost(Some("no answer".into())));
    face.wait(1_000);
    let shot = face.shot();
    for text in ["Connection lost", "Outcome unknown", "n no", "v shows all, then y"] {
        assert!(shot.contains(text), "{text} in {shot}");
    }
}

#[test]
fn f1_calls_of_unknown_outcome_are_bounded_and_go_when_they_are_known() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    for n in 1..=100 {
        let call = format!("c{n}");
        let unknown = json!({"call": call, "tool": "run_shell", "reason": "It ended."});
        face.fact("call.unknown", &unknown);
    }
    assert_eq!(face.app.fold.view.unknown_calls().len(), 64);
    face.finished("c100", "run_shell", "done");
    face.fact("call.reconciled", &json!({"call": "c99", "evidence": "no file"}));
    assert_eq!(face.app.fold.view.unknown_calls().len(), 62);
}

#[test]
fn d4_an_answer_takes_away_only_the_unknown_outcomes_that_its_question_told_of() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    for call in ["c1", "c2"] {
        let unknown = json!({"call": call, "tool": "run_shell", "reason": "It ended."});
        face.fact("call.unknown", &unknown);
    }
    let mut asks = |call: &str, told: &[&str], decision: &str| {
        let input = json!({"command": "ls"});
        face.proposed(call, "run_shell", &input);
        let approval = format!("a-{call}");
        let asked = json!({
            "approval": approval, "call": call, "tool": "run_shell", "input": input,
            "summary": "Run ls", "reason": "asked", "rules": [], "binds": "x", "unknown": told,
        });
        face.fact("approval.requested", &asked);
        let answered = json!({
            "approval": approval, "call": call, "decision": decision, "by": "person",
        });
        face.fact("approval.resolved", &answered);
        face.app
            .fold
            .view
            .unknown_calls()
            .iter()
            .map(|unsure| unsure.call.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(asks("c3", &[], "once"), ["c1", "c2"], "it told of nothing");
    assert_eq!(asks("c4", &["c1"], "deny"), ["c1", "c2"], "a no settles nothing");
    assert_eq!(asks("c5", &["c1"], "once"), ["c2"]);
}

#[test]
fn z10_a_job_runs_until_a_tool_says_otherwise() {
    // What a job prints, and how a tool words its line, say nothing.
    let cases =
        [("exit code 0", "j1", true), ("running for ever", "j1", false), ("", "j12", false)];
    for (output, job, running) in cases {
        let mut face = Face::open(80, 24);
        face.begin("Go on.");
        let command = json!({"command": "serve", "cwd": "", "background": true});
        done(&mut face, "c1", "run_shell", &json!({"commands": [command]}), ("job", "j1", true));
        let jobs = json!({"jobs": [job]});
        done(&mut face, "c2", "read_shell_output", &jobs, (output, job, running));
        let still = running || job != "j1";
        assert_eq!(!face.app.fold.view.jobs().is_empty(), still, "{output}");
    }
}

/// A call from its proposal to its end, which tells of a job.
fn done(
    face: &mut Face,
    call: &str,
    tool: &str,
    effects: &serde_json::Value,
    told: (&str, &str, bool),
) {
    let (output, job, running) = told;
    face.proposed(call, tool, &json!({}));
    let inspection = json!({"known": true, "class": "read", "effects": effects, "summary": "It"});
    let judged = json!({"call": call, "verdict": "allow", "inspection": inspection});
    face.fact("call.judged", &judged);
    let fields = json!({
        "call": call, "tool": tool, "ok": true, "summary": output,
        "result": [{"type": "text", "text": output}], "confirmed": false, "bytes": 100,
        "duration_ms": 1, "news": [{"news": "job", "job": job, "running": running}],
    });
    face.fact("call.finished", &fields);
}

#[test]
fn f1_colours_of_a_program_are_left_out() {
    let mut face = Face::open(80, 24);
    face.app.typed("!ls");
    face.app.take_wishes();
    let text = "\u{1b}[31mred\u{1b}[0m\n50%\r100%\n".to_owned();
    face.news(&UiUpdate::Shell { ticket: 1, news: ShellNews::Output(text) });
    let running = face.shot();
    let (status, shown) = ("exit 0".to_owned(), String::new());
    face.news(&UiUpdate::Shell { ticket: 1, news: ShellNews::Ended { status, ok: true, shown } });
    for shot in [running, face.shot()] {
        assert!(shot.contains("  red\n  100%\n") && !shot.contains("U+001B"), "{shot}");
    }
}
