//! Every dialog and state as a file: `UPDATE=1` rewrites them, and the difference is reviewed.

use std::path::PathBuf;

use crossterm::event::KeyCode;
use serde_json::{Value, json};

use super::made::Face;
use crate::link::{ShellNews, SignalKind, UiUpdate};

/// The sizes that every state is shown in.
const SIZES: [(u16, u16); 2] = [(80, 24), (40, 12)];

/// A state by its name.
fn check(name: &str, set: impl Fn(&mut Face)) {
    for (columns, rows) in SIZES {
        let mut face = Face::open(columns, rows);
        set(&mut face);
        let shot = face.shot();
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/frames");
        let path = folder.join(format!("{name}-{columns}x{rows}.txt"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &shot).expect("the folder can be written");
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(shot, known, "{} differs; UPDATE=1 rewrites it", path.display());
    }
}

fn shell() -> Value {
    json!({"command": "cargo test --workspace --all-features -- --nocapture 2>&1 | tee log.txt"})
}

fn approval(input: &Value, more: &Value) -> Value {
    let mut fields = json!({
        "approval": "0197-a1", "call": "c1", "tool": "run_shell", "input": input,
        "summary": "Run cargo test --workspace", "reason": "mode ask: commands are asked",
        "binds": "x", "rules": [{"action": "allow", "rule": "Shell(cargo test:*)", "source": "x"}],
    });
    for (name, value) in more.as_object().expect("fields") {
        fields[name] = value.clone();
    }
    fields
}

const DIFF: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,4 +1,4 @@\n fn main() {\n\
                    -    println!(\"hello\");\n+    println!(\"hello, world\");\n }\n";

#[test]
fn f1_frame_idle() {
    check("idle", |face| {
        face.begin("What is in this folder?");
        face.replied("Two files:\n\n- `a.rs`\n- `b.rs`\n");
        face.ended("completed", None);
    });
}

#[test]
fn f1_frame_before_a_session_is_open() {
    let mut face = Face::shut(80, 24);
    face.say("hello");
    let shot = face.shot();
    assert!(shot.contains("Opening the session…") && shot.contains("queued hello"), "{shot}");
    assert_eq!(face.wished(), []);
}

#[test]
fn f1_frame_streaming() {
    check("streaming", |face| {
        face.begin("Tell me a story.");
        face.signal(SignalKind::Thinking, "t1", "A story, then.");
        face.wait(2_000);
        face.signal(SignalKind::Text, "t1", "# Once\n\nThere was a **parser**");
        face.signal(SignalKind::Text, "t1", " that read\neverything twice.\n\nIt was slow");
        face.wait(1_000);
    });
}

#[test]
fn f1_frame_executing_tools() {
    check("executing-tools", |face| {
        face.begin("Run the tests.");
        face.replied("I run them.");
        face.proposed("c1", "run_shell", &shell());
        face.proposed("c2", "read_file", &json!({"path": "src/main.rs"}));
        face.started("c2");
        face.finished("c2", "read_file", "fn main() {}");
        face.started("c1");
        for n in 1..=5 {
            face.signal(SignalKind::Output, "c1", &format!("test number {n} ... ok\n"));
        }
        let items = json!([
            {"text": "Run the tests", "status": "in_progress"},
            {"text": "Repair what fails", "status": "pending"},
        ]);
        face.fact("plan.updated", &json!({"items": items, "call": "c1"}));
        face.wait(12_000);
    });
}

#[test]
fn f1_frame_pending_approval_of_a_command() {
    check("approval-command", |face| {
        face.begin("Run the tests.");
        face.replied("");
        face.proposed("c1", "run_shell", &shell());
        face.wait(1_000);
        face.fact("approval.requested", &approval(&shell(), &json!({})));
        face.wait(1_000);
    });
}

#[test]
fn f1_frame_pending_approval_of_a_change() {
    check("approval-diff", |face| {
        face.begin("Greet the world.");
        face.replied("");
        let input = json!({"path": "src/main.rs", "old": "hello", "new": "hello, world"});
        face.proposed("c1", "edit_file", &input);
        face.wait(1_000);
        let label = json!({"integrity": "external", "origins": ["example.com"]});
        let more = json!({
            "tool": "edit_file", "summary": "Replace 1 line in src/main.rs", "diff": DIFF,
            "rules": [], "label": label,
        });
        face.fact("approval.requested", &approval(&input, &more));
        face.wait(1_000);
    });
}

#[test]
fn f1_frame_pending_approval_of_a_sub_agent() {
    check("approval-sub-agent", |face| {
        face.begin("Let somebody test it.");
        face.replied("");
        face.proposed("c1", "new_task", &json!({"task": "Test it"}));
        face.started("c1");
        let spawned = json!({
            "agent": "0198", "call": "c1", "run": "r1", "profile": "tester", "task": "Test it",
            "depth": 1, "permission": "ask", "model": "script/demo", "tools": [],
        });
        face.fact("agent.spawned", &spawned);
        face.wait(3_000);
        let request = approval(&shell(), &json!({"approval": "0198-a1"}));
        let path = json!(["tester", "shell"]);
        let asked = json!({"agent": "0198", "call": "c1", "path": path, "request": request});
        face.fact("agent.asked", &asked);
        face.wait(1_000);
    });
}

#[test]
fn f1_frame_a_reason_is_typed() {
    check("approval-reason", |face| {
        face.begin("Run the tests.");
        face.replied("");
        face.proposed("c1", "run_shell", &shell());
        face.wait(1_000);
        face.fact("approval.requested", &approval(&shell(), &json!({})));
        face.wait(1_000);
        face.type_in("nnot now");
    });
}

#[test]
fn f1_frame_question() {
    check("question", |face| {
        face.begin("Set it up.");
        face.replied("");
        face.proposed("c1", "ask_followup_question", &json!({"question": "Which?"}));
        face.wait(1_000);
        let fields = json!({
            "question": "0197-q1", "call": "c1", "text": "Which **database** do you want?",
            "options": ["SQLite", "PostgreSQL", "none"], "multiple": false,
        });
        face.fact("question.asked", &fields);
        face.wait(1_000);
        face.press(KeyCode::Down);
    });
}

#[test]
fn f1_frame_question_with_several_answers() {
    check("question-multiple", |face| {
        face.begin("Set it up.");
        face.wait(1_000);
        let options: Vec<String> = (1..=12).map(|n| format!("Feature number {n}")).collect();
        let fields = json!({
            "question": "0197-q1", "call": "c1", "text": "Which features?", "options": options,
            "multiple": true,
        });
        face.fact("question.asked", &fields);
        face.wait(1_000);
        face.type_in("13");
    });
}

#[test]
fn f1_frame_paused() {
    check("paused", |face| {
        face.begin("Go on.");
        let fields = json!({"cause": "paused", "by": "ada"});
        face.fact("cancel.requested", &fields);
        face.ended("paused", None);
    });
}

#[test]
fn f1_frame_error() {
    check("error", |face| {
        face.begin("Go on.");
        let failed = json!({
            "turn": "t1", "class": "auth",
            "message": "The key was refused (401). Set another with `weir auth`.",
        });
        face.fact("model.failed", &failed);
        face.ended("failed", Some("The key was refused (401). Set another with `weir auth`."));
    });
}

#[test]
fn f1_frame_retrying() {
    check("retrying", |face| {
        face.begin("Go on.");
        face.signal(SignalKind::Text, "t1", "Half an ans");
        let retried = json!({
            "turn": "t1", "attempt": 1, "class": "overloaded", "wait_ms": 8000,
            "message": "The vendor is overloaded (529).",
        });
        face.fact("model.retried", &retried);
        face.wait(2_000);
    });
}

#[test]
fn f1_frame_unknown_outcome() {
    check("unknown-outcome", |face| {
        face.begin("Deploy it.");
        face.replied("");
        face.proposed("c1", "run_shell", &json!({"command": "./deploy.sh"}));
        face.started("c1");
        face.fact("session.resumed", &json!({"engine": "0", "run": "r1"}));
        let unknown = json!({
            "call": "c1", "tool": "run_shell", "reason": "The program ended while it ran.",
        });
        face.fact("call.unknown", &unknown);
        face.wait(1_000);
    });
}

#[test]
fn f1_frame_queued_inputs() {
    check("queued", |face| {
        face.begin("Go on.");
        for (n, text) in ["and test it", "and then\ncommit it"].iter().enumerate() {
            let content = json!([{"type": "text", "text": text}]);
            let input = format!("i{}", n + 2);
            face.fact("input.accepted", &json!({"input": input, "content": content, "by": "ada"}));
        }
        face.wait(1_000);
        face.type_in("while it runs");
    });
}

#[test]
fn f1_frame_lost_connection() {
    check("lost", |face| {
        face.begin("Go on.");
        face.wait(1_000);
        face.news(&UiUpdate::Lost(Some("the server does not answer; trying again in 4 s".into())));
    });
}

#[test]
fn f1_frame_shell_runs() {
    check("shell", |face| {
        face.say("!ls -la");
        let text = "a.rs\nb.rs\n\u{1b}[2Jc.rs\n".to_owned();
        face.news(&UiUpdate::Shell { ticket: 1, news: ShellNews::Output(text) });
        face.wait(2_000);
    });
}

#[test]
fn f1_frame_shell_ended() {
    check("shell-ended", |face| {
        face.say("!ls");
        face.news(&UiUpdate::Shell { ticket: 1, news: ShellNews::Output("a.rs\nb.rs\n".into()) });
        let (status, shown) = ("exit 0".to_owned(), "a.rs\nb.rs".to_owned());
        let news = ShellNews::Ended { status, ok: true, shown };
        face.news(&UiUpdate::Shell { ticket: 1, news });
    });
}

#[test]
fn f1_frame_condensed_and_ended_with_notes() {
    check("notes", |face| {
        face.begin("Go on.");
        let condensing = json!({"reason": "threshold", "tokens": 71_000, "window": 100_000});
        face.fact("context.condensing", &condensing);
        let condensed = json!({
            "reason": "threshold", "pass": 1, "head": [], "kept": 4, "hidden": 12, "through": "t1",
            "tokens_before": 71_000, "tokens_after": 30_000,
        });
        face.fact("context.condensed", &condensed);
        let limit = json!({"limit": "max_iterations", "level": "soft", "value": 15, "max": 25});
        face.fact("limit.reached", &limit);
        face.fact("alert.raised", &json!({"alert": "chain", "detail": "3 hops\u{202e}"}));
        face.ended("limit", None);
    });
}
