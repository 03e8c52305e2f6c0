//! The supervisor process: starts one command, watches it and the engine, and leaves nothing
//! behind.
//!
//! It is not the engine: plain threads and `poll`, no runtime, no journal, no judgement. Its
//! standard streams are not what they are elsewhere: 0 is the control socket whose other end only
//! the engine holds, 1 is where progress goes, 2 is what the command will read as its standard
//! input. The last argument is the folder of the record.

mod inherited;
mod mediator;
mod placeholder;
mod reaper;
mod sink;
mod spawn;
mod watch;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use weir_engine::ports::CommandEnd;

use crate::process::{hung_up, protect_process};
use crate::process_tree::{descendants_of, freeze_and_kill};
use crate::record::{CommandRecord, SyncLevel};
use crate::supervise::reaper::ChildReaper;
use crate::supervise::sink::OutputSink;
use crate::supervise::spawn::{HeldResources, SpawnRequest, SpawnedCommand};
use crate::supervise::watch::CommandWatch;
use crate::wire::{CANCEL, CommandEnding, REQUEST_BYTES_MAX, SupervisorOrder, SupervisorReport};

/// How long the engine may take to read a report. It reads at once unless it is stopped.
const REPORT_WAIT: Duration = Duration::from_secs(2);

/// Room in the output pipe: fewer switches between the command and its supervisor.
const PIPE_BYTES: usize = 256 << 10;

/// The hidden subcommand. Call it before anything else in `main`: it needs no runtime, no
/// configuration and no arguments but the ones the engine gave, and each command waits for it. What
/// whoever started the engine left open is closed.
pub fn supervise_main() -> ExitCode {
    match run_supervisor() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Only a person who started this by hand can see it.
            let _ = writeln!(io::stderr(), "weir supervisor: {why}");
            ExitCode::from(2)
        }
    }
}

fn run_supervisor() -> Result<(), String> {
    let still_open = inherited::close_inherited_descriptors();
    let record = std::env::args_os().next_back().map(PathBuf::from).unwrap_or_default();
    let record = CommandRecord::in_folder(record);
    let control = control_socket()?;
    // From here on nothing that is typed at the terminal reaches us.
    let _ = rustix::process::setsid();
    // From here on whoever loses its parent below us becomes our child, and nobody reads our memory:
    // what is asked for comes with secrets.
    let prepared = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    if let Err(error) = prepared.map_err(io::Error::from).and_then(|()| protect_process()) {
        return refuse_command(&control, format!("the supervisor cannot adopt processes: {error}"));
    }
    let Some((order, rest)) = read_order(&control)? else {
        // The engine died before it asked for anything.
        return Ok(());
    };
    let request = &order.request;
    if rest.contains(&CANCEL) || hung_up(&control) {
        let end = CommandEnd::Cancelled;
        return send_report(
            &control,
            &SupervisorReport::Ended(CommandEnding { end, ..CommandEnding::not_started("") }),
        );
    }
    match record.claim(request) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return refuse_command(
                &control,
                "this call was started before; it is not started twice".into(),
            );
        }
        Err(error) => {
            let dir = record.dir().display();
            return refuse_command(
                &control,
                format!("its record in {dir} cannot be written: {error}"),
            );
        }
    }
    let ending = match start_command(&control, &record, &order, &still_open) {
        Ok(watch) => {
            // An engine that died meanwhile is noticed by the watch.
            let _ = send_report(&control, &SupervisorReport::Started);
            watch.run()
        }
        Err(why) => {
            let (ending, engine_gone) = (CommandEnding::not_started(why), hung_up(&control));
            WatchResult { ending, engine_gone, held: HeldResources::default() }
        }
    };
    finish_command(&control, &record, ending)
}

/// What the watch came to.
struct WatchResult {
    ending: CommandEnding,
    engine_gone: bool,
    /// Given back by whoever has told how it ended.
    held: HeldResources,
}

