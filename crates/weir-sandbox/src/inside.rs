//! The first process inside a sandbox with its own namespaces: starts the shell, waits for all that
//! comes from it, and hands over connections that lead out.
//!
//! Standard input is a socket from which it gets the command's own input, standard error a pipe to
//! the supervisor for its few lines, standard output the command's. Where no other program builds the
//! sandbox, it is its own predecessor and does that first (`tier/namespaces`).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Resource, Rlimit, WaitOptions, wait};

use crate::crossing::{self, PortDestination};
use crate::inside_orders::{INSIDE, InsideMessage, InsideOrders, SandboxStage};
use crate::process::{end_of, hung_up, protect_process};
use crate::tier::NOT_BUILT;
use crate::tier::namespaces::{self, SandboxLayout, WORKS};

/// Call it before anything else in `main`, when the first argument is [`INSIDE`].
pub fn inside_main() -> ExitCode {
    match run_inside() {
        Ok(code) => code,
        Err(why) => {
            send_message(&InsideMessage::Failed { why });
            ExitCode::from(2)
        }
    }
}

fn run_inside() -> Result<ExitCode, String> {
    let mut arguments = std::env::args_os().skip(2);
    let orders = arguments.next().unwrap_or_default();
    let orders: InsideOrders = serde_json::from_str(&orders.to_string_lossy()).map_err(|_| {
        "this subcommand is started by weir itself; it is not for people".to_string()
    })?;
    let not_built = |why: String| format!("{NOT_BUILT}: {why}");
    let mut handles = match orders.room {
        Some(SandboxStage::Outside) => {
            return namespaces::enter_namespaces(|stage| {
                next_stage_command(&orders, stage, arguments)
            })
            .map_err(not_built);
        }
        Some(SandboxStage::Within { .. }) | None => {
            receive_handles().map_err(|error| input_failed(&error))?
        }
    };
    if let Some(SandboxStage::Within { user, group }) = orders.room {
        let layout = handles.pop_front().ok_or("there is no layout")?;
        let layout = read_layout(layout).map_err(not_built)?;
        namespaces::lay_out(&layout, user, group).map_err(not_built)?;
        if layout.only_tried {
            return Ok(ExitCode::from(WORKS));
        }
    }
    let input = handles.pop_front().ok_or("the command's input: it did not come")?;
    let streams = ShellStreams { input, output: handles.pop_front() };
    run_shell(arguments, streams, &orders)
}

/// What the shell reads and writes.
struct ShellStreams {
    input: OwnedFd,
    /// None: our own.
    output: Option<OwnedFd>,
}

/// The shell, until nobody is left.
fn run_shell(
    arguments: impl Iterator<Item = std::ffi::OsString>,
    streams: ShellStreams,
    orders: &InsideOrders,
) -> Result<ExitCode, String> {
    // The command is of the same user and must not look into this process.
    protect_process().map_err(|error| error.to_string())?;
    // Before the command starts, so that its first connection finds somebody.
    forward_ports(orders).map_err(|error| format!("the ways out of the sandbox: {error}"))?;
    // One that was killed before the kernel was told to end us with it takes nothing along, and nobody would
    // watch the command.
    if hung_up(&io::stdin()) {
        return Err("its supervisor is gone".into());
    }
    // Said before: whoever kills this process after the next line leaves a command that has begun.
    send_message(&InsideMessage::Starting);
    let shell = spawn_shell(arguments, streams, orders)?;
    send_message(&InsideMessage::Started);
    // Nothing of the command's is held open here.
    release_streams().map_err(|error| error.to_string())?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => {
                send_message(&InsideMessage::Ended { end: end_of(status) });
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Nobody is left.
            Err(_) => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// This program once more, at the next stage.
fn next_stage_command(
    orders: &InsideOrders,
    stage: SandboxStage,
    arguments: impl Iterator<Item = std::ffi::OsString>,
) -> Command {
    let orders = InsideOrders { room: Some(stage), ..orders.clone() };
    let mut command = Command::new("/proc/self/exe");
    // What is plain data can always be written.
    command.arg(INSIDE).arg(serde_json::to_string(&orders).unwrap_or_default()).args(arguments);
    command
}

fn read_layout(handle: OwnedFd) -> Result<SandboxLayout, String> {
    let mut file = File::from(handle);
    let mut text = String::new();
    file.rewind()
        .and_then(|()| file.read_to_string(&mut text))
        .map_err(|error| format!("its layout: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("its layout: {error}"))
}

fn input_failed(error: &io::Error) -> String {
    format!("the command's input: {error}")
}

fn spawn_shell(
    mut arguments: impl Iterator<Item = std::ffi::OsString>,
    streams: ShellStreams,
    orders: &InsideOrders,
) -> Result<Pid, String> {
    let program = arguments.next().ok_or("there is no program to start")?;
    let output = io::stdout().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let error = output.try_clone().map_err(|error| error.to_string())?;
    let output = streams.output.unwrap_or(output);
    // Counted inside the user namespace: they are the command's alone. Root is not bound by it.
    let most = rustix::process::getrlimit(Resource::Nproc).maximum;
    let most = most.map_or(orders.processes, |most| most.min(orders.processes));
    let _ = rustix::process::setrlimit(
        Resource::Nproc,
        Rlimit { current: Some(most), maximum: Some(most) },
    );
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::from(streams.input))
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(error))
        .spawn();
    let child = child.map_err(|error| format!("the shell cannot be started: {error}"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(seconds), Some(_)) = (orders.cpu_seconds, pid) {
        // Soft by inheritance, hard from here: a process has a few seconds to see the signal.
        let hard = Rlimit { current: Some(seconds), maximum: Some(seconds.saturating_add(5)) };
        let _ = rustix::process::prlimit(pid, Resource::Cpu, hard);
    }
    pid.ok_or_else(|| "the command has no process id".into())
}

/// Nobody reads them any more when the supervisor is gone, and then all of this ends.
fn send_message(word: &InsideMessage) {
    if let Ok(mut line) = serde_json::to_vec(word) {
        line.push(b'\n');
        let _ = io::stderr().write_all(&line);
    }
}

fn release_streams() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

/// What the supervisor sent: a layout, where one is needed; standard input; standard output, where that
/// is not ours.
fn receive_handles() -> io::Result<VecDeque<OwnedFd>> {
    let mut byte = [0; 1];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut received = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut byte)];
    recvmsg(io::stdin(), &mut slices, &mut received, RecvFlags::CMSG_CLOEXEC)?;
    let handles = received.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(handles) => Some(handles.collect()),
        _ => None,
    });
    handles.ok_or_else(|| io::Error::other("it did not come"))
}

/// Ports that were granted, both ways.
fn forward_ports(orders: &InsideOrders) -> io::Result<()> {
    let control = || io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    for port in &orders.ports {
        for listener in crossing::listen_on_loopback(*port)? {
            crossing::hand_over(listener, control()?)?;
        }
    }
    if !orders.serves.is_empty() {
        let ways = orders.serves.iter().map(|port| (*port, PortDestination::Port)).collect();
        crossing::take_over(control()?, ways)?;
    }
    Ok(())
}
