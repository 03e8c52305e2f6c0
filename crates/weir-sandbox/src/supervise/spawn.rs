//! Starts the command's shell, confined as its request says. Not here: watching it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Resource, Rlimit};
use weir_core::tool::Tier;
use weir_seccomp_notify::CallListener;

use super::inherited::shell_words;
use super::mediator::{self, GrantedServers, MediatorRights, ThreadHandover};
use super::own_stream;
use super::placeholder::{Placeholder, can_be_held};
use crate::crossing::{self, PortDestination};
use crate::history::{self, GitHistories};
use crate::inside_orders::{INSIDE, InsideMessage, InsideOrders, SandboxStage};
use crate::places::ConfinedPlaces;
use crate::pseudo_terminal::words_in_terminal;
use crate::record::{CommandRecord, remove_tree};
use crate::tier::bubblewrap::{self, HELPER};
use crate::tier::landlock::ExtraAllowances;
use crate::tier::mounts::{self, Mount, MountVeil, OutsideFiles};
use crate::tier::namespaces::SandboxLayout;
use crate::tier::{self, NOT_BUILT, seccomp};
use crate::wire::CommandRequest;

/// The port at which the proxy is found inside a network namespace, where that was not granted.
const INSIDE_PORT: u16 = 3128;

/// How long a sandbox may take to be built.
const BUILD_PATIENCE: Duration = Duration::from_secs(20);

/// Processes of one command where nothing else is set, in namespaces that count by themselves.
const PROCESSES_MAX: u64 = 4096;

/// The list of hidden files for git, in the temporary folder of a command.
const GIT_IGNORE: &str = "git-ignore";

/// What may be said before the command starts.
const SAID_BYTES_MAX: usize = 16 << 10;

/// What runs, and what must be kept as long.
pub(super) struct SpawnedCommand {
    /// The process that is the command, or stands for it.
    pub(super) pid: Pid,
    /// Words from inside, when it only stands for it.
    pub(super) words: Option<InsideMessages>,
    /// Given back when the command is over.
    pub(super) held: HeldResources,
}

/// Things that exist while a command runs.
#[derive(Default)]
pub(super) struct HeldResources {
    histories: GitHistories,
    placeholders: Vec<Placeholder>,
    tmp: Option<PathBuf>,
}

impl HeldResources {
    /// What lies in the workspace goes before anybody is told that the command is over.
    pub(super) fn give_back_places(&mut self) {
        self.placeholders.clear();
    }

    /// The same, while it can still be told what was not kept.
    pub(super) fn carry_over(&mut self) -> Vec<String> {
        self.histories.carry_over()
    }
}

impl Drop for HeldResources {
    fn drop(&mut self) {
        if let Some(tmp) = self.tmp.take() {
            // What is left goes with the record.
            let _ = remove_tree(&tmp);
        }
    }
}

/// What is to be started.
#[derive(Clone, Copy)]
pub(super) struct SpawnRequest<'a> {
    pub(super) request: &'a CommandRequest,
    pub(super) record: &'a CommandRecord,
    /// Open in this process, where nothing could close it, and not to be open in the command.
    pub(super) still_open: &'a [u32],
}

impl SpawnRequest<'_> {
    fn shell_words(&self) -> Vec<OsString> {
        let words = shell_words(tier::shell_path(), &self.request.command, self.still_open);
        match self.request.terminal {
            true => words_in_terminal(words),
            false => words,
        }
    }
}

/// Starts it.
///
/// # Errors
/// Why not; nothing runs then.
pub(super) fn spawn_command(
    wanted: SpawnRequest<'_>,
    output: OwnedFd,
) -> Result<SpawnedCommand, String> {
    let request = wanted.request;
    let cpu = rustix::process::getrlimit(Resource::Cpu);
    limit_resources(request).map_err(|error| format!("its limits cannot be set: {error}"))?;
    let spawned = match request.confine.tier {
        Tier::None => spawn_unconfined(wanted, output),
        Tier::Landlock => in_landlock(wanted, output),
        Tier::Bubblewrap | Tier::Namespaces => in_namespaces(wanted, &output),
    };
    // The limit is for the command: the supervisor takes its own back.
    let _ = rustix::process::setrlimit(Resource::Cpu, cpu);
    let spawned = spawned?;
    if let Some(seconds) = request.limits.cpu_seconds {
        // Soft by inheritance, hard from here: a process has a few seconds to see the signal.
        let hard = Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(5)) };
        let _ = rustix::process::prlimit(Some(spawned.pid), Resource::Cpu, hard);
    }
    Ok(spawned)
}

