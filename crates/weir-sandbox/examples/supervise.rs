//! A program as small as it can be that has the hidden subcommand: what the tests of this crate
//! start as supervisor, and as the engine that they kill. It is not shipped.
//!
//! `supervise __supervise …` is the subcommand. `supervise engine TIER STATE fg:COMMAND bg:COMMAND …`
//! runs each command as call 1, 2, … of session `engine` and shows the output of the first kind.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId};
use weir_engine::ports::{CommandConfinement, CommandSpec, Processes, ProgressSink, Variables};
use weir_sandbox::{
    CommandLimits, EnvironmentLending, SupervisedProcesses, SupervisorOptions, Tier, TierWish,
    filtered_environment,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [first, ..] if first == "__supervise" => weir_sandbox::supervise_main(),
        [first, ..] if first == weir_sandbox::INSIDE => weir_sandbox::inside_main(),
        [first, ..] if first == weir_sandbox::TERMINAL => weir_sandbox::terminal_main(),
        [first, tier, state, commands @ ..] if first == "engine" => {
            engine(tier_named(tier), state.into(), commands)
        }
        _ => ExitCode::FAILURE,
    }
}

fn tier_named(name: &str) -> Tier {
    let tiers = [Tier::None, Tier::Landlock, Tier::Bubblewrap, Tier::Namespaces];
    tiers.into_iter().find(|tier| tier.as_str() == name).unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn engine(tier: Tier, state_dir: PathBuf, commands: &[String]) -> ExitCode {
    let Ok(program) = std::env::current_exe() else { return ExitCode::FAILURE };
    let processes = SupervisedProcesses::new(SupervisorOptions {
        program,
        args: vec!["__supervise".into()],
        state_dir,
        environment: filtered_environment(std::env::vars_os(), &[]),
        lending: EnvironmentLending::default(),
        secrets: Vec::new(),
        limits: CommandLimits::default(),
        tier: TierWish::Exactly(tier),
        egress: None,
    });
    let show = ProgressSink::new(|text| {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    });
    let cancel = CancellationToken::new();
    let mut foreground = Vec::new();
    for (number, command) in (1..).zip(commands) {
        let spec = CommandSpec {
            session: SessionId::new("engine"),
            call: CallId(number),
            command: command[3..].to_string(),
            cwd: "/".into(),
            timeout_ms: 60_000,
            keep_bytes: 10_000,
            background: command.starts_with("bg:"),
            terminal: false,
            confine: CommandConfinement { tier, ..CommandConfinement::default() },
            variables: Variables::Listed,
            secrets: Vec::new(),
        };
        if spec.background {
            if processes.start_job(spec).await.is_err() {
                return ExitCode::FAILURE;
            }
        } else {
            foreground.push(processes.run(spec, &show, &cancel));
        }
    }
    let running = foreground.into_iter();
    let mut running: Vec<_> = running.collect();
    // Polled together: each shows that it is ready, and then the test kills all of this.
    std::future::poll_fn(|context| {
        running.retain_mut(|run| run.as_mut().poll(context).is_pending());
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    std::future::pending().await
}
