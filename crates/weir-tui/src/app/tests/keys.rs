//! What keys do: wishes, queue, dialogs, leaving.

use crossterm::event::KeyCode;
use serde_json::json;
use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, InputId, QuestionId, SessionId, Timestamp};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::view::first_start::FirstStart;

use super::made::Face;
use crate::link::{NoticeTone, OpenSessionInfo, ReportKind, ShellNews, UiCommand, UiUpdate};

pub(super) fn asks(rules: &[&str]) -> Face {
    let mut face = Face::open(80, 24);
    face.begin("Run it.");
    let input = json!({"command": "make"});
    face.proposed("c1", "run_shell", &input);
    face.wait(1_000);
    ask(&mut face, "a1", rules);
    face.wait(1_000);
    face.wished();
    face
}

pub(super) fn ask(face: &mut Face, name: &str, rules: &[&str]) {
    let rules = rules.iter().map(|rule| json!({"action": "allow", "rule": rule, "source": "x"}));
    let rules: Vec<_> = rules.collect();
    let fields = json!({
        "approval": name, "call": "c1", "tool": "run_shell", "input": {"command": "make"},
        "summary": "Run make", "reason": "commands are asked", "binds": "x", "rules": rules,
    });
    face.fact("approval.requested", &fields);
}

pub(super) fn decided(decision: Decision, reason: Option<&str>) -> Vec<UiCommand> {
    let approval = ApprovalId::new("a1");
    vec![UiCommand::Tell(PersonCommand::Decide(ApprovalAnswer {
        approval,
        decision,
        reason: reason.map(str::to_owned),
        terms: None,
    }))]
}

#[test]
fn u13_a_grant_is_named_and_what_was_often_allowed_stands_first() {
    let mut face = asks(&[]);
    let grant = json!({ "name": "crates.io for cargo", "hosts": ["crates.io", "static.crates.io"],
        "commands": ["cargo add"] });
    let rule = json!({ "action": "allow", "rule": "Web(crates.io)", "source": "x" });
    let fields = |often: bool| {
        json!({
            "approval": "a1", "call": "c1", "tool": "run_shell", "input": {"command": "cargo add x"},
            "summary": "Run cargo add", "reason": "network", "binds": "x", "rules": [rule],
            "grant": grant, "often": often,
        })
    };
    for (often, order) in
        [(false, ["yes, once", "this session"]), (true, ["this session", "yes, once"])]
    {
        let settled = json!({ "approval": "a1", "call": "c1", "decision": "once", "by": "ada" });
        face.fact("approval.resolved", &settled);
        face.fact("approval.requested", &fields(often));
        face.wait(1_000);
        let shot = face.shot();
        let shown = shot.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("This session grants: crates.io for cargo"), "{shot}");
        assert!(shown.contains("three times or more") == often, "{shot}");
        let places = order.map(|words| shown.rfind(words).expect(words));
        assert!(places[0] < places[1], "{shot}");
    }
    face.wished();
    face.press(KeyCode::Char('s'));
    assert_eq!(face.wished(), decided(Decision::Session, None));
}

#[test]
fn u13_the_first_start_says_its_mode_once() {
    let mut face = Face::shut(80, 24);
    let first = Some(FirstStart { mode: PermissionMode::Ask, offers_auto_edit: true });
    let about = |first_start| OpenSessionInfo {
        folder: "~/code".into(),
        first_start,
        ..OpenSessionInfo::default()
    };
    let opened = |about| UiUpdate::Opened {
        session: None,
        known: 0,
        about: Box::new(about),
        named: Vec::new(),
    };
    face.news(&opened(about(first)));
    let shot = face.shot();
    let shown = shot.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("Permission mode ask: reading passes"), "{shot}");
    assert!(shown.contains("/permissions auto-edit, or Tab in the empty box"), "{shot}");
    let mut face = Face::shut(80, 24);
    face.news(&opened(about(None)));
    assert!(!face.shot().contains("Permission mode"));
}

