//! One question to a program: started, given its input, listened to until it ends or its time is over,
//! and ended then. In the asking thread alone, so that nothing is left that waits. Not here: which
//! programs, and what they are asked.

use std::io::{ErrorKind, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Most of an answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Pause between two looks at a program.
const LOOK_PAUSE: Duration = Duration::from_millis(2);

/// Why a program gave no answer.
#[derive(Debug)]
pub(super) enum AskError {
    /// It cannot be started or spoken with.
    Broken(std::io::Error),
    /// Its time was over.
    Late,
    /// It says more than any answer has.
    Endless,
    /// It ended with a failure.
    Failed(ExitStatus),
}

impl std::fmt::Display for AskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AskError::Broken(error) => write!(f, "its program cannot be used: {error}"),
            AskError::Late => f.write_str("it did not answer in time"),
            AskError::Endless => f.write_str("its program says more than an answer"),
            AskError::Failed(status) => write!(f, "it refused ({status})"),
        }
    }
}

/// Runs a program with `input` on its standard input. What it wrote until it ended is the answer:
/// output that somebody else still holds open is not waited for. No error quotes what it said.
pub(super) fn ask_program(
    mut command: Command,
    input: &str,
    until: Instant,
) -> Result<String, AskError> {
    if Instant::now() >= until {
        return Err(AskError::Late);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(AskError::Broken)?;
    let outcome = hold_dialogue(&mut child, input.as_bytes(), until);
    if outcome.is_err() {
        // It may have ended by itself meanwhile: then there is nothing to end.
        let _ = child.kill();
        let _ = child.wait();
    }
    let answer = String::from_utf8(outcome?);
    answer.map_err(|_| AskError::Broken(ErrorKind::InvalidData.into()))
}

fn hold_dialogue(child: &mut Child, input: &[u8], until: Instant) -> Result<Vec<u8>, AskError> {
    let missing = || AskError::Broken(ErrorKind::BrokenPipe.into());
    let mut rest = input;
    let mut stdin = Some(child.stdin.take().ok_or_else(missing)?);
    let mut stdout = child.stdout.take().ok_or_else(missing)?;
    // These are our ends of the pipes: what the program has waits as usual.
    if let Some(stdin) = &stdin {
        rustix::io::ioctl_fionbio(stdin, true).map_err(|error| AskError::Broken(error.into()))?;
    }
    rustix::io::ioctl_fionbio(&stdout, true).map_err(|error| AskError::Broken(error.into()))?;
    let mut answer = Vec::new();
    loop {
        // Asked before the output is read: what it wrote before it ended is all read then.
        let ended = child.try_wait().map_err(AskError::Broken)?;
        feed_input(&mut stdin, &mut rest).map_err(AskError::Broken)?;
        read_available(&mut stdout, &mut answer)?;
        if let Some(status) = ended {
            return if status.success() { Ok(answer) } else { Err(AskError::Failed(status)) };
        }
        if Instant::now() >= until {
            return Err(AskError::Late);
        }
        std::thread::sleep(LOOK_PAUSE);
    }
}

/// Writes what the pipe takes now, and closes it after the last byte. A program that reads nothing says by
/// its end how that was meant.
fn feed_input(pipe: &mut Option<ChildStdin>, rest: &mut &[u8]) -> std::io::Result<()> {
    let Some(stdin) = pipe.as_mut() else { return Ok(()) };
    while !rest.is_empty() {
        match stdin.write(rest) {
            Ok(written) => *rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => return Err(error),
        }
    }
    *pipe = None;
    Ok(())
}

fn read_available(stdout: &mut ChildStdout, answer: &mut Vec<u8>) -> Result<(), AskError> {
    let mut part = [0; 4096];
    loop {
        match stdout.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(AskError::Broken(error)),
        }
        if answer.len() > ANSWER_BYTES_MAX {
            return Err(AskError::Endless);
        }
    }
}
