//! A state folder, an engine's side of supervised commands, and a look at `/proc`.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId};
use weir_engine::ports::{
    CommandConfinement, CommandOutcome, CommandSpec, Processes, ProgressSink, Variables,
};
use weir_sandbox::{
    CommandLimits, EnvironmentLending, SupervisedProcesses, SupervisorOptions, Tier, TierWish,
    filtered_environment, probe_tiers,
};
use weir_test_kit::skip_test;

/// The example that is the supervisor, and the engine that is killed.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(Path::parent).expect("tests are built two folders deep");
    let program = target.join("examples/supervise");
    assert!(program.exists(), "{} is built by `cargo test`", program.display());
    program
}

/// How long anything may take whose time is not what is looked at.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn session() -> SessionId {
    SessionId::new("s1")
}

/// Each of these functions as a test under each tier.
macro_rules! under_each_tier {
    ($($name:ident),* $(,)?) => {
        under_each_tier!(@ none, None, $($name),*);
        under_confining_tiers!($($name),*);
    };
    (@ $module:ident, $tier:ident, $($name:ident),*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    let tier = weir_core::tool::Tier::$tier;
                    if crate::world::is_there(tier) {
                        super::$name(tier).await;
                    }
                }
            )*
        }
    };
}

/// The same for the tiers in which a command has files, processes and a network of its own.
macro_rules! under_tiers_with_own_view {
    ($($name:ident),* $(,)?) => {
        under_each_tier!(@ bubblewrap, Bubblewrap, $($name),*);
        under_each_tier!(@ namespaces, Namespaces, $($name),*);
    };
}

/// The same for the tiers that confine.
macro_rules! under_confining_tiers {
    ($($name:ident),* $(,)?) => {
        under_each_tier!(@ landlock, Landlock, $($name),*);
        under_tiers_with_own_view!($($name),*);
    };
}

/// Whether a tier works on this machine. A machine that counts must have all of them.
pub(crate) fn is_there(tier: Tier) -> bool {
    let report = probe_tiers(TierWish::Exactly(tier), &program());
    if !report.works {
        skip_test(format!("{} does not work here: {:?}", tier.as_str(), report.tiers));
    }
    report.works
}

pub(crate) struct World {
    pub(crate) state: TempDir,
    pub(crate) processes: Arc<SupervisedProcesses>,
    pub(crate) tier: Tier,
}

impl World {
    pub(crate) fn new(tier: Tier) -> World {
        World::with(tier, |_| ())
    }

    pub(crate) fn with(tier: Tier, change: impl FnOnce(&mut SupervisorOptions)) -> World {
        World::at(tempfile::tempdir().expect("a temporary folder"), tier, change)
    }

    pub(crate) fn at(
        state: TempDir,
        tier: Tier,
        change: impl FnOnce(&mut SupervisorOptions),
    ) -> World {
        let mut options = SupervisorOptions {
            program: program(),
            args: vec!["__supervise".into()],
            state_dir: state.path().to_path_buf(),
            environment: filtered_environment(std::env::vars_os(), &[]),
            lending: EnvironmentLending::default(),
            secrets: Vec::new(),
            limits: CommandLimits::default(),
            tier: TierWish::Exactly(tier),
            egress: None,
        };
        change(&mut options);
        let processes = Arc::new(SupervisedProcesses::new(options));
        World { state, processes, tier }
    }

    pub(crate) fn spec(&self, call: u32, command: &str) -> CommandSpec {
        CommandSpec {
            session: session(),
            call: CallId(call),
            command: command.to_string(),
            cwd: self.state.path().to_path_buf(),
            // For what hangs alone; where a limit is what is looked at, the test sets its own.
            timeout_ms: 300_000,
            keep_bytes: 10_000,
            background: false,
            terminal: false,
            confine: CommandConfinement {
                tier: self.tier,
                writable: vec![self.state.path().to_path_buf()],
                ..CommandConfinement::default()
            },
            variables: Variables::Listed,
            secrets: Vec::new(),
        }
    }

