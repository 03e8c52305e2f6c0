//! Line mode from outside: a far end tells news and gets wishes, lines are typed, and what is
//! printed is compared. Golden texts stand in `tests/frames`; `UPDATE=1` writes them anew.

use serde_json::{Value, json};
use weir_core::event::Decision;
use weir_core::ids::{ApprovalId, QuestionId, SessionId};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::*;
use crate::link::{
    DecisionReview, ListResult, NoticeTone, OpenSessionInfo, ReportKind, RewindScope, SessionLine,
    SessionTarget, ShellNews, SignalKind as Signal, TextKind, UiCommand,
};

use crate::text::theme::ColourDepth;

mod asked;
mod clipboard;
mod table;

use table::{Table, approval, ended, finished, judged, options, replied, said};

fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/frames/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).expect("the folder is there");
    }
    let expected = std::fs::read_to_string(&path).expect("UPDATE=1 writes it");
    assert_eq!(text, expected, "{name} (UPDATE=1 writes it anew)");
}

/// Two calls: one that reads, one that is not allowed; then one that is.
async fn calls(t: &mut Table) {
    for (call, tool, about) in
        [("c1", "read_file", "Read src/a.rs"), ("c2", "run_shell", "Run rm -r target")]
    {
        let input = json!({ "path": "src/a.rs" });
        t.fact(
            "call.proposed",
            json!({ "call": call, "turn": "t1", "tool": tool, "input": input }),
        )
        .await;
        t.fact("call.judged", judged(call, about)).await;
    }
    t.fact("call.started", json!({ "call": "c1" })).await;
    t.fact("call.finished", finished("c1", "read_file", true, "40 lines", 104)).await;
    t.fact("approval.requested", approval("s-a1", "c2", "Run rm -r target")).await;
    t.fact("approval.requested", approval("s-a2", "c3", "Run cargo test")).await;
    t.line("perhaps").await;
    t.line("no use git clean").await;
    assert_eq!(t.wished(), [decide("s-a1", Decision::Deny, Some("use git clean"))]);
    t.fact("approval.resolved", resolved("s-a1", "c2", "deny", Some("use git clean"))).await;
    t.fact("call.finished", finished("c2", "run_shell", false, "Denied by ada", 0)).await;
    t.line("once").await;
    assert_eq!(t.wished(), [decide("s-a2", Decision::Once, None)]);
    t.fact("approval.resolved", resolved("s-a2", "c3", "once", None)).await;
}

/// A sub-agent that asks.
async fn agent(t: &mut Table) {
    t.fact(
        "agent.spawned",
        json!({ "agent": "s-c4", "call": "c4", "run": "r1",
        "profile": "review", "task": "Look at the diff", "depth": 1, "permission": "ask",
        "model": "script/one", "tools": [] }),
    )
    .await;
    t.fact(
        "agent.asked",
        json!({ "agent": "s-c4", "call": "c4", "path": ["review"],
        "request": approval("s-c4-a1", "c1", "Run cargo doc") }),
    )
    .await;
    t.line("session").await;
    assert_eq!(t.wished(), [decide("s-c4-a1", Decision::Session, None)]);
    t.fact(
        "agent.answered",
        json!({ "agent": "s-c4", "call": "c4", "approval": "s-c4-a1",
        "decision": "session", "by": "ada" }),
    )
    .await;
    t.fact(
        "agent.finished",
        json!({ "agent": "s-c4", "call": "c4", "status": "completed",
        "text": "fine", "usage": { "input": 50, "output": 5 }, "cost_usd": 0.001 }),
    )
    .await;
}

