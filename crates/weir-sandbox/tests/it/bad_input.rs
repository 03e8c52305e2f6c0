//! Commands that cannot be started say why and what to do, and leave nothing behind.

use weir_core::ids::{CallId, SessionId};
use weir_core::tool::Tier;
use weir_engine::ports::{CommandEnd, CommandSpec, CommandTrace, Processes};
use weir_sandbox::SupervisorOptions;

use crate::world::{World, session};

async fn why(world: &World, spec: CommandSpec) -> String {
    let started = world.processes.start_job(spec.clone()).await.map(|info| info.job);
    let outcome = world.run(spec).await;
    let CommandEnd::NotStarted { why } = outcome.end else { panic!("{outcome:?}") };
    assert!(started.is_err(), "as a job it started");
    why
}

#[tokio::test]
async fn t6_a_nul_byte_a_missing_folder_a_huge_command() {
    let world = World::new(Tier::None);
    let text = why(&world, world.spec(1, "echo \0")).await;
    assert!(text.contains("NUL byte"), "{text}");
    let nowhere = CommandSpec { cwd: "/does/not/exist".into(), ..world.spec(2, "true") };
    let text = why(&world, nowhere).await;
    assert!(text.contains("/does/not/exist does not exist"), "{text}");
    let text = why(&world, world.spec(4, &format!("# {}", "\u{1}".repeat(3 << 20)))).await;
    assert!(text.contains("write it to a file"), "{text}");
    // Short enough for us, too long for the kernel.
    let outcome = world.run(world.spec(3, &format!("# {}", "x".repeat(200 << 10)))).await;
    let expected = "the command is 204802 bytes long, more than the system accepts";
    assert!(
        matches!(&outcome.end, CommandEnd::NotStarted { why } if why.starts_with(expected)),
        "{outcome:?}"
    );
    let trace = world.processes.command_trace(&session(), CallId(3)).await;
    assert_eq!(trace, CommandTrace::Ended(outcome));
}

#[tokio::test]
async fn t6_a_program_that_is_no_supervisor() {
    let with = |program: &str| {
        World::with(Tier::None, |options: &mut SupervisorOptions| options.program = program.into())
    };
    let missing = with("/does/not/exist");
    let text = why(&missing, missing.spec(1, "true")).await;
    assert!(text.contains("/does/not/exist cannot be started"), "{text}");
    for program in ["/bin/true", "/bin/false"] {
        let world = with(program);
        let outcome = world.run(world.spec(1, "true")).await;
        assert!(matches!(outcome.end, CommandEnd::NotStarted { .. }), "{outcome:?}");
        let trace = world.processes.command_trace(&session(), CallId(1)).await;
        assert_eq!(trace, CommandTrace::NeverStarted);
    }
}

#[tokio::test]
async fn t6_a_state_folder_that_cannot_be_written() {
    let world = World::with(Tier::None, |options| options.state_dir = "/proc/nowhere".into());
    let text = why(&world, world.spec(1, "true")).await;
    assert!(text.contains("its record in /proc/nowhere/jobs/s1/c1 cannot be made"), "{text}");
}

#[tokio::test]
async fn d9_a_session_id_cannot_lead_out_of_the_state_folder() {
    let world = World::new(Tier::None);
    let spec = CommandSpec {
        session: SessionId::new("../../escape"),
        ..world.spec(1, "echo \"$WEIR_SUPERVISED\"")
    };
    let outcome = world.run(spec).await;
    let jobs = world.state.path().join("jobs");
    assert!(outcome.output.starts_with(&*jobs.to_string_lossy()), "{}", outcome.output);
    assert!(!outcome.output.contains(".."), "{}", outcome.output);
}

#[tokio::test]
async fn the_hidden_subcommand_tells_a_person_that_it_is_not_for_people() {
    let output = std::process::Command::new(crate::world::program())
        .args(["__supervise", "/tmp/nothing"])
        .output()
        .expect("the example starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by weir itself"));
}