fn spawn_unconfined(wanted: SpawnRequest<'_>, output: OwnedFd) -> Result<SpawnedCommand, String> {
    let mut command = shell_command(wanted, output)?;
    let pid = from_thread(wanted.request, &mut command, || {
        rustix::thread::set_no_new_privs(true).map_err(|error| error.to_string())
    })?;
    Ok(SpawnedCommand { pid, words: None, held: HeldResources::default() })
}

fn in_landlock(wanted: SpawnRequest<'_>, output: OwnedFd) -> Result<SpawnedCommand, String> {
    let SpawnRequest { request, record, .. } = wanted;
    let places = command_places(request)?;
    let tmp = record.dir().join("tmp");
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&tmp)
        .map_err(|error| format!("its temporary folder: {error}"))?;
    let (histories, placeholders) = (GitHistories::default(), Vec::new());
    let held = HeldResources { histories, placeholders, tmp: Some(tmp.clone()) };
    let tmp = tmp.canonicalize().map_err(|error| format!("its temporary folder: {error}"))?;
    let mut command = shell_command(wanted, output)?;
    command.env("TMPDIR", &tmp);
    ignore_hidden_files(&mut command, &places, &tmp)
        .map_err(|error| format!("its list of hidden files: {error}"))?;
    if let Some(way) = &request.way {
        // Some programs send no user name without a password; it says nothing.
        let (word, port) = (&way.word, way.port);
        set_proxy_variables(&mut command, &format!("http://{word}:weir@127.0.0.1:{port}"));
    }
    let granted = GrantedServers {
        proxy: request.way.as_ref().map(|way| way.port),
        ports: request.confine.ports.clone(),
        sockets: places.sockets.clone(),
    };
    let filter = seccomp::mediated_filter(mediated_openings(&places))?;
    let (hand_over, handed) = mpsc::channel();
    mediator::start_mediator(MediatorRights::new(&places, &tmp, granted), handed)
        .map_err(|error| format!("its mediator cannot be started: {error}"))?;
    let extra = ExtraAllowances { tmp: Some(tmp), nameless: mediator::nameless_files(&places) };
    let pid = from_thread(request, &mut command, || {
        let held = tier::confine_thread(&places, &extra, seccomp::SocketPolicy::Mediated)?;
        // The last thing: from here on calls of this thread wait as well.
        let listener = CallListener::install(&filter)
            .map_err(|error| format!("calls cannot be mediated: {error}"))?;
        let (readable, nameless) = (held.readable, extra.nameless);
        let handed = ThreadHandover { listener, readable, nameless };
        hand_over.send(handed).map_err(|_| "its mediator ended at once".to_string())
    })?;
    Ok(SpawnedCommand { pid, words: None, held })
}

/// Git cannot read what is hidden, and `git add -A` would end at it: for this command a list in the place of
/// the person's own ignores it too (A13).
fn ignore_hidden_files(
    command: &mut Command,
    places: &ConfinedPlaces,
    tmp: &Path,
) -> io::Result<()> {
    // The supervisor has the environment that the command will have.
    let value = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if value("GIT_CONFIG_COUNT").is_some() {
        return Ok(());
    }
    let home = value("HOME").unwrap_or_default();
    let config = value("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("git");
    let settings =
        [home.join(".gitconfig"), config.join("config"), PathBuf::from("/etc/gitconfig")];
    let Some(list) = history::ignore_list(places, &config.join("ignore"), &settings) else {
        return Ok(());
    };
    let path = tmp.join(GIT_IGNORE);
    fs::write(&path, list)?;
    command.env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "core.excludesFile").env("GIT_CONFIG_VALUE_0", path);
    Ok(())
}