#[test]
fn f1_an_approval_is_answered_with_a_key() {
    let rule = ["Shell(make:*)"];
    let cases = [
        ("y", decided(Decision::Once, None)),
        ("s", decided(Decision::Session, None)),
        ("a", decided(Decision::Always, None)),
        ("n\n", decided(Decision::Deny, None)),
        ("ntoo slow\n", decided(Decision::Deny, Some("too slow"))),
        // Nothing says that a digit answers: whoever types one begins a message.
        ("1", vec![]),
        ("2", vec![]),
        ("3 files are too many", vec![]),
        ("4", vec![]),
        ("x", vec![]),
        ("my yes", vec![]),
    ];
    for (keys, expected) in cases {
        let mut face = asks(&rule);
        for c in keys.chars() {
            face.wait(100);
            face.press(if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
        }
        assert_eq!(face.wished(), expected, "{keys:?}");
    }
}

#[test]
fn f1_what_cannot_last_is_not_offered() {
    for key in ['s', 'a', '2', '3'] {
        let mut face = asks(&[]);
        face.press(KeyCode::Char(key));
        assert_eq!(face.wished(), [], "{key}");
    }
}

#[test]
fn f1_a_letter_that_was_meant_for_the_box_answers_nothing() {
    let mut face = Face::open(80, 24);
    face.begin("Run it.");
    face.proposed("c1", "run_shell", &json!({"command": "make"}));
    face.type_in("I sa");
    ask(&mut face, "a1", &["Shell(make:*)"]);
    face.type_in("y yes");
    assert!(face.wished().is_empty());
    assert_eq!(face.app.composer.current_message().text, "I say yes");
    // Only Tab turns to it while something stands in the box.
    face.wait(5_000);
    face.press(KeyCode::Char('y'));
    assert!(face.wished().is_empty());
    face.press(KeyCode::Tab);
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), decided(Decision::Once, None));
}

#[test]
fn g4_a_key_that_was_pressed_too_soon_answers_nothing_however_late_it_is_looked_at() {
    // It was asked a second ago; the face stood still, and comes to what was pressed meanwhile.
    let mut face = asks(&[]);
    let now = face.now;
    for (key, ms) in [('y', 900), ('y', 700)] {
        assert!(face.app.dialog_state().focused);
        face.app.handle_key(KeyCode::Char(key).into(), Timestamp(now.0 - ms * 1_000));
        assert_eq!(face.app.take_wishes(), []);
        assert_eq!(face.app.composer.current_message().text, "y");
        face.app.composer.set_text("");
        // The pause begins with the key.
        face.app.tick(now);
    }
    face.wait(1_000);
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), decided(Decision::Once, None));
}

#[test]
fn f1_an_answer_is_not_taken_for_the_next_question() {
    let mut face = asks(&[]);
    ask(&mut face, "a2", &[]);
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), decided(Decision::Once, None));
    face.press(KeyCode::Char('y'));
    assert!(face.wished().is_empty(), "the answer is under way");
    face.app.composer.set_text("");
    let resolved = json!({"approval": "a1", "call": "c1", "decision": "once", "by": "ada"});
    face.fact("approval.resolved", &resolved);
    face.press(KeyCode::Char('y'));
    assert!(face.wished().is_empty(), "the next one has only just come");
}

#[test]
fn f1_an_approval_that_was_answered_elsewhere_goes() {
    let mut face = asks(&[]);
    let resolved = json!({"approval": "a1", "call": "c1", "decision": "deny", "by": "web:bob"});
    face.fact("approval.resolved", &resolved);
    let shot = face.shot();
    assert!(shot.contains("Answered elsewhere. Denied by web:bob"), "{shot}");
    assert!(!shot.contains("Allow this?"), "{shot}");
}

#[test]
fn f1_esc_interrupts_and_gives_back_what_was_not_said() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    face.queue("i2", "one");
    face.queue("i3", "two");
    face.type_in("three");
    face.press(KeyCode::Esc);
    let wished = face.wished();
    let expected = [
        UiCommand::Tell(PersonCommand::Withdraw { input: InputId(3) }),
        UiCommand::Tell(PersonCommand::Withdraw { input: InputId(2) }),
        UiCommand::Tell(PersonCommand::Cancel),
    ];
    assert_eq!(wished, expected);
    for input in ["i3", "i2"] {
        face.fact("input.withdrawn", &json!({"input": input}));
    }
    assert_eq!(face.app.composer.current_message().text, "one\ntwo\nthree");
}

