//! What a supervisor costs: the same command bare and supervised, in one run (Q13).
//!
//! The bench is its own supervisor program.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId};
use weir_engine::ports::{
    CommandConfinement, CommandEnd, CommandSpec, Processes, ProgressSink, Variables,
};
use weir_sandbox::{
    CommandLimits, EnvironmentLending, SupervisedProcesses, SupervisorOptions, Tier, TierWish,
    filtered_environment,
};

fn main() -> std::process::ExitCode {
    if std::env::args_os().nth(1).is_some_and(|first| first == "__supervise") {
        return weir_sandbox::supervise_main();
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == weir_sandbox::INSIDE) {
        return weir_sandbox::inside_main();
    }
    divan::main();
    std::process::ExitCode::SUCCESS
}

/// As a workspace has it: one writable folder, a few guarded and hidden paths.
fn confine(tier: Tier, state: &std::path::Path) -> CommandConfinement {
    let ws = state.join("ws");
    std::fs::create_dir_all(ws.join(".git/hooks")).expect("a folder of our own");
    std::fs::write(ws.join(".env"), "").expect("a file of our own");
    CommandConfinement {
        tier,
        protected: [".git/hooks", ".git/config", ".weir"].map(|name| ws.join(name)).into(),
        masked: vec![ws.join(".env"), state.join("jobs")],
        writable: vec![ws],
        ..CommandConfinement::default()
    }
}

/// What the first command of a program waits for.
#[divan::bench(sample_count = 1, sample_size = 1)]
fn probe() -> weir_sandbox::TierReport {
    let program = std::env::current_exe().expect("this program has a path");
    weir_sandbox::probe_tiers(TierWish::Auto, &program)
}

#[divan::bench]
fn bare(bencher: divan::Bencher<'_, '_>) {
    bencher.bench(|| {
        std::process::Command::new("/bin/bash").args(["-c", "true"]).output().map(|out| out.status)
    });
}

#[divan::bench(args = ["none", "landlock", "bubblewrap", "namespaces"])]
fn supervised(bencher: divan::Bencher<'_, '_>, tier: &str) {
    let tiers = [Tier::None, Tier::Landlock, Tier::Bubblewrap, Tier::Namespaces];
    let tier = tiers.into_iter().find(|of| of.as_str() == tier).expect("one of the names above");
    let program = std::env::current_exe().expect("this program has a path");
    // A kind that does not work here has no figure.
    if tier != Tier::None && !weir_sandbox::probe_tiers(TierWish::Exactly(tier), &program).works {
        return;
    }
    let state = tempfile::tempdir().expect("a temporary folder");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime without special wishes");
    let processes = SupervisedProcesses::new(SupervisorOptions {
        program,
        args: vec!["__supervise".into()],
        state_dir: state.path().to_path_buf(),
        environment: filtered_environment(std::env::vars_os(), &[]),
        lending: EnvironmentLending::default(),
        secrets: Vec::new(),
        limits: CommandLimits::default(),
        tier: TierWish::Exactly(tier),
        egress: None,
    });
    let number = AtomicU32::new(0);
    bencher.bench(|| {
        let spec = CommandSpec {
            session: SessionId::new("bench"),
            call: CallId(number.fetch_add(1, Ordering::Relaxed)),
            command: "true".into(),
            cwd: "/".into(),
            timeout_ms: 10_000,
            keep_bytes: 10_000,
            background: false,
            terminal: false,
            confine: confine(tier, state.path()),
            variables: Variables::Listed,
            secrets: Vec::new(),
        };
        let cancel = CancellationToken::new();
        let outcome = runtime.block_on(processes.run(spec, &ProgressSink::none(), &cancel));
        assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{}", outcome.output);
    });
}