/// What is hidden inside a folder that may be written closes that folder for reading, and then new
/// files in it are read by the mediator.
fn mediated_openings(places: &ConfinedPlaces) -> seccomp::MediatedOpenings {
    match places.masked.iter().any(|path| places.is_writable(path)) {
        true => seccomp::MediatedOpenings::All,
        false => seccomp::MediatedOpenings::Writing,
    }
}

/// Starts it from a thread that confined itself: what the thread gave up, the command inherits, and
/// the supervisor keeps what it needs.
fn from_thread(
    request: &CommandRequest,
    command: &mut Command,
    confine: impl FnOnce() -> Result<(), String> + Send,
) -> Result<Pid, String> {
    let child = std::thread::scope(|scope| {
        let launcher = scope.spawn(|| {
            confine()?;
            command.spawn().map_err(|error| explain_start_error(request, &error))
        });
        launcher.join().unwrap_or_else(|_| Err("the launcher panicked".into()))
    })?;
    pid_of(child.id())
}

fn pid_of(id: u32) -> Result<Pid, String> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| "the command has no process id".into())
}

/// What was looked up may be gone when it is mounted (a temporary file, a socket): nothing has run
/// then, and it is looked up again.
fn in_namespaces(wanted: SpawnRequest<'_>, output: &OwnedFd) -> Result<SpawnedCommand, String> {
    // The state folder may be reached by a link, and what is mounted is not.
    let record = wanted.record.dir().canonicalize();
    let veil = record.and_then(|record| create_veil(&record));
    let veil = veil.map_err(|error| format!("its record: {error}"))?;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let output = output.try_clone().map_err(|error| error.to_string())?;
        match spawn_in_sandbox(wanted, &veil, output) {
            Err(why) if why.starts_with(NOT_BUILT) && attempts < tier::BUILDS_MAX => {}
            other => return other,
        }
    }
}

/// A program that builds the sandbox, with all that it needs to be told.
struct SandboxBuilder {
    command: Command,
    /// Handed over before the streams of the command.
    layout: Option<OwnedFd>,
    /// Open until it is started.
    handles: Vec<OwnedFd>,
}

impl SandboxBuilder {
    /// The other program.
    fn with_bubblewrap(
        program: &Path,
        mounts: &[Mount],
        orders: &InsideOrders,
        cwd: &Path,
    ) -> Result<Self, String> {
        let plan = bubblewrap::plan_arguments(mounts, cwd)?;
        let mut command = Command::new(program);
        command.args(&plan.arguments).arg("--").args([HELPER, INSIDE]).arg(words_of(orders)?);
        Ok(SandboxBuilder { command, layout: None, handles: plan.handles })
    }

    /// This one.
    fn with_own_helper(
        helper: &Path,
        mounts: Vec<Mount>,
        orders: InsideOrders,
        cwd: &Path,
    ) -> Result<Self, String> {
        let layout = SandboxLayout { mounts, cwd: cwd.to_path_buf(), only_tried: false };
        let layout = tier::in_memory(&layout).map_err(|error| format!("its layout: {error}"))?;
        let mut command = Command::new(helper);
        let orders = InsideOrders { room: Some(SandboxStage::Outside), ..orders };
        command.arg(INSIDE).arg(words_of(&orders)?).env("TMPDIR", "/tmp");
        Ok(SandboxBuilder { command, layout: Some(layout), handles: Vec::new() })
    }
}

fn words_of(orders: &InsideOrders) -> Result<String, String> {
    serde_json::to_string(orders).map_err(|error| error.to_string())
}

