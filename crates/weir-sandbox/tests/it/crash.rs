//! The engine is killed with SIGKILL, or what is on record is damaged.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use weir_core::ids::{CallId, SessionId};
use weir_core::tool::Tier;
use weir_engine::ports::{CommandEnd, CommandTrace, Processes};

use crate::world::{PATIENCE, World, alive_after, below, mentioning, program, session};

under_each_tier!(
    d6_no_process_outlives_a_killed_engine_by_two_seconds,
    d4_a_trace_waits_for_a_supervisor_that_is_still_ending_its_tree,
    d4_when_engine_and_supervisor_are_gone_the_outcome_is_unknown_and_nothing_is_left,
);

/// An engine in a process of its own, whose commands have shown `up` so often.
fn engine(world: &World, commands: &[&str], up: usize) -> Child {
    let mut engine = Command::new(program())
        .args(["engine", world.tier.as_str()])
        .arg(world.state.path())
        .args(commands)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the example starts");
    let out = BufReader::new(engine.stdout.take().expect("it was piped"));
    let seen = out.lines().map_while(Result::ok).filter(|line| line.contains("up")).take(up);
    assert_eq!(seen.count(), up, "the engine ended early");
    engine
}

fn kill(mut engine: Child) {
    engine.kill().expect("it runs");
    assert_eq!(engine.wait().expect("it was killed").signal(), Some(9));
}

fn engine_session() -> SessionId {
    SessionId::new("engine")
}

async fn d6_no_process_outlives_a_killed_engine_by_two_seconds(tier: Tier) {
    // Other work on the machine makes an end later and never sooner: once in time is enough.
    let mut left = String::new();
    for _ in 0..10 {
        left = outlives(tier).await;
        if left.is_empty() {
            return;
        }
    }
    panic!("{left}");
}

/// Kills an engine with ten commands; what still lives two seconds later. In the end nothing does.
async fn outlives(tier: Tier) -> String {
    let world = World::new(tier);
    let commands = [
        "bg:sleep 1000",
        "bg:setsid sleep 1000 & disown; sleep 1000",
        "fg:echo up; sleep 1000",
        "fg:setsid sh -c 'echo up; sleep 1000' & echo up; wait",
        "fg:( (setsid sh -c 'echo up; exec sleep 1000' &) & ); echo up; sleep 1000",
        "fg:trap '' TERM HUP INT; echo up; while :; do sleep 1000; done",
        "fg:nohup sh -c 'trap \"\" TERM; echo up; sleep 1000; :' & wait",
        "fg:sh -c 'echo up; kill -STOP $$; :' & wait",
        "fg:env -i setsid sh -c 'echo up; exec <&- >&- 2>&-; sleep 1000; :' & wait",
        "fg:f() { (sleep 0.002; f) & }; f; f; echo up; wait; sleep 1000",
    ];
    let engine = engine(&world, &commands, 10);
    let pid = engine.id().cast_signed();
    let tree = below(pid);
    // Ten supervisors, and at least one process each.
    assert!(tree.len() >= 20, "{tree:#?}");
    kill(engine);
    let late = alive_after(&tree, Duration::from_secs(2));
    let late = if late.is_empty() { String::new() } else { format!("{late:#?}") };
    let left = alive_after(&tree, PATIENCE);
    assert!(left.is_empty(), "{left:#?}");
    let born_later = mentioning(&world.state.path().to_string_lossy());
    assert!(born_later.is_empty(), "{born_later:#?}");
    for call in 1..=10 {
        let trace = world.processes.command_trace(&engine_session(), CallId(call)).await;
        assert!(
            matches!(&trace, CommandTrace::Ended(outcome) if outcome.end == CommandEnd::Orphaned),
            "c{call}: {trace:?}"
        );
    }
    late
}

async fn d4_a_trace_waits_for_a_supervisor_that_is_still_ending_its_tree(tier: Tier) {
    let world = World::new(tier);
    let stubborn = "fg:trap '' TERM; echo up; while :; do sleep 1000; done";
    kill(engine(&world, &[stubborn], 1));
    // At once, while the supervisor still gives the command its chance to end.
    let trace = world.processes.command_trace(&engine_session(), CallId(1)).await;
    let CommandTrace::Ended(outcome) = trace else { panic!("{trace:?}") };
    assert_eq!(outcome.end, CommandEnd::Orphaned);
    assert_eq!(outcome.output, "up\n");
    assert!(world.alive().is_empty());
}

async fn d4_when_engine_and_supervisor_are_gone_the_outcome_is_unknown_and_nothing_is_left(
    tier: Tier,
) {
    let world = World::new(tier);
    let command = "bg:setsid sleep 1000 & sleep 1000";
    let engine = engine(&world, &["fg:echo up; sleep 1000", command], 1);
    let tree = below(engine.id().cast_signed());
    let supervisors: Vec<_> =
        tree.iter().filter(|seen| seen.what.contains("__supervise")).map(|seen| seen.pid).collect();
    assert_eq!(supervisors.len(), 2, "{tree:#?}");
    for pid in supervisors {
        let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).expect("it runs");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it runs");
    }
    kill(engine);
    if tier.has_own_view() {
        let left = alive_after(&tree, PATIENCE);
        assert!(left.is_empty(), "the kernel ends them, before anybody looks: {left:?}");
    }
    for call in [1, 2] {
        let trace = world.processes.command_trace(&engine_session(), CallId(call)).await;
        assert!(matches!(trace, CommandTrace::Unknown { .. }), "c{call}: {trace:?}");
    }
    assert!(alive_after(&tree, PATIENCE).is_empty());
    assert!(world.alive().is_empty());
}

