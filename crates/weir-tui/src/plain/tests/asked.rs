//! What asks, and what is typed while it comes and goes; how a talk begins and ends.

use weir_core::input::PersonCommand;

use super::*;

fn question(name: &str, options: &[&str]) -> Value {
    json!({ "question": name, "call": "c5", "text": "Which one?", "options": options,
        "multiple": false })
}

fn answered(name: &str) -> Value {
    json!({ "question": name, "answer": "red", "by": "bo" })
}

fn bad() -> UiUpdate {
    UiUpdate::Notice { tone: NoticeTone::Bad, text: "The session is busy.".into() }
}

#[tokio::test]
async fn f1_an_answer_that_was_typed_for_something_else_is_asked_again() {
    let asks = [
        ("approval.requested", approval("s-a1", "c1", "Run ls")),
        ("question.asked", question("s-q1", &["red", "blue"])),
    ];
    let settles = [
        ("approval.resolved", resolved("s-a1", "c1", "once", None)),
        ("question.answered", answered("s-q1")),
    ];
    for (ask, settle) in asks.iter().zip(&settles) {
        for (kind, next, line, wish) in [
            (
                "approval.requested",
                approval("s-a2", "c2", "Run rm"),
                "yes",
                decide("s-a2", Decision::Once, None),
            ),
            (
                "question.asked",
                question("s-q2", &["all", "none"]),
                "1",
                UiCommand::Tell(PersonCommand::Reply {
                    question: QuestionId::new("s-q2"),
                    answer: "all".into(),
                }),
            ),
        ] {
            let mut t = Table::opened(options(false)).await;
            t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
            t.fact(ask.0, ask.1.clone()).await;
            // Settled in the browser while the person types: for a moment nothing asks.
            t.fact(settle.0, settle.1.clone()).await;
            t.taken();
            t.fact(kind, next).await;
            let asked = t.taken().trim_start().to_owned();
            t.line(line).await;
            assert_eq!(t.wished(), [], "{line} was for {}", ask.0);
            let again = t.taken();
            assert!(again.contains("settled elsewhere"), "{again}");
            assert!(again.ends_with(&asked), "it is printed again, whole: {again}");
            t.line(line).await;
            assert_eq!(t.wished(), [wish], "{line} after {}", ask.0);
        }
    }
}

#[tokio::test]
async fn f1_an_answer_counts_at_once_after_a_line_that_answered_nothing() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    t.fact("approval.resolved", resolved("s-a1", "c1", "once", None)).await;
    t.line("yes").await;
    assert!(matches!(&t.wished()[..], [UiCommand::Say { .. }]));
    t.fact("approval.requested", approval("s-a2", "c2", "Run rm")).await;
    t.line("yes").await;
    assert_eq!(t.wished(), [decide("s-a2", Decision::Once, None)]);
}

#[tokio::test]
async fn f1_an_answer_for_another_session_is_asked_again() {
    let mut t = Table::opened(options(false)).await;
    t.open(Some("s1"), 0).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    t.open(Some("s2"), 0).await;
    t.fact("approval.requested", approval("s2-a1", "c1", "Run rm")).await;
    t.line("yes").await;
    assert_eq!(t.wished(), []);
    t.line("yes").await;
    assert_eq!(t.wished(), [decide("s2-a1", Decision::Once, None)]);
}

#[tokio::test]
async fn f1_what_was_answered_and_could_not_be_done_is_asked_again() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.taken();
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    let asked = t.taken().trim_start().to_owned();
    for _ in 0..2 {
        t.line("yes").await;
        assert_eq!(t.wished(), [decide("s-a1", Decision::Once, None)]);
        t.taken();
        t.tell(bad()).await;
        assert_eq!(t.taken(), format!("error: The session is busy.\n{asked}"));
    }
    // Something that went wrong while nothing was answered prints nothing again.
    t.tell(bad()).await;
    assert_eq!(t.taken(), "\nerror: The session is busy.\n> ");
}

#[tokio::test]
async fn f1_with_nobody_left_what_cannot_be_told_ends_the_run_and_then_the_talk() {
    let mut t = Table::opened(PlainOptions { terminal: false, ..options(false) }).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.typed = None;
    t.rest().await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    assert_eq!(t.wished(), [UiCommand::Unattended]);
    t.tell(bad()).await;
    assert_eq!(t.wished(), [UiCommand::Tell(PersonCommand::Cancel)]);
    t.tell(bad()).await;
    assert_eq!(t.wished(), [UiCommand::Leave]);
}

#[tokio::test]
async fn f1_a_line_of_a_pipe_waits_until_what_it_answers_can_be_read() {
    let mut t = Table::opened(PlainOptions { terminal: false, ..options(false) }).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.hold_paper();
    t.fact("approval.requested", approval("s-a1", "c1", "Run cargo test")).await;
    t.line("once").await;
    assert_eq!(t.wished(), []);
    t.release_paper();
    t.signal(Signal::Text, "t1", "Meanwhile.").await;
    assert_eq!(t.wished(), [decide("s-a1", Decision::Once, None)]);
}

