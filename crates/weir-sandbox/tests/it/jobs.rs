//! Background jobs: listing, reading, writing, ending (T8).

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Instant;

use weir_core::ids::SessionId;
use weir_core::tool::Tier;
use weir_engine::ports::{CommandEnd, CommandSpec, JobInfo, Processes};

use crate::world::{World, session};

under_each_tier!(
    t8_a_job_can_be_listed_read_written_and_ended,
    t8_an_unknown_job_is_an_error_that_names_the_others,
    t8_a_job_whose_shell_detached_its_server_goes_on,
    t8_a_job_has_a_time_to_live,
    t8_the_number_of_jobs_is_bounded,
    t8_a_job_that_does_not_read_does_not_hold_up_its_writer,
    d6_jobs_end_with_the_engine_that_owns_them,
);

/// Reads from `offset` on until the output holds `mark`; fails when the job ended without it.
async fn read_until(world: &World, job: &str, mark: &str) -> (JobInfo, String) {
    loop {
        let read = world.processes.read_job_output(&session(), job, 0, 1 << 20).await;
        let (info, text) = read.expect("the job is known");
        if text.contains(mark) {
            return (info, text);
        }
        assert_eq!(info.end, None, "{mark:?} is not in {text:?}");
        tokio::task::yield_now().await;
    }
}

/// One that is killed between the start of the command and its word about it.
#[tokio::test]
async fn d6_a_job_whose_supervisor_dies_at_its_start_leaves_nothing_and_says_so() {
    dies_at_its_start("read -r request").await;
}

/// One that is killed before it read what it is asked for, or while that is written.
#[tokio::test]
async fn d6_a_job_whose_supervisor_dies_before_it_reads_leaves_nothing_and_says_so() {
    dies_at_its_start("exec 0<&-").await;
}

async fn dies_at_its_start(before: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("supervisor");
    let script = format!("#!/bin/sh\n{before}\nsleep 1000 &\necho $! > \"${{0%/*}}/pid\"\n");
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
    let world = World::with(Tier::None, |options| options.program.clone_from(&program));
    let why = world.processes.start_job(world.spec(1, "true")).await.expect_err("no word");
    assert_eq!(why, "its supervisor ended without a word");
    let started = std::fs::read_to_string(folder.path().join("pid")).expect("it was started");
    let left = format!("/proc/{}/stat", started.trim());
    let state = std::fs::read_to_string(&left).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

async fn t8_a_job_can_be_listed_read_written_and_ended(tier: Tier) {
    let world = World::new(tier);
    let command = "echo ready; while read line; do echo \"got $line\"; done; echo over; sleep 1000";
    let info = world.processes.start_job(world.spec(3, command)).await.expect("it starts");
    assert_eq!((info.job.as_str(), info.command.as_str(), &info.end), ("j3", command, &None));
    read_until(&world, "j3", "ready\n").await;
    world.processes.write_job_input(&session(), "j3", "one\ntwo\n").await.expect("it reads");
    let (_, text) = read_until(&world, "j3", "got two\n").await;
    assert_eq!(text, "ready\ngot one\ngot two\n");
    let (info, part) =
        world.processes.read_job_output(&session(), "j3", 6, 7).await.expect("known");
    assert_eq!((part.as_str(), info.bytes), ("got one", 22));
    let (_, none) =
        world.processes.read_job_output(&session(), "j3", 22, 100).await.expect("known");
    assert_eq!(none, "");
    assert_eq!(world.processes.jobs(&session()).await.len(), 1);
    assert_eq!(world.processes.jobs(&SessionId::new("other")).await, vec![]);
    assert!(world.processes.read_job_output(&SessionId::new("other"), "j3", 0, 9).await.is_err());
    // How soon a cancel is, is looked at where commands are cancelled.
    let info = world.processes.kill_job(&session(), "j3").await.expect("it ends");
    assert_eq!(info.end, Some(CommandEnd::Cancelled));
    assert!(world.alive().is_empty());
    let refused = world.processes.write_job_input(&session(), "j3", "late").await;
    assert_eq!(refused, Err("job j3 has ended; it reads nothing any more".into()));
    let (_, text) =
        world.processes.read_job_output(&session(), "j3", 0, 5).await.expect("still known");
    assert_eq!(text, "ready");
}

async fn t8_an_unknown_job_is_an_error_that_names_the_others(tier: Tier) {
    let world = World::new(tier);
    let unknown = world.processes.kill_job(&session(), "j9").await;
    assert_eq!(unknown, Err("there is no job \"j9\": this session has none".into()));
    world.processes.start_job(world.spec(3, "sleep 1000")).await.expect("it starts");
    let unknown = world.processes.kill_job(&session(), "j9").await;
    assert_eq!(unknown, Err("there is no job \"j9\"; jobs are: j3".into()));
}

async fn t8_a_job_whose_shell_detached_its_server_goes_on(tier: Tier) {
    let world = World::new(tier);
    let command = "setsid sh -c 'echo serving; exec sleep 1000' & exit 3";
    world.processes.start_job(world.spec(1, command)).await.expect("it starts");
    let (info, _) = read_until(&world, "j1", "serving").await;
    assert_eq!(info.end, None);
    world.processes.kill_job(&session(), "j1").await.expect("it ends");
    assert!(world.alive().is_empty());
}

async fn t8_a_job_has_a_time_to_live(tier: Tier) {
    let world = World::new(tier);
    let spec = CommandSpec { timeout_ms: 100, ..world.spec(1, "sleep 1000") };
    world.processes.start_job(spec).await.expect("it starts");
    let end = loop {
        if let Some(end) = world.processes.jobs(&session()).await.remove(0).end {
            break end;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(end, CommandEnd::TimedOut);
    assert!(world.alive().is_empty());
}

async fn t8_the_number_of_jobs_is_bounded(tier: Tier) {
    let world = World::new(tier);
    for call in 0..32 {
        world.processes.start_job(world.spec(call, "sleep 1000")).await.expect("it starts");
    }
    let refused = world.processes.start_job(world.spec(99, "sleep 1000")).await;
    assert!(refused.is_err_and(|why| why.contains("32 jobs run")));
    let began = Instant::now();
    world.processes.end_all(&session()).await;
    let took = began.elapsed();
    // None of them is waited for until it ends by itself.
    assert!(took < crate::world::PATIENCE, "took {took:?}");
    assert!(world.alive().is_empty());
    assert_eq!(world.processes.jobs(&session()).await, vec![]);
}

async fn t8_a_job_that_does_not_read_does_not_hold_up_its_writer(tier: Tier) {
    let world = World::new(tier);
    world
        .processes
        .start_job(world.spec(1, "exec <&-; echo ready; sleep 1000"))
        .await
        .expect("starts");
    read_until(&world, "j1", "ready").await;
    let refused = world.processes.write_job_input(&session(), "j1", "text").await;
    assert!(refused.is_err_and(|why| why.contains("does not read its input any more")));
}

async fn d6_jobs_end_with_the_engine_that_owns_them(tier: Tier) {
    let mut world = World::new(tier);
    world
        .processes
        .start_job(world.spec(1, "setsid sleep 1000 & sleep 1000"))
        .await
        .expect("starts");
    let alive = world.alive();
    assert!(!alive.is_empty());
    world.processes = Arc::clone(&World::new(tier).processes);
    // The follower's task is gone once the runtime had its turn.
    tokio::task::yield_now().await;
    assert!(crate::world::alive_after(&alive, crate::world::PATIENCE).is_empty());
}
