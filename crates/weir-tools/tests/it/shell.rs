//! The shell tools over fake processes.

use serde_json::json;
use weir_core::tool::EffectClass;
use weir_engine::ports::{CommandEnd, CommandOutcome};

use super::world::{World, block_on, text};
use crate::kill_shell::KillShell;
use crate::read_shell_output::ReadShellOutput;
use crate::run_shell::RunShell;
use crate::write_shell_input::WriteShellInput;

fn outcome(end: CommandEnd, output: &str, bytes: u64) -> CommandOutcome {
    CommandOutcome { end, output: output.into(), bytes, duration_ms: 1_234, refused: Vec::new() }
}

fn run(end: CommandEnd, output: &str, bytes: u64) -> (bool, String) {
    let world = World::new();
    *world.processes.outcome.lock().expect("no panic") = Some(outcome(end, output, bytes));
    let raw = block_on(world.act::<RunShell>(json!({"command": "make"})));
    (raw.ok, text(&raw))
}

#[test]
fn t8_a_command_reports_code_time_and_output() {
    let (ok, said) = run(CommandEnd::Exited { code: 0 }, "built\n", 6);
    assert_eq!((ok, said.as_str()), (true, "Exit code 0 after 1.2 s\nbuilt"));
    let (ok, said) = run(CommandEnd::Exited { code: 2 }, "", 0);
    assert_eq!((ok, said.as_str()), (true, "Exit code 2 after 1.2 s\n(no output)"));
    let (ok, said) = run(CommandEnd::TimedOut, "waiting", 7);
    assert!(!ok && said.contains("longer timeout_seconds"), "{said}");
    let (_, said) = run(CommandEnd::Exited { code: 0 }, "head … tail", 5_000_000);
    assert!(said.contains("[5.0 MB of output, the middle left out"), "{said}");
}

#[test]
fn t8_a_command_is_declared_and_bounded() {
    let world = World::new();
    world.write("sub/x", b"");
    let ended = outcome(CommandEnd::Exited { code: 0 }, "", 0);
    *world.processes.outcome.lock().expect("no panic") = Some(ended);
    let input = json!({"command": "ls -l", "cwd": "sub", "timeout_seconds": 600});
    let plan = block_on(world.plan("run_shell", input.clone()));
    assert_eq!(plan.class, EffectClass::Process);
    assert_eq!(plan.effects.commands[0].cwd, "sub");
    assert!(plan.effects.changes_world());
    assert!(block_on(world.act::<RunShell>(input)).ok);
    let asked = world.processes.asked.lock().expect("no panic").remove(0);
    assert_eq!(asked.cwd, world.cx.workspace.root().join("sub"));
    assert_eq!((asked.timeout_ms, asked.background), (600_000, false));
}

#[test]
fn t6_commands_that_cannot_run_say_why() {
    let world = World::new();
    for (input, words) in [
        (json!({"command": "  "}), "empty"),
        (json!({"command": "a\u{0}b"}), "NUL"),
        (json!({"command": "ls", "cwd": "none"}), "does not exist"),
    ] {
        let plan = block_on(world.plan("run_shell", input));
        assert!(plan.fails.as_deref().is_some_and(|m| m.contains(words)), "{:?}", plan.fails);
        assert_eq!(plan.effects.commands.len(), 1);
    }
}

#[test]
fn u11_a_place_that_is_missing_is_said_before_a_command_writes_there() {
    let world = World::new();
    let outside = tempfile::tempdir().expect("a folder");
    let missing = outside.path().join("none").display().to_string();
    let there = outside.path().display().to_string();
    let plan = block_on(world.plan("run_shell", json!({"command": "x", "writes": [missing]})));
    let why = plan.fails.expect("nothing of it would stay");
    assert!(why.contains("create_folder") && why.contains("none does not exist"), "{why}");
    // Inside the workspace a command may make what it likes, and a folder that is there is given.
    for path in ["out/new".to_owned(), there] {
        let plan = block_on(world.plan("run_shell", json!({"command": "x", "writes": [path]})));
        assert_eq!(plan.fails, None);
    }
}