#[tokio::test]
async fn f1_quit_from_a_pipe_works_off_what_is_under_way_and_hears_nothing_after_it() {
    let mut t = Table::opened(PlainOptions { terminal: false, ..options(false) }).await;
    for line in ["do it", "/quit", "and more", "/quit"] {
        t.line(line).await;
    }
    let wishes = t.wished();
    let [UiCommand::Say { text, client_id, .. }] = &wishes[..] else { panic!("{wishes:?}") };
    assert_eq!(text, "do it");
    t.fact("input.accepted", said(1, "do it", Some(client_id))).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("turn.started", json!({ "turn": "t1", "iteration": 1, "inputs": ["i1"] })).await;
    assert_eq!(t.wished(), [], "a run is on");
    t.line("still more").await;
    t.fact("run.finished", ended("completed", None)).await;
    assert_eq!(t.wished(), [UiCommand::Leave]);
}

#[tokio::test]
async fn f1_a_session_that_begins_to_exist_keeps_what_was_sent() {
    let mut t = Table::opened(options(false)).await;
    t.line("do it").await;
    let wishes = t.wished();
    let [UiCommand::Say { client_id, .. }] = &wishes[..] else { panic!("{wishes:?}") };
    t.taken();
    t.open(Some("s1"), 0).await;
    assert_eq!(t.taken(), "", "nothing is said a second time");
    t.fact("input.accepted", said(1, "do it", Some(client_id))).await;
    let text = t.taken();
    assert!(!text.contains("elsewhere"), "it is known as one's own: {text}");
    // It exists now; what is opened after it is another one.
    t.open(Some("s2"), 0).await;
    assert!(t.taken().contains("weir: in ~/code, branch main"));
    // And what was refused meanwhile is given back.
    let mut t = Table::opened(options(false)).await;
    t.line("do it").await;
    t.open(Some("s1"), 0).await;
    t.tell(UiUpdate::Refused { client_id: "test-1".into(), why: "paused".into() }).await;
    assert!(t.taken().contains("Your message was: do it\n"));
}

#[tokio::test]
async fn f1_lines_of_a_pipe_are_taken_one_after_the_other() {
    for terminal in [false, true] {
        let mut t = Table::opened(PlainOptions { terminal, ..options(false) }).await;
        t.line("one").await;
        t.line("two").await;
        let first = t.wished().len();
        t.fact("input.accepted", said(1, "one", Some("test-1"))).await;
        t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
        t.fact("turn.started", json!({ "turn": "t1", "iteration": 1, "inputs": ["i1"] })).await;
        let during = t.wished().len();
        t.fact("run.finished", ended("completed", None)).await;
        let after = t.wished();
        if terminal {
            assert_eq!((first, during, after.len()), (2, 0, 0), "somebody speaks into a run");
        } else {
            assert_eq!((first, during), (1, 0), "the second waits for the end of the run");
            assert!(
                matches!(&after[..], [UiCommand::Say { text, .. }] if text == "two"),
                "{after:?}"
            );
        }
    }
}

#[tokio::test]
async fn g4_a_line_that_was_begun_before_the_question_answers_nothing() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run rm")).await;
    let asked = t.taken();
    t.line_begun_before("yes").await;
    let wished = t.wished();
    let [UiCommand::Say { text, .. }] = &wished[..] else { panic!("{wished:?}") };
    assert_eq!(text, "yes", "it is a message, as it was meant");
    let told = t.taken();
    assert!(told.contains("begun before this was asked"), "{told}");
    let whole = asked.lines().find(|line| line.contains("Run rm")).expect("it is asked");
    assert!(told.contains(whole), "it is asked again: {told}");
    // Of a message in several lines the first letter counts.
    t.line_begun_before("and \\").await;
    t.line("yes").await;
    assert!(matches!(&t.wished()[..], [UiCommand::Say { .. }]));
    t.line("yes").await;
    assert_eq!(t.wished(), [decide("s-a1", Decision::Once, None)]);
    // The agent's question would take a message for its answer.
    t.fact("approval.resolved", resolved("s-a1", "c1", "once", None)).await;
    t.fact("question.asked", question("s-q1", &["red", "blue"])).await;
    t.taken();
    t.line_begun_before("1").await;
    assert_eq!(t.wished(), []);
    let told = t.taken();
    assert!(
        told.contains("Not sent: that line was begun before") && told.contains("\n1\n"),
        "{told}"
    );
    t.line("1").await;
    let reply = UiCommand::Tell(PersonCommand::Reply {
        question: QuestionId::new("s-q1"),
        answer: "red".into(),
    });
    assert_eq!(t.wished(), [reply]);
}

