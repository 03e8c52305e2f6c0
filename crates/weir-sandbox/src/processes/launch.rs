//! Starts a supervisor with its streams. Blocking; not here: what it reports.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::pipe::PipeFlags;
use tokio::net::unix::pipe;
use tokio::process::Child;
use weir_core::tool::Tier;
use weir_engine::ports::{CommandSpec, EgressLine};

use super::SupervisorOptions;
use crate::process_tree::MARKER;
use crate::record::{CommandRecord, RecordFile};
use crate::tier;
use crate::wire::{CommandRequest, ProxyRoute, REQUEST_BYTES_MAX, SupervisorOrder};

/// How long a supervisor may take to read its request.
const REQUEST_WAIT: Duration = Duration::from_secs(10);

/// A supervisor that was started. Dropping it closes the control socket, and the supervisor ends
/// the tree.
pub(super) struct SupervisedCommand {
    pub(super) child: Child,
    pub(super) control: tokio::net::UnixStream,
    /// What was received and is not yet a whole line.
    pub(super) received: Vec<u8>,
    /// Output as it comes; foreground only.
    pub(super) progress: Option<pipe::Receiver>,
    /// Standard input of the command; background only.
    pub(super) input: Option<pipe::Sender>,
    pub(super) record: CommandRecord,
    pub(super) request: CommandRequest,
    /// The way out. Closed with this.
    pub(super) line: Option<Box<dyn EgressLine>>,
}

/// Which of a command's streams are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandKind {
    /// Output is shown as it comes; there is no input.
    Foreground,
    /// Input is open, output is kept.
    Job,
    /// Input and output are open, errors are kept.
    Service,
}

/// Makes the record's folder and starts the supervisor. Needs a runtime around it.
///
/// # Errors
/// What failed, why, and what to do, for the model.
pub(super) fn launch_supervisor(
    options: &SupervisorOptions,
    spec: &CommandSpec,
    line: Option<Box<dyn EgressLine>>,
    kind: CommandKind,
) -> Result<SupervisedCommand, String> {
    check_spec(spec)?;
    let bubblewrap = tier::check_tier(spec.confine.tier, &options.program)?;
    let request = CommandRequest {
        command: spec.command.clone(),
        timeout_ms: spec.timeout_ms,
        keep_bytes: spec.keep_bytes,
        background: spec.background,
        terminal: spec.terminal,
        service: kind == CommandKind::Service,
        limits: options.limits,
        confine: spec.confine.clone(),
        bubblewrap,
        way: line.as_deref().map(proxy_route),
    };
    let secrets = options.secrets.iter().map(|secret| secret.reveal().to_owned()).collect();
    let order = SupervisorOrder { request, secrets };
    let text = order_line(&order)?;
    let request = order.request;
    let record = CommandRecord::for_call(&options.state_dir, &spec.session, spec.call);
    if !matches!(record.read_start(), RecordFile::Absent) {
        let call = spec.call;
        return Err(format!("call {call} was started before; a call is not started twice"));
    }
    let dir = record.dir().display();
    record
        .create(spec.call)
        .map_err(|error| format!("its record in {dir} cannot be made: {error}"))?;
    let program = options.program.display();
    let environment = command_environment(options, spec, kind)?;
    let mut streams =
        SupervisorStreams::new(kind).map_err(|error| format!("its pipes: {error}"))?;
    let child =
        spawn_supervisor(options, spec, &record, environment, &mut streams).map_err(|error| {
            format!("the supervisor {program} cannot be started: {error}; is weir still installed?")
        })?;
    let SupervisorStreams { mut control, progress, input, .. } = streams;
    let told = control
        .set_write_timeout(Some(REQUEST_WAIT))
        .and_then(|()| write_request(&mut control, &text))
        .and_then(|()| control.set_nonblocking(true))
        .and_then(|()| tokio::net::UnixStream::from_std(control));
    let control =
        told.map_err(|error| format!("the supervisor does not take its request: {error}"))?;
    Ok(SupervisedCommand {
        child,
        control,
        received: Vec::new(),
        progress,
        input,
        record,
        request,
        line,
    })
}

/// A supervisor that is gone before it read its request is found by who waits for its word, who also ends
/// what it may have left: whether it went before or after the write is chance.
fn write_request(control: &mut UnixStream, text: &[u8]) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    match control.write_all(text) {
        Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => Ok(()),
        written => written,
    }
}