fn spawn_in_sandbox(
    wanted: SpawnRequest<'_>,
    veil: &MountVeil,
    output: OwnedFd,
) -> Result<SpawnedCommand, String> {
    let request = wanted.request;
    let mut places = command_places(request)?;
    let held = hold_resources(&mut places, wanted.record)?;
    let helper = std::env::current_exe()
        .map_err(|error| format!("this program cannot be found any more: {error}"))?;
    let histories = held.histories.all.clone();
    let mut outside = OutsideFiles { veil: veil.clone(), shown: Vec::new(), histories };
    let orders = InsideOrders {
        cpu_seconds: request.limits.cpu_seconds,
        processes: request.limits.processes.unwrap_or(PROCESSES_MAX),
        ports: ways_out(request).into_keys().collect(),
        serves: request.confine.serves.clone(),
        room: None,
    };
    let builder = if request.confine.tier == Tier::Namespaces {
        let mounts = mounts::list_mounts(&places, &outside)?;
        SandboxBuilder::with_own_helper(&helper, mounts, orders, &places.cwd)?
    } else {
        let program = request.bubblewrap.clone().ok_or("nobody said where bubblewrap is")?;
        if places.is_writable(&program) {
            return Err(format!("{} can be changed by the command", program.display()));
        }
        outside.shown.push((helper, HELPER.into()));
        SandboxBuilder::with_bubblewrap(
            &program,
            &mounts::list_mounts(&places, &outside)?,
            &orders,
            &places.cwd,
        )?
    };
    start_builder(wanted, builder, output, held)
}

/// What exists while the command runs, in the workspace and beside its record.
fn hold_resources(
    places: &mut ConfinedPlaces,
    record: &CommandRecord,
) -> Result<HeldResources, String> {
    let histories = record
        .dir()
        .canonicalize()
        .and_then(|record| GitHistories::lay_out(places, &record))
        .map_err(|error| format!("the history of its repository: {error}"))?;
    let laid_out: BTreeSet<PathBuf> =
        histories.all.iter().map(|history| history.git.clone()).collect();
    places.protected.extend(places.histories.difference(&laid_out).cloned());
    places.histories = laid_out;
    let locks = record.placeholder_folder();
    let mut placeholders = Vec::new();
    places.protected.retain(|path| path.symlink_metadata().is_ok() || can_be_held(path));
    for path in places.protected.iter().filter(|path| can_be_held(path)) {
        let held = Placeholder::hold(path, &locks);
        placeholders.push(held.map_err(|error| format!("{}: {error}", path.display()))?);
    }
    Ok(HeldResources { histories, placeholders, tmp: None })
}

/// Starts what builds the sandbox, and waits until the shell runs in it.
fn start_builder(
    wanted: SpawnRequest<'_>,
    builder: SandboxBuilder,
    output: OwnedFd,
    held: HeldResources,
) -> Result<SpawnedCommand, String> {
    let request = wanted.request;
    let SandboxBuilder { mut command, layout, handles } = builder;
    let served = listen_at_ports(&request.confine.serves)?;
    let (control, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    send_streams(&control, layout, request.service)
        .map_err(|error| format!("the command's input: {error}"))?;
    let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| format!("a pipe: {error}"))?;
    command.args(wanted.shell_words()).process_group(0);
    command.stdin(OwnedFd::from(theirs)).stdout(output).stderr(writing);
    if let Some(port) = proxy_port(request) {
        set_proxy_variables(&mut command, &format!("http://127.0.0.1:{port}"));
    }
    if !held.histories.all.is_empty() {
        command.envs(history::git_environment());
    }
    // From this thread, which lasts: what builds the sandbox ends with the thread that started it.
    let child = command.spawn().map_err(|error| explain_start_error(request, &error))?;
    // Their ends of the pipes are in it, and it has its own copies of what it was passed.
    drop(command);
    drop(handles);
    let mut words = InsideMessages { pipe: reading, received: Vec::new() };
    let pid = pid_of(child.id())?;
    let crossed = words.wait_for_start().and_then(|()| {
        forward_connections(&control, served, request)
            .map_err(|error| format!("the ways out of the sandbox: {error}"))
    });
    match crossed {
        Ok(()) => Ok(SpawnedCommand { pid, words: Some(words), held }),
        Err(why) => {
            let mut child = child;
            let _ = child.kill();
            let _ = child.wait();
            Err(why)
        }
    }
}