#[test]
fn u11_a_host_that_only_a_list_opens_is_not_to_be_asked_for_again() {
    let world = World::new();
    let said = |refused: &[&str]| {
        let refused = refused.iter().map(|&one| one.to_owned()).collect();
        let ended = CommandOutcome { refused, ..outcome(CommandEnd::Exited { code: 1 }, "", 0) };
        *world.processes.outcome.lock().expect("no panic") = Some(ended);
        text(&block_on(world.act::<RunShell>(json!({"command": "make"}))))
    };
    let private = "host x.corp:443 (x.corp is private; a person can list it in web.allow_hosts)";
    let told = said(&[private]);
    assert!(told.contains(private) && !told.contains("name it in network"), "{told}");
    for others in [&["host docs.rs:443"][..], &[private, "path /etc/x"]] {
        let told = said(others);
        assert!(told.contains("name it in network, writes or reads"), "{told}");
    }
}

#[test]
fn u11_a_command_that_sees_the_sandbox_alone_says_so() {
    use weir_core::tool::{CommandEffect, Tier};
    let said = |command: &str, tier| {
        crate::run_shell::view_note(&CommandEffect {
            command: command.to_owned(),
            tier,
            ..CommandEffect::default()
        })
    };
    for line in ["ps aux | grep nginx", "date; /usr/bin/ss -tlnp", "if pgrep x; then echo y; fi"] {
        assert!(said(line, Tier::Namespaces).is_some(), "{line}");
        assert!(said(line, Tier::Bubblewrap).is_some(), "{line}");
        // With Landlock and outside it is the machine's view.
        assert_eq!((said(line, Tier::Landlock), said(line, Tier::None)), (None, None), "{line}");
    }
    for line in ["make", "echo ps", "grep top notes.md", "./ps.sh"] {
        assert_eq!(said(line, Tier::Namespaces), None, "{line}");
    }
}

#[test]
fn a1_a_line_that_git_would_break_off_fails_before_it_is_asked_about() {
    let world = World::new();
    world.write(".git/HEAD", b"ref: refs/heads/main\n");
    let fails = |input| block_on(world.plan("run_shell", input)).fails;
    let line = "mv a b && git add -A && git commit -m x";
    let why = fails(json!({ "command": line })).expect("git would be refused");
    assert!(why.contains("`mv a b` is neither, so nothing of the line was run"), "{why}");
    assert!(fails(json!({ "command": line, "background": true })).is_some());
    for input in [
        json!({ "command": line, "outside_sandbox": true }),
        json!({ "command": line, "writes": [".git"] }),
        json!({ "command": "git add -A && git commit -m x" }),
    ] {
        assert_eq!(fails(input.clone()), None, "{input}");
    }
}

#[test]
fn t8_jobs_are_started_read_fed_and_ended() {
    let world = World::new();
    let input = json!({"command": "serve", "background": true});
    let started = block_on(world.act::<RunShell>(input));
    assert!(started.ok && text(&started).starts_with("Started job j1"), "{}", text(&started));
    let fed = block_on(world.act::<WriteShellInput>(json!({"job": "j1", "text": "hello\n"})));
    assert!(fed.ok, "{}", text(&fed));
    let read = text(&block_on(world.act::<ReadShellOutput>(json!({"job": "j1"}))));
    assert_eq!(read, "hello\n[j1 (serve): running for 1.5 s, 6 bytes of output; next offset: 6]");
    let read = text(&block_on(world.act::<ReadShellOutput>(json!({"job": "j1", "offset": 6}))));
    assert!(read.starts_with("(no new output)"), "{read}");
    let listed = text(&block_on(world.act::<ReadShellOutput>(json!({}))));
    assert!(listed.starts_with("j1 (serve): running"), "{listed}");
    let ended = text(&block_on(world.act::<KillShell>(json!({"job": "j1"}))));
    assert!(ended.starts_with("Ended job j1 (serve): cancelled"), "{ended}");
    let unknown = block_on(world.act::<KillShell>(json!({"job": "j9"})));
    assert!(!unknown.ok && text(&unknown).contains("no job j9"));
}

#[test]
fn g2_job_calls_name_their_job() {
    let world = World::new();
    for tool in ["read_shell_output", "kill_shell"] {
        let plan = block_on(world.plan(tool, json!({"job": "j1"})));
        assert_eq!(plan.effects.jobs, ["j1"], "{tool}");
    }
    let plan = block_on(world.plan("write_shell_input", json!({"job": "j1", "text": "y\n"})));
    assert_eq!(
        (plan.effects.jobs.as_slice(), plan.class),
        (&["j1".to_owned()][..], EffectClass::Once)
    );
}
