//! Line mode: the same talk for terminals without abilities and for screen readers (F1). Whole
//! lines in through the terminal's own editing, finished lines out; no cursor movement, no redrawing, no
//! raw mode.
//!
//! It is a way of painting the one app: what is known, the commands and what they do are those of the
//! screen, and what is new is printed. What asks is answered with typed words; only a clear yes is
//! one. Reading order: `state`, `heard`, `asks`, `views`. Not here: what somebody meant by a line that asks nothing, which is the
//! session's.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use weir_core::ids::Timestamp;

use crate::link::{UiChannel, UiUpdate};
use crate::options::StartScreen;
use crate::run::FaceExit;
use crate::text::clean::clean_text;
use crate::text::theme::Theme;

mod asked;
mod asks;
mod clipboard;
mod heard;
mod offscreen;
mod opening;
mod picks;
mod state;
mod stream;
mod tell;
#[cfg(test)]
mod tests;
mod typed;
mod views;
mod words;

pub(crate) use offscreen::OffscreenTalk;
use state::PlainTalk;
use typed::{LINES_WAITING_MAX, LineSource, TypedLine, TypingStart};

/// Printed text that may wait to be taken, in bytes; past it no more news is taken.
const PRINT_BYTES_MAX: usize = 256 * 1024;
/// How long the other end may take to give the session back.
const LEAVE_MS_MAX: u64 = 10_000;

/// The exit status where something was asked that nobody was left to answer, as `weir run` has it.
const UNANSWERED: u8 = 4;

/// How line mode is to be.
#[derive(Debug, Clone)]
pub struct PlainOptions {
    /// Everything in words and whole paragraphs, without colours.
    pub screen_reader: bool,
    /// Colours of labels; `None`, or one without colours: no escape sequence is ever written.
    pub theme: Option<Theme>,
    /// A prompt is printed when it is the person's turn.
    pub prompt: bool,
    /// Standard input is a terminal: its end means to leave at once. What comes from a pipe is
    /// worked off first.
    pub terminal: bool,
    /// Begins the names of the messages that are sent; no other face may use it.
    pub name: String,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// What stands there first.
    pub start: StartScreen,
    /// What is said as soon as a session is open.
    pub first: Option<String>,
}

/// Line mode had to end.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    /// Standard output cannot be written to.
    #[error("the conversation cannot be printed: {0}")]
    Write(#[source] io::Error),
    /// Signals cannot be heard, so nothing would be given back.
    #[error("signals cannot be waited for: {0}")]
    Signals(#[source] io::Error),
}

/// What interrupts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlainInterrupt {
    /// Ctrl-C.
    Run,
    /// The program is to end, by the signal of this number.
    Program(u8),
}

