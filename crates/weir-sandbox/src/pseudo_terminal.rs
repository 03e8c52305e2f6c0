//! A command in a terminal of its own (R7): for programs that want one. This program stands between the
//! command and whatever reads and feeds it, twice: as the one that holds the other end of the terminal,
//! and, before it becomes the command, as the one that takes the terminal for its own. Both are inside the
//! sandbox and hold nothing but the command's own streams. Not here: what may run, who ends it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, Winsize};

/// The first argument by which this program is started so.
pub const TERMINAL: &str = "__terminal";
/// The second one: it holds the other end.
const HOLD: &str = "hold";
/// Or: it takes the terminal, and becomes the command.
const ENTER: &str = "enter";
/// This very program, wherever it lies, also in a sandbox that does not show it.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Size of the terminal: wide enough for most tables.
const ROWS: u16 = 40;
const COLUMNS: u16 = 120;
/// What the command takes it for.
const KIND: (&str, &str) = ("TERM", "xterm-256color");
/// Bytes that are passed on at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// What ends the input of who reads lines.
const END_OF_INPUT: u8 = 4;
/// For how many readers, one after the other.
const READERS: usize = 64;
/// Status of a command that could not be started.
const NOT_STARTED: u8 = 127;
/// Status of a command that a signal ended: this and its number.
const SIGNALLED: u8 = 128;

/// The words that run `command` in a terminal.
pub(crate) fn words_in_terminal(command: Vec<OsString>) -> Vec<OsString> {
    let own = [THIS_PROGRAM, TERMINAL, HOLD].map(OsString::from);
    own.into_iter().chain(command).collect()
}

/// Call it before anything else in `main`, when the first argument is [`TERMINAL`].
pub fn terminal_main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(2);
    let role = arguments.next().unwrap_or_default();
    let words: Vec<OsString> = arguments.collect();
    let ended = match role.to_str() {
        Some(HOLD) => hold_terminal(words),
        Some(ENTER) => Err(enter_terminal(words)),
        _ => {
            Err(io::Error::other("this subcommand is started by weir itself; it is not for people"))
        }
    };
    ended.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "a terminal for the command: {error}");
        ExitCode::from(NOT_STARTED)
    })
}

/// Takes the terminal, and becomes the command. Comes back only with what went wrong.
fn enter_terminal(words: Vec<OsString>) -> io::Error {
    let taken =
        rustix::process::setsid().and_then(|_| rustix::process::ioctl_tiocsctty(io::stdin()));
    if let Err(error) = taken {
        return error.into();
    }
    let mut words = words.into_iter();
    Command::new(words.next().unwrap_or_default()).args(words).exec()
}

fn hold_terminal(words: Vec<OsString>) -> io::Result<ExitCode> {
    let (ours, theirs) = open_terminal()?;
    let stream = || theirs.try_clone().map(Stdio::from);
    let child = Command::new(THIS_PROGRAM)
        .args([TERMINAL, ENTER])
        .args(words)
        .env(KIND.0, KIND.1)
        .stdin(stream()?)
        .stdout(stream()?)
        .stderr(stream()?)
        .spawn()?;
    drop(theirs);
    let status = pass_on(File::from(ours), child)?;
    Ok(ExitCode::from(exit_status(status)))
}

/// Both ends of a new terminal. It does not show what is typed and leaves line ends as they are: who reads
/// is no screen.
fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name, flags, Mode::empty())?;
    let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&theirs, size)?;
    let mut modes = rustix::termios::tcgetattr(&theirs)?;
    modes.local_modes.remove(LocalModes::ECHO);
    modes.output_modes.remove(OutputModes::ONLCR);
    rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

/// Passes on what the command writes and what it is fed, until it has ended.
fn pass_on(mut terminal: File, mut child: Child) -> io::Result<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let over = pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())?;
    let (input, mut output) = (io::stdin(), io::stdout().lock());
    let (mut piece, mut is_fed) = (vec![0; PIECE_BYTES], true);
    let mut waiting: Vec<u8> = Vec::new();
    loop {
        let of_terminal = match waiting.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::IN | PollFlags::OUT,
        };
        let of_input =
            if is_fed && waiting.is_empty() { PollFlags::IN } else { PollFlags::empty() };
        let mut ready = [
            PollFd::new(&terminal, of_terminal),
            PollFd::new(&over, PollFlags::IN),
            PollFd::new(&input, of_input),
        ];
        match poll(&mut ready, None) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
        let [seen, ended, fed] = ready.map(|fd| fd.revents());
        if seen.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
            && !copy_output(&mut terminal, &mut output, &mut piece)?
        {
            // Nobody has it open any more.
            return child.wait();
        }
        if seen.contains(PollFlags::OUT) {
            write_waiting(&mut terminal, &mut waiting)?;
        }
        if is_fed && waiting.is_empty() && fed.intersects(PollFlags::IN | PollFlags::HUP) {
            let count = input.lock().read(&mut piece).unwrap_or(0);
            waiting.extend_from_slice(&piece[..count]);
            is_fed = count > 0;
            if !is_fed {
                waiting.resize(READERS, END_OF_INPUT);
            }
        }
        if ended.contains(PollFlags::IN) {
            // What it wrote before; what it left behind ends with the terminal.
            while copy_output(&mut terminal, &mut output, &mut piece)? && is_readable(&terminal) {}
            return child.wait();
        }
    }
}

/// Passes on what is there. `false`: nothing will come any more.
fn copy_output(
    terminal: &mut File,
    output: &mut io::StdoutLock<'_>,
    piece: &mut [u8],
) -> io::Result<bool> {
    match terminal.read(piece) {
        Ok(0) => Ok(false),
        Ok(count) => {
            output.write_all(&piece[..count])?;
            output.flush()?;
            Ok(true)
        }
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::INTR) => Ok(true),
            Some(Errno::IO) => Ok(false),
            _ => Err(error),
        },
    }
}

fn is_readable(terminal: &File) -> bool {
    let mut ready = [PollFd::new(terminal, PollFlags::IN)];
    poll(&mut ready, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
        && ready[0].revents().contains(PollFlags::IN)
}

fn write_waiting(terminal: &mut File, waiting: &mut Vec<u8>) -> io::Result<()> {
    match terminal.write(waiting) {
        Ok(count) => {
            waiting.drain(..count);
            Ok(())
        }
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::AGAIN | Errno::INTR) => Ok(()),
            // Nobody has it open: that is seen where it is read.
            Some(Errno::IO) => {
                waiting.clear();
                Ok(())
            }
            _ => Err(error),
        },
    }
}

fn exit_status(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let signal = || status.signal().and_then(|signal| u8::try_from(signal).ok());
    code.or_else(|| signal().map(|signal| SIGNALLED.saturating_add(signal))).unwrap_or(NOT_STARTED)
}