/// Everything that can happen in a conversation, in the order of a person's day.
async fn conversation(screen_reader: bool) -> String {
    let mut t = Table::opened(options(screen_reader)).await;
    t.tell(UiUpdate::Settings {
        model: "script/one".into(),
        profile: "code".into(),
        permission: PermissionMode::Ask,
        thinking: Thinking::Off,
    })
    .await;
    t.line("fix the test\\").await;
    t.line("and explain").await;
    let wishes = t.wished();
    let [UiCommand::Say { text, client_id, .. }] = &wishes[..] else { panic!("{wishes:?}") };
    assert_eq!(text, "fix the test\nand explain");
    t.begin(PermissionMode::Ask).await;
    t.fact("input.accepted", said(1, text, Some(client_id))).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("turn.started", json!({ "turn": "t1", "iteration": 1, "inputs": ["i1"] })).await;
    t.signal(Signal::Thinking, "t1", "hm").await;
    t.signal(Signal::Text, "t1", "I look at **a.rs**").await;
    t.signal(Signal::Text, "t1", " first:\n\n- one\n- two\n\n```rust\nfn a() {}\n").await;
    t.signal(Signal::Text, "t1", "```\nThen I ru").await;
    let whole =
        "I look at **a.rs** first:\n\n- one\n- two\n\n```rust\nfn a() {}\n```\nThen I run it.";
    t.fact("model.replied", replied("t1", whole)).await;
    calls(&mut t).await;
    t.line("also the docs").await;
    t.wished();
    t.fact("input.accepted", said(2, "also the docs", Some("test-2"))).await;
    agent(&mut t).await;
    t.fact(
        "question.asked",
        json!({ "question": "s-q1", "call": "c5", "text": "Which one?",
        "options": ["red", "blue"], "multiple": false }),
    )
    .await;
    t.line("2").await;
    let reply = UiCommand::Tell(PersonCommand::Reply {
        question: QuestionId::new("s-q1"),
        answer: "blue".into(),
    });
    assert_eq!(t.wished(), [reply]);
    t.fact("question.answered", json!({ "question": "s-q1", "answer": "blue", "by": "ada" })).await;
    t.fact(
        "call.unknown",
        json!({ "call": "c6", "tool": "send_mail",
        "reason": "the program died while it ran" }),
    )
    .await;
    t.tell(UiUpdate::Notice { tone: NoticeTone::Good, text: "Exported to a.md.".into() }).await;
    let error = "The model cannot be reached.\nCheck the network.";
    t.fact("run.finished", ended("failed", Some(error))).await;
    t.line("/quit").await;
    assert_eq!(t.wished(), [UiCommand::Leave]);
    let (left, text) = t.over().await;
    assert_eq!((left.code, left.resume.as_deref()), (0, Some("weir --resume s1")));
    text
}

fn decide(approval: &str, decision: Decision, reason: Option<&str>) -> UiCommand {
    let reason = reason.map(str::to_owned);
    UiCommand::Tell(PersonCommand::Decide(ApprovalAnswer {
        approval: ApprovalId::new(approval),
        decision,
        reason,
        terms: None,
    }))
}

fn resolved(approval: &str, call: &str, decision: &str, reason: Option<&str>) -> Value {
    let mut fields =
        json!({ "approval": approval, "call": call, "decision": decision, "by": "ada" });
    if let Some(reason) = reason {
        fields["reason"] = reason.into();
    }
    fields
}

#[tokio::test]
async fn f1_a_whole_conversation_in_line_mode() {
    golden("plain", &conversation(false).await);
}

#[tokio::test]
async fn f1_a_whole_conversation_for_a_screen_reader() {
    let text = conversation(true).await;
    assert!(text.is_ascii(), "no sign that is read out strangely");
    for sign in ["**", "```", "> ", "- one"] {
        assert!(!text.contains(sign), "{sign:?} in words");
    }
    golden("screen-reader", &text);
}

#[tokio::test]
async fn f1_a_yes_that_was_typed_for_another_call_is_asked_again() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    t.fact("approval.requested", approval("s-a2", "c2", "Run rm")).await;
    // Answered in the browser while the person types here.
    t.fact("approval.resolved", resolved("s-a1", "c1", "once", None)).await;
    t.line("yes").await;
    assert_eq!(t.wished(), [], "the yes was for the first call");
    assert!(t.taken().contains("settled elsewhere"));
    t.line("yes").await;
    assert_eq!(t.wished(), [decide("s-a2", Decision::Once, None)]);
    // What is typed before its settling came is a message and no second answer.
    t.line("yes").await;
    assert!(matches!(&t.wished()[..], [UiCommand::Say { .. }]));
}