#[tokio::test]
async fn l12_what_waited_when_a_run_ended_is_printed_back() {
    let mut t = Table::opened(options(false)).await;
    t.begin(PermissionMode::Ask).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.line("and the docs").await;
    let wished = t.wished();
    let [UiCommand::Say { client_id, .. }] = &wished[..] else { panic!("{wished:?}") };
    t.fact("input.accepted", said(2, "and the docs", Some(client_id))).await;
    t.fact("input.accepted", said(3, "not mine", Some("web-1"))).await;
    t.taken();
    t.fact("input.withdrawn", json!({ "input": "i2" })).await;
    t.fact("input.withdrawn", json!({ "input": "i3" })).await;
    let told = t.taken();
    assert!(told.contains("Your message was:\nand the docs\n"), "{told}");
    assert!(!told.contains("not mine"), "it goes back to whoever said it: {told}");
}

#[tokio::test]
async fn l14_a_reply_that_was_cut_off_is_marked() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.signal(Signal::Text, "t1", "Once upon").await;
    let mut fact = replied("t1", "Once upon a");
    fact["stop"] = "interrupted".into();
    t.fact("model.replied", fact.clone()).await;
    let told = t.taken();
    assert!(told.contains("Once upon a\nCut off here: the run was ended.\n"), "{told}");
    // Taken up again it reads the same.
    t.open(Some("s1"), 2).await;
    t.fact("input.accepted", said(1, "tell it", None)).await;
    t.fact("model.replied", fact).await;
    let told = t.taken();
    assert!(told.contains("Once upon a\n\n(Cut off here: the run was ended.)\n"), "{told}");
}

#[tokio::test]
async fn f1_line_mode_and_screen_do_the_same_by_a_command() {
    let mut t = Table::opened(options(false)).await;
    t.taken();
    // A slip is understood, and nothing is sent.
    t.line("/exti").await;
    assert_eq!(t.wished(), []);
    let told = t.taken();
    assert!(told.contains("error: There is no command /exti: did you mean /exit?"), "{told}");
    t.line("/thinking much").await;
    assert!(t.taken().contains("error: Choose off, low, medium or high"));
    t.line("/thinking").await;
    assert!(t.taken().contains("thinking: not known; type /thinking off, low, medium or high"));
    t.line("/fork").await;
    assert!(t.taken().contains("error: There is nothing to copy yet"));
    // Another name of the same.
    t.line("/sessions tests").await;
    assert!(matches!(&t.wished()[..], [UiCommand::Sessions { query, .. }] if query == "tests"));
    t.line("/plan the move").await;
    let wished = t.wished();
    let [UiCommand::Mode(PermissionMode::Plan), UiCommand::Say { text, .. }] = &wished[..] else {
        panic!("{wished:?}")
    };
    assert_eq!(text, "the move");
}

#[tokio::test]
async fn f1_only_what_was_said_here_is_withdrawn() {
    let mut t = Table::opened(options(false)).await;
    t.begin(PermissionMode::Ask).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.line("mine").await;
    let wished = t.wished();
    let [UiCommand::Say { client_id, .. }] = &wished[..] else { panic!("{wished:?}") };
    t.fact("input.accepted", said(2, "mine", Some(client_id))).await;
    t.fact("input.accepted", said(3, "not mine", Some("web-1"))).await;
    t.line("/withdraw").await;
    let wished = t.wished();
    let [UiCommand::Tell(PersonCommand::Withdraw { input })] = &wished[..] else {
        panic!("{wished:?}")
    };
    assert_eq!(input.to_string(), "i2");
    t.taken();
    t.line("/withdraw").await;
    assert_eq!(t.wished(), []);
    assert!(t.taken().contains("No message waits."));
}

#[tokio::test]
async fn u13_a_grant_is_named_and_what_was_often_allowed_stands_first() {
    for (often, prompt) in [
        (false, "Allow? Type: once / session / always / no REASON"),
        (true, "Allow? Type: session / once / always / no REASON"),
    ] {
        let mut t = Table::opened(options(false)).await;
        t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
        let mut asked = approval("s-a1", "c1", "Run cargo add x");
        asked["often"] = often.into();
        asked["grant"] = json!({ "name": "crates.io for cargo", "hosts": ["crates.io"],
            "commands": ["cargo add"] });
        t.fact("approval.requested", asked).await;
        let shown = t.taken();
        assert!(shown.contains("session would grant: crates.io for cargo (crates.io)"), "{shown}");
        assert!(shown.contains("always in this project would allow: Shell(cargo test)"), "{shown}");
        assert!(shown.contains(prompt), "{shown}");
        assert!(shown.contains("three times or more") == often, "{shown}");
        t.line("session").await;
        assert_eq!(t.wished(), [decide("s-a1", Decision::Session, None)]);
    }
}