/// Talks on standard input and output until the person or the other end leaves.
///
/// # Errors
/// Standard output is gone, or signals cannot be heard.
pub async fn run(link: UiChannel, options: PlainOptions) -> Result<FaceExit, PlainError> {
    let (tell, interrupts) = mpsc::channel(LINES_WAITING_MAX);
    let mut ctrl_c = signal(SignalKind::interrupt()).map_err(PlainError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(PlainError::Signals)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(PlainError::Signals)?;
    let signals = async move {
        loop {
            let what = tokio::select! {
                _ = ctrl_c.recv() => PlainInterrupt::Run,
                _ = terminate.recv() => PlainInterrupt::Program(15),
                _ = hang_up.recv() => PlainInterrupt::Program(1),
            };
            if tell.send(what).await.is_err() {
                return std::future::pending::<FaceExit>().await;
            }
        }
    };
    let lines = LineSource::of_input(options.terminal);
    let ends = LineModeIo { lines, interrupts, out: tokio::io::stdout() };
    tokio::select! {
        left = run_talk(link, options, ends) => left,
        left = signals => Ok(left),
    }
}

/// Where lines come from and go to.
pub(crate) struct LineModeIo<W> {
    /// What is typed.
    pub(crate) lines: LineSource,
    /// Signals.
    pub(crate) interrupts: mpsc::Receiver<PlainInterrupt>,
    /// What is printed.
    pub(crate) out: W,
}

/// One thing that happened.
enum LoopEvent {
    News(Option<UiUpdate>),
    Line(Option<TypedLine>),
    Interrupt(PlainInterrupt),
    Wished,
    /// So many bytes; none: they were passed on.
    Printed(Option<usize>),
    TooLate,
}

/// Talks over these ends.
pub(crate) async fn run_talk<W: AsyncWrite + Unpin>(
    link: UiChannel,
    options: PlainOptions,
    ends: LineModeIo<W>,
) -> Result<FaceExit, PlainError> {
    let UiChannel { wishes, mut news } = link;
    let LineModeIo { mut lines, mut interrupts, mut out } = ends;
    let mut talk = PlainTalk::new(options);
    let mut left = FaceExit::default();
    let mut late = None;
    let mut reads = true;
    let mut printing = PrintBuffer::default();
    let mut asked = ReadableAsks(talk.ask_print_count());
    loop {
        printing.push_text(&talk.take_output());
        asked.update_readable(&talk, &printing, &mut lines);
        if talk.is_leaving() && late.is_none() {
            late = Some(Instant::now() + Duration::from_millis(LEAVE_MS_MAX));
        }
        // Whoever cannot be told anything more for the moment is not asked for more; signals and
        // wishes go on.
        let room = printing.waiting.len() < PRINT_BYTES_MAX;
        let happened = tokio::select! {
            biased;
            Some(what) = interrupts.recv() => LoopEvent::Interrupt(what),
            place = wishes.reserve(), if talk.has_wishes() => match (place, talk.next_command()) {
                (Ok(place), Some(wish)) => {
                    place.send(wish);
                    LoopEvent::Wished
                }
                _ => LoopEvent::News(None),
            },
            done = printing.write_some(&mut out), if printing.is_owed() => {
                LoopEvent::Printed(done.map_err(PlainError::Write)?)
            }
            heard = news.recv(), if room => LoopEvent::News(heard),
            line = lines.next(), if reads && room && late.is_none() && asked.takes_lines(&talk) => {
                LoopEvent::Line(line)
            }
            () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() => {
                LoopEvent::TooLate
            }
        };
        match happened {
            LoopEvent::News(Some(what)) => {
                if let Err(why) = talk.handle_update(what) {
                    left.why = why.map(|why| clean_text(&why).into_owned());
                    break;
                }
            }
            LoopEvent::News(None) | LoopEvent::TooLate => break,
            LoopEvent::Line(Some(line)) => {
                talk.handle_line(&line.text, asked.typing_start(&talk, &line))
            }
            LoopEvent::Line(None) => {
                reads = false;
                talk.handle_end_of_input();
            }
            LoopEvent::Interrupt(PlainInterrupt::Run) if talk.handle_interrupt() => break,
            LoopEvent::Interrupt(PlainInterrupt::Program(_)) if talk.is_leaving() => break,
            LoopEvent::Interrupt(PlainInterrupt::Program(number)) => {
                left.code = 128 + number;
                talk.leave();
            }
            LoopEvent::Interrupt(PlainInterrupt::Run) | LoopEvent::Wished => (),
            LoopEvent::Printed(count) => printing.mark_printed(count),
        }
    }
    if left.code == 0 && talk.is_unanswered() {
        left.code = UNANSWERED;
    }
    left.resume = talk.print_farewell();
    printing.push_text(&talk.take_output());
    print_last(&mut out, &printing.waiting).await.map(|()| left)
}

/// What is still to be printed, unless nobody takes it: then it is left all the same.
async fn print_last<W: AsyncWrite + Unpin>(out: &mut W, waiting: &[u8]) -> Result<(), PlainError> {
    let last = async {
        out.write_all(waiting).await?;
        out.flush().await
    };
    let printed = timeout(Duration::from_millis(LEAVE_MS_MAX), last).await;
    printed.unwrap_or(Ok(())).map_err(PlainError::Write)
}

/// How much of what asks could be read when lines were looked at last.
struct ReadableAsks(usize);

impl ReadableAsks {
    /// Whatever was typed until a question can be read was not typed for it.
    fn update_readable(
        &mut self,
        talk: &PlainTalk,
        printing: &PrintBuffer,
        lines: &mut LineSource,
    ) {
        if !self.is_readable(talk) && !printing.is_owed() {
            self.0 = talk.ask_print_count();
            lines.mark_asked();
        }
    }

    /// Whether the next line is taken now. Nobody knows when a line of a file or a pipe was written: it
    /// is left there until what asks can be read, so that the same lines always do the same.
    fn takes_lines(&self, talk: &PlainTalk) -> bool {
        talk.takes_lines() && (talk.is_at_terminal() || self.is_readable(talk))
    }

    fn typing_start(&self, talk: &PlainTalk, line: &TypedLine) -> TypingStart {
        if self.is_readable(talk) { line.begun } else { TypingStart::Before }
    }

    fn is_readable(&self, talk: &PlainTalk) -> bool {
        self.0 == talk.ask_print_count()
    }
}

/// What is to be printed and was not taken yet.
#[derive(Default)]
struct PrintBuffer {
    waiting: Vec<u8>,
    unflushed: bool,
}

impl PrintBuffer {
    fn push_text(&mut self, text: &str) {
        self.waiting.extend_from_slice(text.as_bytes());
    }

    fn is_owed(&self) -> bool {
        !self.waiting.is_empty() || self.unflushed
    }

    /// Writes some of it, or passes on what was written. May be dropped and called again.
    async fn write_some<W: AsyncWrite + Unpin>(&self, out: &mut W) -> io::Result<Option<usize>> {
        if self.waiting.is_empty() {
            return out.flush().await.map(|()| None);
        }
        match out.write(&self.waiting).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => Ok(Some(count)),
        }
    }

    fn mark_printed(&mut self, count: Option<usize>) {
        self.waiting.drain(..count.unwrap_or(0));
        self.unflushed = count.is_some();
    }
}
