//! Cancel ends every process of a running command within a second (L14).

use std::time::{Duration, Instant};

use weir_core::ids::CallId;
use weir_core::tool::Tier;
use weir_engine::ports::{CommandEnd, CommandTrace, Processes};

use crate::world::{World, session};

under_each_tier!(
    l14_cancel_ends_a_plain_command,
    l14_cancel_ends_processes_that_detached,
    l14_cancel_ends_processes_that_ignore_signals,
    l14_cancel_ends_processes_that_are_stopped,
    l14_cancel_ends_processes_without_open_files_and_environment,
    l14_cancel_ends_what_forks_all_the_time,
    l14_cancel_works_when_the_command_stopped_its_supervisor,
    l14_cancel_works_when_the_command_keeps_stopping_its_supervisor,
    l14_cancel_reaches_a_command_that_floods_its_output,
    l14_a_call_that_was_cancelled_before_it_began_never_starts,
    d6_dropping_a_run_ends_its_command,
);

/// How long a cancel may take.
const SOON: Duration = Duration::from_secs(1);

/// Does it until it was soon enough: other work on the machine makes a cancel slower and never faster.
/// Everything else that is looked at holds each time.
async fn soon(what: &str, mut once: impl AsyncFnMut() -> Duration) {
    let mut took = Vec::new();
    for _ in 0..20 {
        took.push(once().await);
        if took.iter().any(|took| *took < SOON) {
            return;
        }
    }
    panic!("{what}: took {took:?}");
}

/// Starts `command`, waits until it has shown `up` so often, cancels, and looks.
async fn check(tier: Tier, command: &str, up: usize) {
    soon(command, async || cancelled(tier, command, up).await).await;
}

async fn cancelled(tier: Tier, command: &str, up: usize) -> Duration {
    let world = World::new(tier);
    let mut run = world.watch(world.spec(1, command));
    run.shows("up", up).await;
    assert!(world.alive().len() >= up, "{command}: not running: {:?}", world.alive());
    let began = Instant::now();
    run.cancel.cancel();
    let outcome = run.end().await;
    let took = began.elapsed();
    assert_eq!(outcome.end, CommandEnd::Cancelled, "{command}");
    let left = world.alive();
    assert!(left.is_empty(), "{command}: left {left:?}");
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert_eq!(trace, CommandTrace::Ended(outcome), "{command}");
    took
}

async fn l14_cancel_ends_a_plain_command(tier: Tier) {
    check(tier, "echo up; sleep 1000", 1).await;
}

async fn l14_cancel_ends_processes_that_detached(tier: Tier) {
    check(tier, "setsid sh -c 'echo up; sleep 1000' & echo up; wait", 2).await;
    check(tier, "( (setsid sh -c 'echo up; exec sleep 1000' &) & ); echo up; sleep 1000", 2).await;
    check(tier, "nohup sh -c 'echo up; sleep 1000; :' & wait", 1).await;
}

async fn l14_cancel_ends_processes_that_ignore_signals(tier: Tier) {
    check(tier, "trap '' TERM HUP INT QUIT; echo up; while :; do sleep 1000; done", 1).await;
}

async fn l14_cancel_ends_processes_that_are_stopped(tier: Tier) {
    check(tier, "sh -c 'echo up; kill -STOP $$; sleep 1000' & wait", 1).await;
}

async fn l14_cancel_ends_processes_without_open_files_and_environment(tier: Tier) {
    let bare = "env -i setsid sh -c 'echo up; exec <&- >&- 2>&-; sleep 1000; :' & wait";
    let world = World::new(tier);
    let mut run = world.watch(world.spec(1, bare));
    run.shows("up", 1).await;
    let below = crate::world::below(std::process::id().cast_signed());
    run.cancel.cancel();
    assert_eq!(run.end().await.end, CommandEnd::Cancelled);
    let of_this: Vec<_> = below.iter().filter(|seen| seen.what.contains("exec <&-")).collect();
    assert!(!of_this.is_empty(), "{below:?}");
    for seen in of_this {
        assert!(!std::path::Path::new(&format!("/proc/{}", seen.pid)).exists(), "{seen:?}");
    }
}

async fn l14_cancel_ends_what_forks_all_the_time(tier: Tier) {
    // Each generation starts the next one and ends: no listing ever shows all of them.
    let command = "f() { (sleep 0.002; f) & }; f; f; f; f; echo up; wait; sleep 1000";
    check(tier, command, 1).await;
}

/// A command that does `hostile` to its supervisor once it runs.
async fn check_hostile(tier: Tier, hostile: &str) {
    soon(hostile, async || cancelled_hostile(tier, hostile).await).await;
}

async fn cancelled_hostile(tier: Tier, hostile: &str) -> Duration {
    let command = format!(
        "mkfifo go done; (setsid sh -c 'echo up; sleep 1000; :' &); echo up; read x < go; \
         {hostile}; sleep 1000"
    );
    let world = World::new(tier);
    let mut run = world.watch(world.spec(1, &command));
    run.shows("up", 2).await;
    std::fs::write(world.state.path().join("go"), "\n").expect("the command reads it");
    std::fs::read(world.state.path().join("done")).expect("the command writes it");
    let began = Instant::now();
    run.cancel.cancel();
    let outcome = run.end().await;
    let took = began.elapsed();
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    assert!(outcome.output.starts_with("up\nup\n"), "{outcome:?}");
    assert!(world.alive().is_empty());
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert_eq!(trace, CommandTrace::Ended(outcome));
    took
}

async fn l14_cancel_works_when_the_command_stopped_its_supervisor(tier: Tier) {
    check_hostile(tier, "kill -STOP $PPID; echo > done").await;
}

async fn l14_cancel_works_when_the_command_keeps_stopping_its_supervisor(tier: Tier) {
    check_hostile(tier, "kill -STOP $PPID; echo > done; while :; do kill -STOP $PPID; done").await;
}

async fn l14_cancel_reaches_a_command_that_floods_its_output(tier: Tier) {
    check(tier, "echo up; yes", 1).await;
}

async fn l14_a_call_that_was_cancelled_before_it_began_never_starts(tier: Tier) {
    let world = World::new(tier);
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    let progress = weir_engine::ports::ProgressSink::none();
    let outcome = world.processes.run(world.spec(1, "echo ran > ran"), &progress, &cancel).await;
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    assert!(!world.state.path().join("ran").exists());
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert_eq!(trace, CommandTrace::NeverStarted);
}

async fn d6_dropping_a_run_ends_its_command(tier: Tier) {
    let world = World::new(tier);
    let mut run = world.watch(world.spec(1, "echo up; sleep 1000"));
    run.shows("up", 1).await;
    let alive = world.alive();
    run.outcome.abort();
    assert!(run.outcome.await.is_err_and(|error| error.is_cancelled()));
    assert!(crate::world::alive_after(&alive, crate::world::PATIENCE).is_empty());
}
