//! Foreground commands that end by themselves or by a limit.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use weir_core::ids::CallId;
use weir_core::secret::Secret;
use weir_core::tool::Tier;
use weir_engine::ports::{CommandEnd, CommandSpec, CommandTrace, Processes};

use crate::world::{World, alive_after, session};

under_each_tier!(
    d4_output_and_exit_status_are_on_record,
    d4_a_call_is_started_once,
    d4_of_many_starts_of_one_call_at_once_one_wins,
    t8_a_signal_that_is_not_ours_is_told_apart,
    t8_progress_comes_while_the_command_runs,
    t8_there_is_no_input_and_no_terminal,
    t8_wall_time_ends_the_whole_tree,
    t8_silence_can_be_limited,
    t8_processor_time_can_be_limited,
    z4_no_new_privileges_no_core_dumps_limited_files,
    z7_environment_has_no_keys,
    z7_a_key_that_a_command_prints_is_kept_nowhere,
    t8_a_gigabyte_of_output_takes_bounded_memory,
    d6_what_a_foreground_command_leaves_behind_is_ended,
    t8_output_written_just_after_the_shell_ended_is_kept,
    z4_a_state_folder_behind_a_link_is_no_obstacle,
);

async fn z4_a_state_folder_behind_a_link_is_no_obstacle(tier: Tier) {
    let real = tempfile::tempdir().expect("a folder");
    let way = real.path().join("way");
    std::fs::create_dir(real.path().join("state")).expect("a folder");
    std::os::unix::fs::symlink(real.path().join("state"), &way).expect("a link");
    let world = World::with(tier, |options| options.state_dir = way);
    let mut spec = world.spec(1, "cat secret 2>/dev/null; ls > listed; echo fine");
    std::fs::write(world.state.path().join("secret"), "words\n").expect("a file");
    spec.confine.masked = vec![world.state.path().join("secret")];
    let outcome = world.run(spec).await;
    let seen = if tier == Tier::None { "words\nfine\n" } else { "fine\n" };
    assert_eq!(outcome.output, seen, "{outcome:?}");
}

async fn d4_output_and_exit_status_are_on_record(tier: Tier) {
    let world = World::new(tier);
    let outcome = world.run(world.spec(1, "pwd; echo to-error >&2; exit 7")).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 7 });
    assert_eq!(outcome.output, format!("{}\nto-error\n", world.state.path().display()));
    assert_eq!(outcome.bytes, outcome.output.len() as u64);
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert_eq!(trace, CommandTrace::Ended(outcome.clone()));
    let whole = std::fs::read_to_string(world.record(1).join("output")).expect("its output");
    assert_eq!(whole, outcome.output);
    let mode = |path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(world.record(1)), 0o700);
    assert_eq!(mode(world.record(1).join("end.json")), 0o600);
    assert_eq!(mode(world.record(1).join("started.json")), 0o600);
    assert_eq!(world.alive().len(), 0);
}

async fn d4_a_call_is_started_once(tier: Tier) {
    let world = World::new(tier);
    assert_eq!(
        world.processes.command_trace(&session(), CallId(1)).await,
        CommandTrace::NeverStarted
    );
    world.run(world.spec(1, "echo once >> ran")).await;
    let again = world.run(world.spec(1, "echo once >> ran")).await;
    assert!(matches!(&again.end, CommandEnd::NotStarted { why } if why.contains("started before")));
    let ran = std::fs::read_to_string(world.state.path().join("ran")).expect("it ran");
    assert_eq!(ran, "once\n");
}

async fn d4_of_many_starts_of_one_call_at_once_one_wins(tier: Tier) {
    let world = World::new(tier);
    let runs: Vec<_> = (0..8).map(|_| world.watch(world.spec(1, "echo once >> ran"))).collect();
    let mut ended = 0;
    for run in runs {
        ended += usize::from(run.end().await.end == CommandEnd::Exited { code: 0 });
    }
    let ran = std::fs::read_to_string(world.state.path().join("ran")).expect("it ran");
    assert_eq!((ended, ran.as_str()), (1, "once\n"));
}