#[test]
fn l12_what_waits_comes_back_when_the_run_is_ended_elsewhere() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    face.queue("i2", "one");
    face.queue("i3", "two");
    face.type_in("three");
    // Said in another face: it goes back there.
    let elsewhere = json!({"input": "i4", "by": "web:bob", "client_id": "web-1",
        "content": [{"type": "text", "text": "not mine"}]});
    face.fact("input.accepted", &elsewhere);
    for input in ["i2", "i3", "i4"] {
        face.fact("input.withdrawn", &json!({"input": input}));
    }
    face.ended("cancelled", None);
    assert!(face.wished().is_empty(), "nothing was wished for");
    assert_eq!(face.app.composer.current_message().text, "one\ntwo\nthree");
    assert!(face.app.fold.queue.is_empty());
}

#[test]
fn l12_words_that_were_changed_since_they_came_back_stay_as_they_are() {
    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    face.queue("i2", "one");
    face.queue("i3", "two");
    face.fact("input.withdrawn", &json!({"input": "i2"}));
    face.type_in(" more");
    face.fact("input.withdrawn", &json!({"input": "i3"}));
    assert_eq!(face.app.composer.current_message().text, "two\none more");
}

#[test]
fn f1_the_last_queued_message_is_taken_back() {
    for key in [KeyCode::Up, KeyCode::Backspace] {
        let mut face = Face::open(80, 24);
        face.begin("Go on.");
        face.queue("i2", "later");
        face.press(key);
        assert_eq!(face.wished(), [UiCommand::Tell(PersonCommand::Withdraw { input: InputId(2) })]);
        assert!(face.app.composer.is_empty(), "nobody knows yet whether it was told");
        face.fact("input.withdrawn", &json!({"input": "i2"}));
        assert_eq!(face.app.composer.current_message().text, "later");
    }
}

#[test]
fn f1_what_is_refused_comes_back() {
    let mut face = Face::open(80, 24);
    face.say("hello");
    let wished = face.wished();
    let [UiCommand::Say { text, client_id, .. }] = wished.as_slice() else { panic!("{wished:?}") };
    assert_eq!(text, "hello");
    face.type_in("more");
    face.news(&UiUpdate::Refused { client_id: client_id.clone(), why: "the disk is full".into() });
    assert_eq!(face.app.composer.current_message().text, "hello\nmore");
    assert!(face.shot().contains("Not sent: the disk is full."));
}

#[test]
fn f1_keys_for_thinking_transcript_help_and_rewind() {
    let mut face = Face::open(80, 24);
    face.control('t');
    assert_eq!(face.wished(), [UiCommand::Thinking(Thinking::Low)]);
    face.begin("hello");
    face.ended("completed", None);
    for (keys, title) in [("o", "Conversation"), ("?", "Help")] {
        match keys {
            "o" => face.control('o'),
            _ => face.press(KeyCode::Char('?')),
        }
        assert!(face.shot().contains(title), "{title}");
        face.press(KeyCode::Char('q'));
        assert!(face.app.screens.is_empty(), "{title} closes");
    }
    face.wait(3_000);
    face.press(KeyCode::Esc);
    face.wait(5_000);
    face.press(KeyCode::Esc);
    assert!(face.app.screens.is_empty(), "too late for the second one");
    face.wait(500);
    face.press(KeyCode::Esc);
    assert_eq!(face.app.screens.len(), 1);
}

#[test]
fn f1_ctrl_c_and_ctrl_d_leave() {
    let mut face = Face::open(80, 24);
    face.type_in("text");
    face.control('c');
    assert!(face.app.composer.is_empty() && face.wished().is_empty());
    face.control('c');
    face.wait(3_000);
    face.control('c');
    assert!(face.wished().is_empty(), "the second one came too late");
    face.wait(100);
    face.control('c');
    assert_eq!(face.wished(), [UiCommand::Leave]);

    let mut face = Face::open(80, 24);
    face.type_in("x");
    face.control('d');
    assert!(face.wished().is_empty());
    face.press(KeyCode::Backspace);
    face.control('d');
    assert_eq!(face.wished(), [UiCommand::Leave]);

    let mut face = Face::open(80, 24);
    face.begin("Go on.");
    face.control('c');
    assert_eq!(face.wished(), [UiCommand::Tell(PersonCommand::Cancel)]);
}