/// The ports at which the command is found from this machine, taken before it starts.
fn listen_at_ports(ports: &[u16]) -> Result<Vec<TcpListener>, String> {
    let listen = |port: &u16| {
        crossing::listen_on_loopback(*port).map_err(|error| {
            format!("port {port} of this machine cannot be served: {error}; choose another one")
        })
    };
    Ok(ports.iter().map(listen).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// From here on connections cross the border, in the directions that were granted.
fn forward_connections(
    control: &UnixStream,
    served: Vec<TcpListener>,
    request: &CommandRequest,
) -> io::Result<()> {
    for listener in served {
        crossing::hand_over(listener, control.try_clone()?)?;
    }
    let ways = ways_out(request);
    if !ways.is_empty() {
        crossing::take_over(control.try_clone()?, ways)?;
    }
    Ok(())
}

/// The port of loopback at which the command finds its proxy: one that was not granted.
fn proxy_port(request: &CommandRequest) -> Option<u16> {
    let is_free = |port: &u16| !request.confine.ports.contains(port);
    request.way.as_ref().and_then(|_| (INSIDE_PORT..).find(is_free))
}

/// Where ports of the command's loopback lead.
fn ways_out(request: &CommandRequest) -> BTreeMap<u16, PortDestination> {
    let granted = request.confine.ports.iter().map(|port| (*port, PortDestination::Port));
    let proxy = proxy_port(request).zip(request.way.as_ref());
    granted
        .chain(proxy.map(|(port, way)| (port, PortDestination::Socket(way.socket.clone()))))
        .collect()
}

fn command_places(request: &CommandRequest) -> Result<ConfinedPlaces, String> {
    let cwd = std::env::current_dir().map_err(|error| format!("its folder: {error}"))?;
    ConfinedPlaces::resolve_confine(&request.confine, &cwd)
        .map_err(|why| format!("it cannot be confined: {why}"))
}

fn shell_command(wanted: SpawnRequest<'_>, output: OwnedFd) -> Result<Command, String> {
    let duplicated = own_stream(&io::stderr()).and_then(|input| Ok((input, output.try_clone()?)));
    let (input, error_output) = duplicated.map_err(|error| error.to_string())?;
    // What a service says goes straight to the engine.
    let output = match wanted.request.service {
        true => own_stream(&io::stdout()).map_err(|error| error.to_string())?,
        false => output,
    };
    let mut words = wanted.shell_words().into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(error_output))
        .process_group(0);
    Ok(command)
}

/// What programs go by when they look for a proxy.
fn set_proxy_variables(command: &mut Command, address: &str) {
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
    {
        command.env(name, address);
    }
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, "localhost,127.0.0.1,::1");
    }
}

/// The command's standard input goes by a socket, so that nobody on the way holds it open; that of a
/// service together with its standard output. Before them what is to be laid out.
fn send_streams(control: &UnixStream, layout: Option<OwnedFd>, service: bool) -> io::Result<()> {
    let mut handles: Vec<OwnedFd> = layout.into_iter().collect();
    handles.push(own_stream(&io::stderr())?);
    if service {
        handles.push(own_stream(&io::stdout())?);
    }
    tier::send_descriptors(control, &handles)
}

/// An empty folder, and an empty file that nobody may read.
fn create_veil(record: &Path) -> io::Result<MountVeil> {
    let veil = MountVeil { folder: record.join("veil"), file: record.join("veil.file") };
    fs::DirBuilder::new().mode(0o555).create(&veil.folder)?;
    fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(&veil.file)?;
    Ok(veil)
}

fn limit_resources(request: &CommandRequest) -> io::Result<()> {
    use rustix::process::{getrlimit, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let lower = |resource: Resource, wanted: Option<u64>| {
        let Some(wanted) = wanted else { return Ok(()) };
        let old = getrlimit(resource);
        let current = old.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(resource, Rlimit { current: Some(current), maximum: old.maximum })
    };
    lower(Resource::Nofile, request.limits.open_files)?;
    lower(Resource::Nproc, request.limits.processes)?;
    lower(Resource::Cpu, request.limits.cpu_seconds)?;
    Ok(())
}

fn explain_start_error(request: &CommandRequest, error: &io::Error) -> String {
    let bytes = request.command.len();
    match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::TOOBIG) => format!(
            "the command is {bytes} bytes long, more than the system accepts; write it to a file \
             and run that"
        ),
        _ => format!("the shell cannot be started: {error}"),
    }
}