async fn t8_a_signal_that_is_not_ours_is_told_apart(tier: Tier) {
    let world = World::new(tier);
    let outcome = world.run(world.spec(1, "kill -SEGV $$")).await;
    assert_eq!(outcome.end, CommandEnd::Signaled { signal: 11 });
}

async fn t8_progress_comes_while_the_command_runs(tier: Tier) {
    let world = World::new(tier);
    // Before the command looks for it, which may be at once.
    let fifo = world.state.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let mut run = world.watch(world.spec(1, "printf 'a\\xc3'; read x < fifo; printf '\\xa4b'"));
    run.shows("a", 1).await;
    std::fs::write(&fifo, "go on\n").expect("the command reads it");
    run.shows("\u{e4}b", 1).await;
    assert_eq!(run.seen(), "a\u{e4}b");
    assert_eq!(run.end().await.output, "a\u{e4}b");
}

async fn t8_there_is_no_input_and_no_terminal(tier: Tier) {
    let world = World::new(tier);
    let outcome = world.run(world.spec(1, "cat; : < /dev/tty || echo no terminal")).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 });
    assert!(outcome.output.ends_with("no terminal\n"), "{}", outcome.output);
}

async fn t8_wall_time_ends_the_whole_tree(tier: Tier) {
    let world = World::new(tier);
    let command = "(setsid sleep 1000 &); echo begun; sleep 1000";
    // Long enough for it to begin, on a machine with other work too.
    let spec = CommandSpec { timeout_ms: 4_000, ..world.spec(1, command) };
    let outcome = world.run(spec).await;
    assert_eq!(outcome.end, CommandEnd::TimedOut);
    assert_eq!(outcome.output, "begun\n[ended after 4000 ms, its limit of time]");
    assert_eq!(world.alive().len(), 0);
}

async fn t8_silence_can_be_limited(tier: Tier) {
    let world = World::with(tier, |options| options.limits.idle_ms = Some(4_000));
    let outcome = world.run(world.spec(1, "echo begun; sleep 1000")).await;
    assert_eq!(outcome.end, CommandEnd::TimedOut);
    assert_eq!(outcome.output, "begun\n[ended because it wrote nothing for 4000 ms]");
}

async fn t8_processor_time_can_be_limited(tier: Tier) {
    let world = World::with(tier, |options| options.limits.cpu_seconds = Some(1));
    let outcome = world.run(world.spec(1, "while :; do :; done")).await;
    assert_eq!(outcome.end, CommandEnd::Signaled { signal: 24 });
}

async fn z4_no_new_privileges_no_core_dumps_limited_files(tier: Tier) {
    let world = World::new(tier);
    let command = "grep NoNewPrivs /proc/self/status; ulimit -c; ulimit -n";
    let outcome = world.run(world.spec(1, command)).await;
    assert_eq!(outcome.output, "NoNewPrivs:\t1\n0\n16384\n");
}

async fn z7_environment_has_no_keys(tier: Tier) {
    let world = World::with(tier, |options| {
        let planted =
            ["SERVICE_API_KEY", "SOME_TOKEN", "db_password", "MY_SECRET", "X_CREDENTIALS"];
        for name in planted {
            options.environment.push((name.into(), "planted-secret-value".into()));
        }
        options.environment.push(("HARMLESS".into(), "seen".into()));
    });
    // The supervisor's own environment is readable too: it must not hold them either.
    let command = "env; tr '\\0' '\\n' < /proc/$PPID/environ; true";
    let outcome = world.run(world.spec(1, command)).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 });
    assert!(outcome.output.contains("HARMLESS=seen") && outcome.output.contains("TERM=dumb"));
    assert!(!outcome.output.contains("planted-secret-value"), "{}", outcome.output);
    for file in ["started.json", "end.json", "output"] {
        let text = std::fs::read_to_string(world.record(1).join(file)).expect("a record");
        assert!(!text.contains("planted-secret-value"), "{file}");
    }
}