#[test]
fn f1_a_hint_about_a_second_press_stands_as_long_as_it_is_true() {
    const HINT: &str = "Ctrl-C again leaves";
    let mut face = Face::open(80, 24);
    face.control('c');
    assert!(face.shot().contains(HINT));
    face.wait(2_000);
    assert!(!face.shot().contains(HINT), "the second press would be a first one now");
    face.control('c');
    assert!(face.wished().is_empty() && face.shot().contains(HINT));
    // Whoever writes on leaves nothing by it, and is told nothing of it.
    face.type_in("x");
    assert!(!face.shot().contains(HINT));
    face.control('c');
    assert!(face.wished().is_empty() && face.app.composer.is_empty(), "it clears the box");
    // What was said of an earlier message goes with the next one.
    face.control('c');
    face.wait(100);
    face.app.show_hint(NoticeTone::Quiet, "Your message is back in the box");
    face.say("Go on.");
    assert!(!face.shot().contains("back in the box"));
}

#[test]
fn f1_commands_do_what_they_say() {
    let cases = [
        ("/compact the plan", UiCommand::Condense("the plan".into())),
        ("/undo", UiCommand::Undo),
        ("/export a.md", UiCommand::Export("a.md".into())),
        ("/release", UiCommand::Release),
        ("/pause lunch", UiCommand::Pause(Some("lunch".into()))),
        ("/model a/b", UiCommand::Model("a/b".into())),
        ("/thinking high", UiCommand::Thinking(Thinking::High)),
        ("/quit", UiCommand::Leave),
    ];
    for (line, expected) in cases {
        let mut face = Face::open(80, 24);
        face.app.typed(line);
        assert_eq!(face.app.take_wishes(), [expected], "{line}");
    }
    let mut face = Face::open(80, 24);
    face.app.typed("/cost");
    let wished = face.app.take_wishes();
    assert!(
        matches!(wished[..], [UiCommand::Report { report: ReportKind::Cost, .. }]),
        "{wished:?}"
    );
}

#[test]
fn r5_a_run_that_was_paused_alone_goes_on_with_release() {
    let mut face = Face::open(80, 24);
    face.begin("Run it.");
    face.fact("run.paused", &json!({"by": "ada (phone Pixel)"}));
    face.wait(1_000);
    let shot = face.shot();
    assert!(shot.contains("Paused by ada (phone Pixel) · /release lets it go on"), "{shot}");
    face.app.typed("/release");
    assert_eq!(face.app.take_wishes(), [UiCommand::Tell(PersonCommand::Resume)]);
    face.fact("run.resumed", &json!({"by": "ada"}));
    face.app.typed("/release");
    assert_eq!(face.app.take_wishes(), [UiCommand::Release]);
}

#[test]
fn f1_an_unknown_command_is_kept_and_a_path_is_said() {
    let mut face = Face::open(80, 24);
    face.app.typed("/nope now");
    assert!(face.app.take_wishes().is_empty());
    assert_eq!(face.app.composer.current_message().text, "/nope now");
    assert!(face.shot().contains("There is no command /nope: /help lists all"));
    let mut face = Face::open(80, 24);
    face.app.typed("/etc/hosts is wrong");
    assert!(matches!(face.app.take_wishes()[..], [UiCommand::Say { .. }]));
}

#[test]
fn f1_a_command_of_the_shell_is_shown_to_the_model_only_when_the_person_wants() {
    for shown in [true, false] {
        let mut face = Face::open(80, 24);
        face.app.typed("!ls");
        let wished = face.app.take_wishes();
        let [UiCommand::Shell { command, ticket }] = wished.as_slice() else {
            panic!("{wished:?}")
        };
        assert_eq!(command, "ls");
        let (status, told) = ("exit 0".to_owned(), "a.rs".to_owned());
        let news = ShellNews::Ended { status, ok: true, shown: told };
        face.news(&UiUpdate::Shell { ticket: *ticket, news });
        face.press(if shown { KeyCode::Enter } else { KeyCode::Esc });
        face.app.typed("what is that?");
        let wished = face.app.take_wishes();
        let [UiCommand::Say { text, .. }] = wished.as_slice() else { panic!("{wished:?}") };
        assert_eq!(text.contains("a.rs"), shown, "{text}");
    }
}

#[test]
fn f1_what_a_command_said_before_anything_was_open_is_still_offered() {
    for ends_before in [true, false] {
        let mut face = Face::shut(80, 24);
        face.app.typed("!ls");
        let wished = face.app.take_wishes();
        let [UiCommand::Shell { ticket, .. }] = wished.as_slice() else { panic!("{wished:?}") };
        let (status, shown) = ("exit 0".to_owned(), "a.rs".to_owned());
        let ended = ShellNews::Ended { status, ok: true, shown };
        let ended = UiUpdate::Shell { ticket: *ticket, news: ended };
        if ends_before {
            face.news(&ended);
        }
        face.opened(0);
        if !ends_before {
            face.news(&ended);
        }
        assert!(face.shot().contains("Enter: show it to the model"), "{}", face.shot());
        face.opened(0);
        assert!(!face.shot().contains("Enter: show it to the model"), "another session");
    }
}