/// Lines from inside, and before them whatever is complained about.
pub(super) struct InsideMessages {
    pipe: OwnedFd,
    received: Vec<u8>,
}

impl InsideMessages {
    /// The next one; `None` when nobody is left to say anything.
    pub(super) fn next(&mut self) -> Option<InsideMessage> {
        loop {
            while let Some(line) = self.take_line() {
                if let Ok(word) = serde_json::from_slice(&line) {
                    return Some(word);
                }
            }
            self.read_more(None).then_some(())?;
        }
    }

    /// Waits until the shell runs. If nothing more is heard once it was to be started, it may have run: then
    /// it counts as started, and how its process ended is how it ended. Nobody may start it twice (D7).
    fn wait_for_start(&mut self) -> Result<(), String> {
        let until = Instant::now() + BUILD_PATIENCE;
        let (mut complaint, mut is_starting) = (Vec::new(), false);
        loop {
            while let Some(line) = self.take_line() {
                match serde_json::from_slice(&line) {
                    Ok(InsideMessage::Starting) => is_starting = true,
                    Ok(InsideMessage::Started) => return Ok(()),
                    Ok(InsideMessage::Failed { why }) => return Err(why),
                    Ok(InsideMessage::Ended { .. }) | Err(_) => complaint.extend(line),
                }
            }
            let room = complaint.len() < SAID_BYTES_MAX && Instant::now() < until;
            if !room || !self.read_more(Some(until)) {
                if is_starting {
                    return Ok(());
                }
                complaint.append(&mut self.received);
                let complaint = String::from_utf8_lossy(&complaint);
                let complaint =
                    if complaint.trim().is_empty() { "no word" } else { complaint.trim() };
                return Err(format!(
                    "{NOT_BUILT}: {complaint}; `weir doctor` says what \
                     works here"
                ));
            }
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let end = self.received.iter().position(|byte| *byte == b'\n')?;
        Some(self.received.drain(..=end).collect())
    }

    fn read_more(&mut self, until: Option<Instant>) -> bool {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
        if !matches!(poll(&mut fds, timeout.as_ref()), Ok(1..) | Err(rustix::io::Errno::INTR)) {
            return false;
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(&self.pipe, &mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.received.extend_from_slice(&bytes[..count]);
                self.received.len() < SAID_BYTES_MAX
            }
            Err(rustix::io::Errno::INTR) => true,
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start_of(said: &str) -> Result<(), String> {
        let (pipe, writing) = rustix::pipe::pipe().expect("a pipe");
        rustix::io::write(&writing, said.as_bytes()).expect("room in it");
        drop(writing);
        InsideMessages { pipe, received: Vec::new() }.wait_for_start()
    }

    #[test]
    fn d7_what_may_have_begun_is_not_started_again() {
        let starting = r#"{"inside":"starting"}"#;
        // Killed before anything could run: it is built again.
        assert!(start_of("").is_err_and(|why| why.starts_with(NOT_BUILT)));
        assert!(start_of("bwrap: no such file\n").is_err_and(|why| why.starts_with(NOT_BUILT)));
        // Killed before it could say that the shell runs, which may have done anything.
        assert_eq!(start_of(&format!("{starting}\n")), Ok(()));
        assert_eq!(start_of(&format!("{starting}\n{{\"inside\":\"started\"}}\n")), Ok(()));
        // There is no shell: nothing ran.
        let failed = r#"{"inside":"failed","why":"the shell cannot be started: no such file"}"#;
        let why = start_of(&format!("{starting}\n{failed}\n")).expect_err("there is no shell");
        assert!(why.starts_with("the shell cannot be started"), "{why}");
    }
}