/// What asks a network again and again that is not there: the command would wait for minutes.
const GIVES_UP: [(&str, &str); 4] = [
    ("npm_config_fetch_retries", "0"),
    ("PIP_RETRIES", "0"),
    ("CARGO_NET_RETRY", "0"),
    ("UV_HTTP_RETRIES", "0"),
];

fn command_environment(
    options: &SupervisorOptions,
    spec: &CommandSpec,
    kind: CommandKind,
) -> Result<Vec<(OsString, OsString)>, String> {
    let given =
        options.lending.command_environment(&options.environment, spec.variables, &spec.secrets)?;
    let has_network = spec.confine.tier == Tier::None || !spec.confine.hosts.is_empty();
    if has_network || kind == CommandKind::Service {
        return Ok(given);
    }
    // What the person set stays.
    let quick = GIVES_UP.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Ok(quick.into_iter().chain(given).collect())
}

fn proxy_route(line: &dyn EgressLine) -> ProxyRoute {
    let (port, word) = line.loopback();
    ProxyRoute { socket: line.socket().to_path_buf(), port, word: word.to_string() }
}

fn check_spec(spec: &CommandSpec) -> Result<(), String> {
    if spec.command.contains('\0') {
        return Err("the command contains a NUL byte, which no shell takes; leave it out".into());
    }
    if !spec.cwd.is_dir() {
        let cwd = spec.cwd.display();
        return Err(format!("the folder {cwd} does not exist; choose one that does"));
    }
    Ok(())
}

fn order_line(order: &SupervisorOrder) -> Result<Vec<u8>, String> {
    // Paths that are not UTF-8 cannot be named to it: then it does not start.
    let line = serde_json::to_vec(order);
    let mut line = line.map_err(|error| format!("what it may touch cannot be said: {error}"))?;
    line.push(b'\n');
    if line.len() > REQUEST_BYTES_MAX {
        let bytes = order.request.command.len();
        if bytes < REQUEST_BYTES_MAX / 8 {
            return Err("too many paths are ignored or protected one by one for a sandbox; put \
                        them into fewer folders"
                .into());
        }
        return Err(format!(
            "the command is {bytes} bytes long, more than the system accepts; write it to a file \
             and run that"
        ));
    }
    Ok(line)
}

/// Our ends and, until they are handed over, the supervisor's.
struct SupervisorStreams {
    control: UnixStream,
    progress: Option<pipe::Receiver>,
    input: Option<pipe::Sender>,
    theirs: Option<[Stdio; 3]>,
}

impl SupervisorStreams {
    fn new(kind: CommandKind) -> io::Result<SupervisorStreams> {
        let (control, their_control) = UnixStream::pair()?;
        let null = || File::options().read(true).write(true).open("/dev/null").map(Stdio::from);
        let (mut progress, mut their_output) = (None, None);
        if kind != CommandKind::Job {
            let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            progress = Some(pipe::Receiver::from_owned_fd(reading)?);
            their_output = Some(Stdio::from(writing));
        }
        let (mut input, mut their_input) = (None, None);
        if kind != CommandKind::Foreground {
            let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
            input = Some(pipe::Sender::from_owned_fd(writing)?);
            their_input = Some(Stdio::from(reading));
        }
        let or_null = |theirs: Option<Stdio>| theirs.map_or_else(null, Ok);
        let control_end = Stdio::from(OwnedFd::from(their_control));
        let theirs = [control_end, or_null(their_output)?, or_null(their_input)?];
        Ok(SupervisorStreams { control, progress, input, theirs: Some(theirs) })
    }
}

fn spawn_supervisor(
    options: &SupervisorOptions,
    spec: &CommandSpec,
    record: &CommandRecord,
    environment: Vec<(OsString, OsString)>,
    streams: &mut SupervisorStreams,
) -> io::Result<Child> {
    let mut command = Command::new(&options.program);
    command
        .args(&options.args)
        .arg(record.dir())
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(environment)
        .env(MARKER, record.dir());
    if let Some([control, progress, input]) = streams.theirs.take() {
        command.stdin(control).stdout(progress).stderr(input);
    }
    tokio::process::Command::from(command).spawn()
}