#[test]
fn f1_a_question_is_answered_by_number_by_words_or_by_a_message() {
    let asks = |multiple: bool| {
        let mut face = Face::open(80, 24);
        face.begin("Go on.");
        face.wait(1_000);
        let fields = json!({
            "question": "q1", "call": "c1", "text": "Which?", "options": ["A", "B", "C"],
            "multiple": multiple,
        });
        face.fact("question.asked", &fields);
        face.wait(1_000);
        face.wished();
        face
    };
    let cases = [(false, "2", "B"), (true, "13\n", "A, C"), (false, "neither 1\n", "neither 1")];
    for (multiple, keys, expected) in cases {
        let mut face = asks(multiple);
        for c in keys.chars() {
            face.press(if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
        }
        let (question, answer) = (QuestionId::new("q1"), expected.to_owned());
        assert_eq!(
            face.wished(),
            [UiCommand::Tell(PersonCommand::Reply { question, answer })],
            "{keys:?}"
        );
    }
    let mut face = asks(false);
    face.press(KeyCode::Esc);
    face.say("what do you mean?");
    let wished = face.wished();
    assert!(matches!(&wished[..], [UiCommand::Say { .. }]), "{wished:?}");
}

#[test]
fn f1_nothing_moves_when_nothing_runs() {
    let mut face = Face::open(80, 24);
    face.shot();
    assert_eq!(face.app.next_tick_ms(), None);
    face.wait(60_000);
    assert!(!face.app.is_dirty());
    face.begin("Go on.");
    assert_eq!(face.app.next_tick_ms(), Some(250));
    face.ended("completed", None);
    face.shot();
    assert_eq!(face.app.next_tick_ms(), None);
}

#[test]
fn f1_what_is_finished_is_printed_once_and_old_entries_are_bounded() {
    let mut face = Face::shut(80, 24);
    face.opened(1_001);
    face.fact("session.opened", &super::made::opened());
    for n in 0..1_000 {
        let content = json!([{"type": "text", "text": format!("message {n}")}]);
        let input = format!("i{n}");
        face.fact("input.accepted", &json!({"input": input, "content": content, "by": "ada"}));
    }
    face.shot();
    let count = |face: &Face, text: &str| face.printed.iter().filter(|l| l.contains(text)).count();
    assert_eq!(count(&face, "> message"), 200);
    assert_eq!(count(&face, "… 800 earlier entries: Ctrl-O shows them"), 1);
    face.shot();
    assert_eq!(count(&face, "> message"), 200);
}

#[test]
fn f1_a_new_session_is_greeted_once_and_another_one_forgets_what_was_known() {
    let mut face = Face::shut(80, 24);
    let open = |session: Option<&str>| UiUpdate::Opened {
        session: session.map(SessionId::new),
        known: 0,
        about: Box::new(OpenSessionInfo { folder: "~/code".into(), ..OpenSessionInfo::default() }),
        named: Vec::new(),
    };
    face.news(&open(None));
    face.say("hello");
    face.news(&open(Some("0197")));
    face.fact("session.opened", &super::made::opened());
    face.begin("hello");
    face.shot();
    let greetings =
        |face: &Face| face.printed.iter().filter(|line| line.starts_with("Weir")).count();
    assert_eq!(greetings(&face), 1);
    assert_eq!(face.app.fold.settings.session, Some(SessionId::new("0197")));
    face.news(&open(Some("0198")));
    face.shot();
    assert_eq!(greetings(&face), 2);
    assert_eq!(face.app.fold.transcript.len(), 0);
}

#[test]
fn f1_any_size_will_do() {
    for (columns, rows) in [(0, 0), (1, 1), (2, 3), (5, 2), (40, 1), (1, 50), (300, 100)] {
        let mut face = Face::open(columns, rows);
        face.begin("Go on.");
        face.proposed("c1", "run_shell", &json!({"command": "make"}));
        face.wait(1_000);
        ask(&mut face, "a1", &["Shell(make:*)"]);
        face.wait(1_000);
        face.shot();
        face.type_in("ntext");
        face.shot();
    }
}