/// Writes how it ended, tells the engine, and makes it durable when nobody else will.
fn finish_command(
    control: &UnixStream,
    record: &CommandRecord,
    mut watched: WatchResult,
) -> Result<(), String> {
    // Whoever hears of the end finds the workspace as the command left it.
    watched.held.give_back_places();
    let written = record.write_ending(&watched.ending, SyncLevel::Cache);
    // Progress ends before the last report, so that the engine can read all of it then.
    close_progress();
    let told = !watched.engine_gone
        && send_report(control, &SupervisorReport::Ended(watched.ending.clone())).is_ok();
    if !told {
        written.and_then(|()| record.sync_ending()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Starts the command and what watches it.
fn start_command<'a>(
    control: &'a UnixStream,
    record: &CommandRecord,
    order: &'a SupervisorOrder,
    still_open: &[u32],
) -> Result<CommandWatch<'a>, String> {
    let request = &order.request;
    let file = record.create_output().map_err(|error| format!("its output file: {error}"))?;
    let pipe = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (output, input) = pipe.map_err(|error| format!("a pipe for its output: {error}"))?;
    // Smaller works too, and a user may have used up what the kernel grants.
    let _ = rustix::pipe::fcntl_setpipe_size(&output, PIPE_BYTES);
    let began = Instant::now();
    let SpawnedCommand { pid, words, held } =
        spawn::spawn_command(SpawnRequest { request, record, still_open }, input)?;
    // From here on only the command holds the reading end of its standard input.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    let reaper = ChildReaper::watch_children(pid, words).map_err(|error| {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        freeze_and_kill(|| descendants_of(own));
        format!("it was ended at once because it cannot be watched: {error}")
    })?;
    if request.service {
        // Only the service holds the writing end of its standard output.
        close_progress();
    }
    let shown = !request.background && !request.service;
    let progress = shown.then(progress_pipe).flatten();
    let sink = OutputSink::new(file, progress, request, &order.secrets);
    Ok(CommandWatch::new(control, request, began, EventSources { output, sink, reaper, held }))
}

/// Where events of a running command come from, and its output goes.
struct EventSources {
    output: OwnedFd,
    sink: OutputSink,
    reaper: ChildReaper,
    /// Kept until nothing of the command is alive.
    held: HeldResources,
}

/// A standard stream as an owned handle, closed on exec.
fn own_stream(stream: &impl AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

fn control_socket() -> Result<UnixStream, String> {
    let socket = own_stream(&io::stdin()).map_err(|error| format!("standard input: {error}"))?;
    let kind = rustix::net::sockopt::socket_type(&socket);
    if kind != Ok(rustix::net::SocketType::STREAM) {
        return Err("this subcommand is started by weir itself, with a socket as standard input; \
                    it is not for people"
            .into());
    }
    Ok(UnixStream::from(socket))
}

/// The request line and what came after it; `None` when the engine went away.
fn read_order(mut control: &UnixStream) -> Result<Option<(SupervisorOrder, Vec<u8>)>, String> {
    let mut received = Vec::new();
    let mut chunk = [0; 16 << 10];
    while received.len() <= REQUEST_BYTES_MAX {
        let count = match control.read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("the request cannot be read: {error}")),
        };
        received.extend_from_slice(&chunk[..count]);
        if let Some(end) = received.iter().position(|byte| *byte == b'\n') {
            let order = serde_json::from_slice(&received[..end])
                .map_err(|error| format!("the request is not one: {error}"))?;
            return Ok(Some((order, received.split_off(end + 1))));
        }
    }
    Err(format!("the request is longer than {REQUEST_BYTES_MAX} bytes"))
}

fn refuse_command(control: &UnixStream, why: String) -> Result<(), String> {
    send_report(control, &SupervisorReport::Ended(CommandEnding::not_started(why)))
}

fn send_report(mut control: &UnixStream, report: &SupervisorReport) -> Result<(), String> {
    let mut line = serde_json::to_vec(report).map_err(|error| error.to_string())?;
    line.push(b'\n');
    let sent = control.set_write_timeout(Some(REPORT_WAIT)).and_then(|()| control.write_all(&line));
    sent.map_err(|error| format!("the engine cannot be told: {error}"))
}

/// The way for progress, never waited for: it is not worth slowing a command down.
fn progress_pipe() -> Option<File> {
    let pipe = own_stream(&io::stdout()).ok()?;
    rustix::io::ioctl_fionbio(&pipe, true).ok()?;
    Some(File::from(pipe))
}

fn close_progress() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