#[tokio::test]
async fn f1_interrupts_cancel_then_leave() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.interrupt(PlainInterrupt::Run).await;
    assert_eq!(t.wished(), [UiCommand::Tell(PersonCommand::Cancel)]);
    t.fact("run.finished", ended("cancelled", None)).await;
    // At rest it warns first; a line in between takes the warning back.
    t.interrupt(PlainInterrupt::Run).await;
    assert_eq!(t.wished(), []);
    t.line("").await;
    t.interrupt(PlainInterrupt::Run).await;
    assert_eq!(t.wished(), []);
    t.interrupt(PlainInterrupt::Run).await;
    assert_eq!(t.wished(), [UiCommand::Leave]);
    let (left, text) = t.over().await;
    assert_eq!(left.code, 0);
    assert!(text.ends_with("To go on with this session: weir --resume s1\n"), "{text}");
}

#[tokio::test]
async fn f1_signals_leave_with_the_way_back() {
    for number in [1, 15] {
        let mut t = Table::opened(options(false)).await;
        t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
        t.interrupt(PlainInterrupt::Program(number)).await;
        assert_eq!(t.wished(), [UiCommand::Leave]);
        let (left, text) = t.over().await;
        assert_eq!(left.code, 128 + number);
        assert!(text.contains("weir --resume s1"), "{text}");
    }
    // A second signal does not wait for the other end.
    let mut t = Table::opened(options(false)).await;
    t.interrupt(PlainInterrupt::Program(15)).await;
    t.interrupt(PlainInterrupt::Program(15)).await;
    assert!(t.talk.is_finished());
}