#[tokio::test]
async fn d4_a_trace_wakes_a_supervisor_that_was_stopped() {
    let world = World::new(Tier::None);
    let engine = engine(&world, &["fg:(kill -STOP $PPID; echo up); echo up; sleep 1000"], 0);
    let pid = engine.id().cast_signed();
    let stopped = || {
        below(pid).iter().any(|seen| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", seen.pid));
            seen.what.contains("__supervise") && stat.is_ok_and(|stat| stat.contains(") T "))
        })
    };
    while !stopped() {
        std::thread::yield_now();
    }
    let tree = below(pid);
    kill(engine);
    let trace = world.processes.command_trace(&engine_session(), CallId(1)).await;
    assert!(
        matches!(&trace, CommandTrace::Ended(outcome) if outcome.end == CommandEnd::Orphaned),
        "{trace:?}"
    );
    assert!(alive_after(&tree, PATIENCE).is_empty());
}

#[tokio::test]
async fn d4_a_damaged_record_is_unknown_and_never_run_again() {
    for damage in ["", "{", "null", "[1,2", "\0\0\0\0"] {
        let world = World::new(Tier::None);
        std::fs::create_dir_all(world.record(1)).expect("a folder");
        std::fs::write(world.record(1).join("started.json"), damage).expect("a file");
        let trace = world.processes.command_trace(&session(), CallId(1)).await;
        assert!(matches!(trace, CommandTrace::Unknown { .. }), "{damage:?}: {trace:?}");
        let outcome = world.run(world.spec(1, "echo ran > ran")).await;
        assert!(matches!(outcome.end, CommandEnd::NotStarted { .. }), "{damage:?}: {outcome:?}");
        assert!(!world.state.path().join("ran").exists());
    }
}

#[tokio::test]
async fn d4_a_folder_without_a_claim_is_not_a_start() {
    let world = World::new(Tier::None);
    std::fs::create_dir_all(world.record(1)).expect("a folder");
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert_eq!(trace, CommandTrace::NeverStarted);
    let outcome = world.run(world.spec(1, "echo ran")).await;
    assert_eq!(outcome.output, "ran\n");
}

#[tokio::test]
async fn d4_a_record_of_another_boot_is_unknown() {
    let world = World::new(Tier::None);
    world.run(world.spec(1, "echo ran")).await;
    let started = world.record(1).join("started.json");
    let text = std::fs::read_to_string(&started).expect("a record");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    assert!(text.contains(boot.trim()));
    std::fs::write(&started, text.replace(boot.trim(), "another-boot")).expect("a file");
    std::fs::remove_file(world.record(1).join("end.json")).expect("a file");
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert!(
        matches!(&trace, CommandTrace::Unknown { why } if why.contains("machine")),
        "{trace:?}"
    );
}

#[tokio::test]
async fn d4_after_a_power_cut_a_missing_record_proves_nothing() {
    let world = World::new(Tier::None);
    world.run(world.spec(3, "echo ran")).await;
    let trace = async |call| world.processes.command_trace(&session(), CallId(call)).await;
    assert_eq!(trace(4).await, CommandTrace::NeverStarted);
    // As if that was before the machine was started again; the cut also tore a line.
    let boots = world.state.path().join("jobs/s1/boots");
    let text = std::fs::read_to_string(&boots).expect("a session that started something");
    let here = text.trim().strip_prefix("c3 ").expect("the first call and the machine");
    std::fs::write(&boots, text.replace(here, "another-boot pid:[1]") + "\nc9").expect("a file");
    assert_eq!(trace(2).await, CommandTrace::NeverStarted);
    assert!(matches!(trace(4).await, CommandTrace::Unknown { .. }));
    // And it stays so when the session goes on.
    world.run(world.spec(6, "echo ran")).await;
    assert!(matches!(trace(4).await, CommandTrace::Unknown { .. }));
    assert_eq!(trace(7).await, CommandTrace::NeverStarted);
}

#[tokio::test]
async fn d9_old_records_are_swept_and_a_deleted_session_leaves_none() {
    let world = World::new(Tier::None);
    world.run(world.spec(1, "echo old")).await;
    world.run(world.spec(2, "echo new")).await;
    let eight_days = Duration::from_secs(8 * 24 * 60 * 60);
    let then = std::time::SystemTime::now() - eight_days;
    let dir = std::fs::File::open(world.record(1)).expect("a record");
    dir.set_modified(then).expect("our own folder");
    let swept = weir_sandbox::sweep_records(world.state.path());
    assert_eq!((swept.removed, swept.kept), (1, 1));
    assert!(!world.record(1).exists() && world.record(2).exists());
    weir_sandbox::remove_session_records(world.state.path(), &session())
        .expect("it can be removed");
    assert!(!world.record(2).exists());
    weir_sandbox::remove_session_records(world.state.path(), &session())
        .expect("twice is no error");
}
