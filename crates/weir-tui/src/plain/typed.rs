//! Where typed lines come from: a terminal, or anything else by way of a thread. Of a terminal's lines
//! it is known whether they were begun before something was asked: such a line was meant for
//! something else and answers nothing (G4). Not here: what a line does.

use std::io::{self, BufRead};
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

/// Lines that were read and not taken yet.
pub(super) const LINES_WAITING_MAX: usize = 16;
/// Longest line that is read, in bytes; a longer one ends there.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// So much is read at once, in bytes.
const READ_BYTES: usize = 4096;

/// When the first letter of a line was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypingStart {
    /// Before what is asked now was printed.
    Before,
    /// Since then, or nobody can know: lines of a pipe are taken in order, each when it is its turn.
    Since,
}

/// A line that was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedLine {
    pub(crate) text: String,
    pub(crate) begun: TypingStart,
}

impl From<&str> for TypedLine {
    fn from(text: &str) -> TypedLine {
        TypedLine { text: text.to_owned(), begun: TypingStart::Since }
    }
}

/// Where lines come from.
pub(crate) enum LineSource {
    /// A terminal.
    Keyboard(KeyboardInput),
    /// Whatever else; closed: its end.
    Fed(mpsc::Receiver<TypedLine>),
}

impl LineSource {
    /// Those of standard input; `terminal`: it is one.
    pub(super) fn of_input(terminal: bool) -> LineSource {
        match KeyboardInput::open().filter(|_| terminal) {
            Some(keyboard) => LineSource::Keyboard(keyboard),
            None => LineSource::Fed(spawn_line_reader()),
        }
    }

    /// The next one; `None`: there are no more. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<TypedLine> {
        match self {
            LineSource::Keyboard(keyboard) => keyboard.next_line().await,
            LineSource::Fed(lines) => lines.recv().await,
        }
    }

    /// Something that asks was printed just now.
    pub(super) fn mark_asked(&mut self) {
        match self {
            LineSource::Keyboard(keyboard) => keyboard.mark_asked(),
            LineSource::Fed(_) => (),
        }
    }
}

/// Lines of what is no terminal. A thread reads them, because a read cannot be taken back: the runtime
/// would wait for one more line before the program could end. It ends with the program.
fn spawn_line_reader() -> mpsc::Receiver<TypedLine> {
    let (tell, lines) = mpsc::channel(LINES_WAITING_MAX);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match io::Read::take(&mut input, LINE_BYTES_MAX as u64).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => (),
            }
            if tell.blocking_send(TypedLine::from(line_text(&line).as_str())).is_err() {
                return;
            }
        }
    });
    lines
}

/// A line without its end.
fn line_text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

/// Standard input as a terminal. It is read only when there is something, so that no read is under
/// way when something is asked.
pub(crate) struct KeyboardInput {
    input: AsyncFd<BorrowedFd<'static>>,
    typed: Vec<u8>,
    /// So many bytes of `typed` are from before what is asked now was printed.
    early: usize,
    ended: bool,
}

impl KeyboardInput {
    /// The terminal; `None` where standard input cannot be waited for.
    fn open() -> Option<KeyboardInput> {
        #[expect(
            deprecated,
            reason = "its successor is unsafe because a type may lie about its descriptor; \
                      standard input is open as long as the program runs"
        )]
        let input = AsyncFd::new(rustix::stdio::stdin()).ok()?;
        Some(KeyboardInput { input, typed: Vec::new(), early: 0, ended: false })
    }

    async fn next_line(&mut self) -> Option<TypedLine> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(line);
            }
            if self.ended {
                return None;
            }
            let mut ready = self.input.readable().await.ok()?;
            if !has_input(*self.input.get_ref()) {
                ready.clear_ready();
                continue;
            }
            self.read_available();
        }
    }

    /// The first whole line of what was read.
    fn take_line(&mut self) -> Option<TypedLine> {
        let end = self.typed.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let end = end.or_else(|| (self.typed.len() >= LINE_BYTES_MAX).then_some(LINE_BYTES_MAX));
        // What stands there without an end when the terminal goes is a line too.
        let rest = (self.ended && !self.typed.is_empty()).then_some(self.typed.len());
        let line: Vec<u8> = self.typed.drain(..end.or(rest)?).collect();
        let begun = if self.early > 0 { TypingStart::Before } else { TypingStart::Since };
        self.early = self.early.saturating_sub(line.len());
        Some(TypedLine { text: line_text(&line), begun })
    }

    fn read_available(&mut self) {
        let mut bytes = [0; READ_BYTES];
        match rustix::io::read(self.input.get_ref(), &mut bytes) {
            Ok(0) => self.ended = true,
            Ok(count) => self.typed.extend_from_slice(&bytes[..count]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => (),
            Err(_) => self.ended = true,
        }
    }

    /// Everything that was typed until now is from before what is asked: whole lines, and the line
    /// that somebody is writing, which a terminal gives out only when it does not wait for its end.
    fn mark_asked(&mut self) {
        self.read_all();
        let input = *self.input.get_ref();
        // A program in the background is stopped when it changes a terminal.
        let is_ours = tcgetpgrp(input).is_ok_and(|group| group == getpgrp());
        if let Ok(before) = tcgetattr(input)
            && before.local_modes.contains(LocalModes::ICANON)
            && is_ours
        {
            let mut now = before.clone();
            now.local_modes.remove(LocalModes::ICANON);
            if tcsetattr(input, OptionalActions::Now, &now).is_ok() {
                self.read_all();
                // A terminal that has gone has nothing to be put back.
                let _ = tcsetattr(input, OptionalActions::Now, &before);
            }
        }
        self.early = self.typed.len();
    }

    fn read_all(&mut self) {
        while !self.ended && self.typed.len() < LINE_BYTES_MAX && has_input(*self.input.get_ref()) {
            self.read_available();
        }
    }
}

/// Whether a read would return at once.
fn has_input(input: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}