#[tokio::test]
async fn f1_what_comes_from_a_pipe_is_worked_off_and_nobody_says_yes() {
    let mut t = Table::opened(PlainOptions { terminal: false, ..options(false) }).await;
    t.line("do it").await;
    t.typed = None;
    t.rest().await;
    assert!(matches!(&t.wished()[..], [UiCommand::Say { .. }]), "it is not left yet");
    t.fact("input.accepted", said(1, "do it", Some("test-1"))).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("turn.started", json!({ "turn": "t1", "iteration": 1, "inputs": ["i1"] })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    assert_eq!(t.wished(), [UiCommand::Unattended], "no answer in a person's name");
    let mut denied = resolved("s-a1", "c1", "deny", None);
    denied["by"] = "nobody".into();
    t.fact("approval.resolved", denied).await;
    t.fact(
        "question.asked",
        json!({ "question": "s-q1", "call": "c5", "text": "Which one?",
        "options": [], "multiple": false }),
    )
    .await;
    assert_eq!(t.wished(), [], "the session knows that nobody can be asked");
    t.fact("run.finished", ended("needs_input", None)).await;
    assert_eq!(t.wished(), [UiCommand::Leave], "the question stays open");
    let (left, text) = t.over().await;
    assert_eq!(left.code, 4, "{text}");
    assert!(text.contains("nobody can be asked from now on"), "{text}");
}

#[tokio::test]
async fn f1_what_a_server_asks_stays_open_when_the_input_ends() {
    let mut t = Table::opened(PlainOptions { terminal: false, ..options(false) }).await;
    let about = OpenSessionInfo { server: Some("http://x".into()), ..OpenSessionInfo::default() };
    let (session, named) = (Some(SessionId::new("s1")), Vec::new());
    t.tell(UiUpdate::Opened { session, known: 0, about: Box::new(about), named }).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run ls")).await;
    t.typed = None;
    t.rest().await;
    assert_eq!(t.wished(), [UiCommand::Leave], "it is neither denied nor stopped");
    assert_eq!(t.over().await.0.code, 4);
}

#[tokio::test]
async fn f1_commands_of_line_mode() {
    let mut t = Table::opened(options(false)).await;
    let report = |report, arguments: &str, ticket| UiCommand::Report {
        report,
        arguments: arguments.into(),
        ticket,
    };
    for (line, wish) in [
        ("/permissions auto-edit", UiCommand::Mode(PermissionMode::AutoEdit)),
        ("/thinking high", UiCommand::Thinking(Thinking::High)),
        ("/model a/b", UiCommand::Model("a/b".into())),
        ("/compact keep names", UiCommand::Condense("keep names".into())),
        ("/export a.md", UiCommand::Export("a.md".into())),
        ("/clear", UiCommand::Open(SessionTarget::New)),
        ("/undo", UiCommand::Undo),
        ("/context", report(ReportKind::Context, "", 1)),
        ("/memory a b", report(ReportKind::Memory, "a b", 2)),
        ("!ls -l", UiCommand::Shell { command: "ls -l".into(), ticket: 3 }),
    ] {
        t.line(line).await;
        assert_eq!(t.wished(), [wish], "{line}");
    }
    for line in ["/nothing", "/permissions wild", "/cancel", "", "   "] {
        t.line(line).await;
        assert_eq!(t.wished(), [], "{line}");
    }
    t.taken();
    let told = UiUpdate::Text {
        ticket: 1,
        title: "Context".into(),
        text: "# a\n\u{1b}]0;x\u{7}".into(),
        kind: TextKind::Markdown,
    };
    t.tell(told).await;
    assert!(t.taken().starts_with("Context:\n# a\n<U+001B>]0;x<U+0007>\n"));
    t.tell(UiUpdate::Shell { ticket: 3, news: ShellNews::Output("one\ntw".into()) }).await;
    t.tell(UiUpdate::Shell { ticket: 3, news: ShellNews::Output("o\n".into()) }).await;
    let shown = "$ ls\none".to_owned();
    let end = ShellNews::Ended { status: "exit 0".into(), ok: true, shown: shown.clone() };
    t.tell(UiUpdate::Shell { ticket: 3, news: end }).await;
    assert!(t.taken().starts_with("one\ntwo\ncommand: exit 0"));
    t.line("/show").await;
    let wished = t.wished();
    let [UiCommand::Say { text, .. }] = &wished[..] else { panic!("{wished:?}") };
    // The model is told whose command it was, as by the screen.
    assert_eq!(*text, format!("I ran this command myself:\n```\n{shown}\n```"));
    t.line("/show").await;
    assert_eq!(t.wished(), []);
}

#[tokio::test]
async fn f1_sessions_and_earlier_messages_are_chosen_by_number() {
    let mut t = Table::opened(options(false)).await;
    t.line("/resume tests").await;
    assert_eq!(t.wished(), [UiCommand::Sessions { query: "tests".into(), ticket: 1 }]);
    let line = SessionLine {
        id: SessionId::new("s7"),
        title: "Tests\u{1b}[2J".into(),
        folder: "~/code".into(),
        last: Timestamp(1_700_000_000_000_000 - 7_200_000_000),
        state: "completed".into(),
        found: None,
    };
    t.taken();
    t.tell(UiUpdate::Listed { ticket: 1, items: ListResult::Sessions(vec![line]) }).await;
    let list = t.taken();
    assert!(list.starts_with("1: Tests<U+001B>[2J, in ~/code, 2 hours ago, completed\n"), "{list}");
    t.line("9").await;
    assert_eq!(t.wished(), []);
    t.line("1").await;
    assert_eq!(t.wished(), [UiCommand::Open(SessionTarget::Existing(SessionId::new("s7")))]);
    t.open(Some("s7"), 3).await;
    t.begin(PermissionMode::Ask).await;
    t.fact("input.accepted", said(1, "first", None)).await;
    t.taken();
    t.fact("model.replied", replied("t1", "Answer.")).await;
    let text = t.taken();
    assert!(text.contains("you: first\nassistant:\nAnswer.\n"), "{text}");
    t.line("/rewind").await;
    t.line("1").await;
    assert_eq!(t.wished(), [UiCommand::Preview { before: 2, ticket: 2 }]);
    let told = UiUpdate::Text {
        ticket: 2,
        title: "Changes".into(),
        text: "-a\n+b".into(),
        kind: TextKind::Diff,
    };
    t.tell(told).await;
    t.line("well").await;
    assert_eq!(t.wished(), []);
    t.line("both").await;
    assert_eq!(t.wished(), [UiCommand::Rewind { before: 2, back: RewindScope::Both }]);
}

#[tokio::test]
async fn z10_nothing_that_others_wrote_steers_the_terminal() {
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\r\u{8}";
    for screen_reader in [false, true] {
        let mut t = Table::opened(options(screen_reader)).await;
        t.signal(Signal::Text, "t1", &format!("a{evil}\n\nb")).await;
        t.fact("model.replied", replied("t1", &format!("a{evil}\n\nb{evil}"))).await;
        let input = json!({ "path": evil });
        let call = json!({ "call": "c1", "turn": "t1", "tool": evil, "input": input });
        t.fact("call.proposed", call).await;
        t.fact("call.finished", finished("c1", evil, false, evil, 3)).await;
        t.fact("approval.requested", approval("s-a1", "c2", evil)).await;
        t.fact("run.finished", ended("failed", Some(evil))).await;
        t.tell(UiUpdate::Notice { tone: NoticeTone::Bad, text: evil.into() }).await;
        t.tell(UiUpdate::Lost(Some(evil.into()))).await;
        t.tell(UiUpdate::Over(Some(evil.into()))).await;
        let (left, text) = t.over().await;
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{text:?}");
        assert!(!left.why.expect("a reason").contains(bad));
    }
}

#[tokio::test]
async fn f1_colours_only_where_a_theme_has_them_and_never_for_a_screen_reader() {
    let dark = Theme::by_name("dark", ColourDepth::Ansi);
    assert!(dark.is_some(), "there is such a theme");
    for (screen_reader, theme, coloured) in [
        (false, None, false),
        (false, Some(Theme::plain_theme()), false),
        (false, dark.clone(), true),
        (true, dark, false),
    ] {
        let t = Table::opened(PlainOptions { theme, ..options(screen_reader) }).await;
        assert_eq!(t.printed().contains('\u{1b}'), coloured);
    }
}

#[tokio::test]
async fn f1_an_answer_that_is_cut_off_and_begins_again_is_told() {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.taken();
    t.signal(Signal::Text, "t1", "Hello\nwor").await;
    let fields = json!({ "turn": "t1", "attempt": 1, "class": "stream_cut", "wait_ms": 500,
        "message": "cut" });
    t.fact("model.retried", fields).await;
    t.signal(Signal::Text, "t1", "Hi\n").await;
    t.fact("model.replied", replied("t1", "Hi\nthere")).await;
    let text = t.taken();
    let void = "Hello\nwor\nThe answer was cut off here; what stands above is void.\n";
    assert!(text.contains(void), "{text}");
    assert!(text.contains("assistant:\nHi\nthere\n"), "{text}");
}

#[tokio::test]
async fn r10_line_mode_shows_what_would_count_and_takes_only_a_whole_yes() {
    let mut t = Table::opened(options(false)).await;
    t.line("/skills accept notes").await;
    let wished = t.wished();
    let [UiCommand::Review { request, ticket }] = &wished[..] else { panic!("{wished:?}") };
    let review = |as_shown: &str, changed: bool| {
        let (request, text) = (request.clone(), "Write \u{202e}it.\nAll.".to_owned());
        let (question, as_shown) = ("Accept it?".to_owned(), as_shown.to_owned());
        Box::new(DecisionReview { request, text, question, as_shown, editable: None, changed })
    };
    t.taken();
    t.tell(UiUpdate::Review { ticket: *ticket, review: review("h1", false) }).await;
    let text = t.taken();
    let expected = "/skills accept notes\nWrite <U+202E>it.\nAll.\nAccept it? Type: yes / no\n";
    assert!(text.starts_with(expected), "{text}");
    // What was begun before it could be read, and what is not clear.
    t.line_begun_before("yes").await;
    for line in ["y", "", "once", "yes please"] {
        t.line(line).await;
    }
    assert_eq!(t.wished(), []);
    t.line("yes").await;
    let wished = t.wished();
    let [UiCommand::Decide { request: done, as_shown, ticket }] = &wished[..] else {
        panic!("{wished:?}")
    };
    assert_eq!((done, as_shown.as_str()), (request, "h1"));
    t.tell(UiUpdate::Review { ticket: *ticket, review: review("h2", true) }).await;
    assert!(t.taken().contains("It changed meanwhile, and nothing was done"));
    t.line("no").await;
    assert!(t.taken().contains("Nothing was changed."));
    t.line("yes").await;
    let wished = t.wished();
    assert!(matches!(&wished[..], [UiCommand::Say { .. }]), "a word like any other: {wished:?}");
}

/// A call waits, and a decision is shown after it.
async fn table_with_call_and_decision() -> Table {
    let mut t = Table::opened(options(false)).await;
    t.fact("run.started", json!({ "run": "r1", "trigger": "user" })).await;
    t.fact("approval.requested", approval("s-a1", "c1", "Run rm -r target")).await;
    t.line("/skills accept notes").await;
    let wished = t.wished();
    let [UiCommand::Review { request, ticket }] = &wished[..] else { panic!("{wished:?}") };
    let (text, question) = ("All.".to_owned(), "Accept it?".to_owned());
    let (request, as_shown, changed) = (request.clone(), "h1".to_owned(), false);
    let review =
        Box::new(DecisionReview { request, text, question, as_shown, editable: None, changed });
    t.tell(UiUpdate::Review { ticket: *ticket, review }).await;
    t.taken();
    t
}

#[tokio::test]
async fn r10_a_yes_in_line_mode_is_for_what_was_asked_last() {
    let mut t = table_with_call_and_decision().await;
    t.line("yes").await;
    let wished = t.wished();
    assert!(matches!(&wished[..], [UiCommand::Decide { .. }]), "not the call: {wished:?}");
    t.line("once").await;
    assert_eq!(t.wished(), [decide("s-a1", Decision::Once, None)], "and then the call");
    // Whatever else would do for the call does not while the decision is asked.
    let mut t = table_with_call_and_decision().await;
    for line in ["once", "y", "session", "always", ""] {
        t.line(line).await;
    }
    assert_eq!(t.wished(), []);
    t.line("no").await;
    assert!(t.taken().contains("Nothing was changed."));
    assert_eq!(t.wished(), [], "the call still waits");
}

#[tokio::test]
async fn r10_what_asks_after_a_decision_was_shown_puts_it_off() {
    let mut t = table_with_call_and_decision().await;
    t.fact("approval.resolved", resolved("s-a1", "c1", "deny", None)).await;
    t.fact("approval.requested", approval("s-a2", "c2", "Run cargo test")).await;
    let text = t.taken();
    assert!(text.contains("Not decided: /skills accept notes. Type it again"), "{text}");
    t.line("yes").await;
    assert_eq!(t.wished(), [], "it was meant for the first call");
    t.line("yes").await;
    assert_eq!(t.wished(), [decide("s-a2", Decision::Once, None)]);
    t.fact("approval.resolved", resolved("s-a2", "c2", "once", None)).await;
    t.line("yes").await;
    let wished = t.wished();
    assert!(!wished.iter().any(|one| matches!(one, UiCommand::Decide { .. })), "{wished:?}");
}