async fn z7_a_key_that_a_command_prints_is_kept_nowhere(tier: Tier) {
    let key = "zq7supervised0key0value";
    let world = World::with(tier, |options| options.secrets = vec![Secret::new(key)]);
    // In two writes, and in hex.
    let command = "printf 'it is zq7super'; sleep 0.1; printf 'vised0key0value, as hex '; \
                   printf zq7super%s vised0key0value | od -An -tx1 | tr -d ' \\n'; echo .";
    let outcome = world.run(world.spec(1, command)).await;
    let clean = "it is [redacted: secret], as hex [redacted: secret in hex].\n";
    assert_eq!((outcome.output.as_str(), outcome.bytes), (clean, clean.len() as u64));
    let file = |name: &str| std::fs::read_to_string(world.record(1).join(name)).expect("a record");
    assert_eq!(file("output"), clean);
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    for name in ["started.json", "end.json", "output"] {
        assert!(!file(name).contains(key) && !file(name).contains(&hex), "{name}");
    }
}

async fn t8_a_gigabyte_of_output_takes_bounded_memory(tier: Tier) {
    let world = World::with(tier, |options| options.limits.output_file_bytes = 1 << 20);
    let command = "echo first; yes | head -c 1G; grep VmHWM /proc/$PPID/status; echo last";
    // Every byte is searched for secrets, unoptimised here; how long that takes is a benchmark's question.
    let spec = CommandSpec { keep_bytes: 4096, timeout_ms: 600_000, ..world.spec(1, command) };
    let outcome = world.run(spec).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 });
    assert!(outcome.bytes > 1 << 30);
    assert!(outcome.output.len() <= 4096 && outcome.output.starts_with("first\ny\ny\n"));
    assert!(outcome.output.ends_with("last\n"));
    let peak = outcome.output.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.trim().strip_suffix(" kB")).expect("a line of status");
    let peak: u64 = peak.trim().parse().expect("a number");
    assert!(peak < 20_000, "the supervisor took {peak} kB");
    let file = std::fs::metadata(world.record(1).join("output")).expect("its output");
    assert_eq!(file.len(), 1 << 20);
}

async fn d6_what_a_foreground_command_leaves_behind_is_ended(tier: Tier) {
    let world = World::new(tier);
    // Each of them keeps the shell's output open; the shell waits until all three are there.
    let command = "mkfifo up; exec 3<>up; \
                   setsid sh -c 'echo up >&3; exec sleep 1000' & \
                   (nohup sh -c 'trap \"\" TERM HUP; echo up >&3; sleep 1000; sleep 1000' &); \
                   ( (setsid sh -c 'echo up >&3; exec sleep 1000' &) & ); \
                   read -u 3 a; read -u 3 b; read -u 3 c; echo done";
    let began = Instant::now();
    let outcome = world.run(world.spec(1, command)).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 });
    assert!(outcome.output.contains("that outlived the command were ended"), "{}", outcome.output);
    assert!(began.elapsed() < Duration::from_secs(300), "their open output held up the end");
    assert_eq!(world.alive().len(), 0);
}

async fn t8_output_written_just_after_the_shell_ended_is_kept(tier: Tier) {
    // It is waited for only so long: on a machine with other work `cat` may be too late.
    let mut outputs = Vec::new();
    for _ in 0..30 {
        let world = World::new(tier);
        let outcome = world.run(world.spec(1, "echo text > >(sleep 0.02; cat)")).await;
        assert_eq!(outcome.end, CommandEnd::Exited { code: 0 });
        if outcome.output == "text\n" {
            return;
        }
        outputs.push(outcome.output);
    }
    panic!("{outputs:?}");
}

#[tokio::test]
async fn d6_a_command_that_kills_its_supervisor_is_ended() {
    let world = World::new(Tier::None);
    let command = "mkfifo go; (setsid sleep 1000 &); echo begun; read x < go; kill -9 $PPID; \
                   sleep 1000";
    let mut run = world.watch(world.spec(1, command));
    // A supervisor that was killed cannot pass on what it has not read.
    run.shows("begun\n", 1).await;
    std::fs::write(world.state.path().join("go"), "\n").expect("the command reads it");
    let outcome = run.end().await;
    assert_eq!(outcome.end, CommandEnd::Signaled { signal: 9 });
    assert!(outcome.output.starts_with("begun\n[its supervisor was ended"), "{}", outcome.output);
    assert_eq!(alive_after(&world.alive(), crate::world::PATIENCE).len(), 0);
    let trace = world.processes.command_trace(&session(), CallId(1)).await;
    assert_eq!(trace, CommandTrace::Ended(outcome));
}