    pub(crate) async fn run(&self, spec: CommandSpec) -> CommandOutcome {
        self.processes.run(spec, &ProgressSink::none(), &CancellationToken::new()).await
    }

    /// Starts a command and gives its text as it comes.
    pub(crate) fn watch(&self, spec: CommandSpec) -> Running {
        let (send, text) = mpsc::unbounded_channel();
        let progress = ProgressSink::new(move |text| {
            let _ = send.send(text.to_string());
        });
        let cancel = CancellationToken::new();
        let (processes, token) = (Arc::clone(&self.processes), cancel.clone());
        let outcome = tokio::spawn(async move { processes.run(spec, &progress, &token).await });
        Running { text, seen: String::new(), cancel, outcome }
    }

    /// Living processes of this world, the supervisors included.
    pub(crate) fn alive(&self) -> Vec<Seen> {
        mentioning(&self.state.path().to_string_lossy())
    }

    pub(crate) fn record(&self, call: u32) -> PathBuf {
        self.state.path().join(format!("jobs/s1/c{call}"))
    }
}

/// A test that failed leaves nothing to the next one.
impl Drop for World {
    fn drop(&mut self) {
        for _ in 0..100 {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            for seen in alive {
                let _ = rustix::process::pidfd_send_signal(&seen.handle, Signal::KILL);
            }
        }
    }
}

pub(crate) struct Running {
    text: mpsc::UnboundedReceiver<String>,
    seen: String,
    pub(crate) cancel: CancellationToken,
    pub(crate) outcome: tokio::task::JoinHandle<CommandOutcome>,
}

impl Running {
    /// Waits until `mark` was shown `count` times.
    pub(crate) async fn shows(&mut self, mark: &str, count: usize) {
        while self.seen.matches(mark).count() < count {
            let text = self.text.recv().await;
            let seen = &self.seen;
            self.seen = seen.clone() + &text.unwrap_or_else(|| panic!("{mark} missing in {seen}"));
        }
    }

    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    pub(crate) async fn end(self) -> CommandOutcome {
        self.outcome.await.expect("a run does not panic")
    }
}

/// A process that was alive when it was looked at.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) pid: i32,
    pub(crate) what: String,
    handle: OwnedFd,
}

/// Living processes, this one excluded, that `text` appears in: arguments or environment.
pub(crate) fn mentioning(text: &str) -> Vec<Seen> {
    let own = std::process::id().cast_signed();
    living(|pid| {
        let read = |file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let all = [read("cmdline"), read("environ")].concat();
        pid != own && String::from_utf8_lossy(&all).contains(text)
    })
}

/// Living processes below `root`.
pub(crate) fn below(root: i32) -> Vec<Seen> {
    let parents: std::collections::HashMap<i32, i32> =
        pids().into_iter().filter_map(|pid| Some((pid, stat(pid)?.1))).collect();
    living(|pid| {
        let mut at = pid;
        for _ in 0..100 {
            match parents.get(&at) {
                Some(parent) if *parent == root => return true,
                Some(parent) => at = *parent,
                None => return false,
            }
        }
        false
    })
}

/// Those of `seen` that still live when the time is over.
pub(crate) fn alive_after(seen: &[Seen], time: Duration) -> Vec<&Seen> {
    let until = Instant::now() + time;
    seen.iter()
        .filter(|process| {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).expect("a short time");
            let mut fds = [PollFd::new(&process.handle, PollFlags::IN)];
            rustix::event::poll(&mut fds, Some(&timeout)).expect("a handle of a process") == 0
        })
        .collect()
}

fn living(wanted: impl Fn(i32) -> bool) -> Vec<Seen> {
    pids()
        .into_iter()
        .filter(|pid| wanted(*pid))
        .filter_map(|pid| {
            let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
            let (state, _) = stat(pid)?;
            let what = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let what = String::from_utf8_lossy(&what).replace('\0', " ");
            (state != 'Z').then_some(Seen { pid, what, handle })
        })
        .collect()
}

fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").expect("a mounted /proc");
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn stat(pid: i32) -> Option<(char, i32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
