//! Commands in a terminal of their own (R7): what they see of it, how they end, what is fed to them, and
//! that nothing of them outlives them. Not here: tools (`weir-tools`).

use weir_core::tool::Tier;
use weir_engine::ports::{CommandEnd, CommandSpec, Processes};

use crate::world::{World, session};

under_each_tier!(
    r7_a_command_in_a_terminal_sees_one_and_ends_as_it_would,
    r7_who_reads_in_a_terminal_finds_the_end_of_input,
    r7_a_job_in_a_terminal_reads_what_is_fed_to_it,
    r7_a_command_in_a_terminal_is_ended_whole,
    r7_what_a_command_leaves_in_its_terminal_ends_with_it,
    r7_a_terminal_passes_on_much_output_whole,
);

fn in_terminal(world: &World, call: u32, command: &str) -> CommandSpec {
    CommandSpec { terminal: true, ..world.spec(call, command) }
}

async fn r7_a_command_in_a_terminal_sees_one_and_ends_as_it_would(tier: Tier) {
    let world = World::new(tier);
    let command = "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size; : </dev/tty && echo own; \
                   echo $TERM; printf 'a\\nb\\n'; exit 7";
    let outcome = world.run(in_terminal(&world, 1, command)).await;
    assert_eq!(outcome.output, "yes\n40 120\nown\nxterm-256color\na\nb\n", "{outcome:?}");
    assert_eq!(outcome.end, CommandEnd::Exited { code: 7 });
    let outcome = world.run(in_terminal(&world, 2, "kill -TERM $$")).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 143 }, "{outcome:?}");
    let outcome = world.run(world.spec(3, "test -t 1 || echo none")).await;
    assert_eq!(outcome.output, "none\n", "only who asks for one has one");
    assert_eq!(world.alive().len(), 0);
}

async fn r7_who_reads_in_a_terminal_finds_the_end_of_input(tier: Tier) {
    let world = World::new(tier);
    let outcome = world.run(in_terminal(&world, 1, "cat; read -r line; echo over")).await;
    assert_eq!(
        (outcome.output.as_str(), &outcome.end),
        ("over\n", &CommandEnd::Exited { code: 0 })
    );
}

async fn r7_a_job_in_a_terminal_reads_what_is_fed_to_it(tier: Tier) {
    let world = World::new(tier);
    let command =
        "test -t 0 && echo ready; while read -r line; do echo \"got $line\"; done; echo over";
    world.processes.start_job(in_terminal(&world, 1, command)).await.expect("it starts");
    let read = async |mark: &str| loop {
        let read = world.processes.read_job_output(&session(), "j1", 0, 1 << 20).await;
        let (info, text) = read.expect("the job is known");
        if text.contains(mark) {
            return text;
        }
        assert_eq!(info.end, None, "{mark:?} is not in {text:?}");
        tokio::task::yield_now().await;
    };
    read("ready\n").await;
    world.processes.write_job_input(&session(), "j1", "one\ntwo\n").await.expect("it reads");
    assert_eq!(read("got two\n").await, "ready\ngot one\ngot two\n", "it is not shown twice");
    // What a person types to say that nothing more comes.
    world.processes.write_job_input(&session(), "j1", "\u{4}").await.expect("it reads");
    read("over\n").await;
}

async fn r7_a_command_in_a_terminal_is_ended_whole(tier: Tier) {
    let world = World::new(tier);
    let spec = in_terminal(&world, 1, "trap '' HUP TERM INT; setsid sleep 1000 & sleep 1000");
    let outcome = world.run(CommandSpec { timeout_ms: 500, ..spec }).await;
    assert_eq!(outcome.end, CommandEnd::TimedOut, "{outcome:?}");
    assert!(world.alive().is_empty());
}

async fn r7_what_a_command_leaves_in_its_terminal_ends_with_it(tier: Tier) {
    let world = World::new(tier);
    let outcome = world.run(in_terminal(&world, 1, "sleep 1000 & echo begun")).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
    assert_eq!(outcome.output, "begun\n");
    assert!(world.alive().is_empty());
}

async fn r7_a_terminal_passes_on_much_output_whole(tier: Tier) {
    let world = World::new(tier);
    let spec = in_terminal(&world, 1, "seq 1 50000");
    let outcome = world.run(CommandSpec { keep_bytes: 1 << 20, ..spec }).await;
    let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
    assert!(outcome.output == expected, "{} bytes", outcome.output.len());
}
