//! Line mode: the same talk for terminals without abilities and for screen readers (F1). Whole
//! lines in through the terminal's own editing, finished lines out; no cursor movement, no redrawing, no
//! raw mode.
//!
//! What asks is answered with typed words; only a clear yes is one. Reading order: `state`,
//! `heard`, `asks`, `commands`. Not here: what somebody meant by a line that asks nothing, which is the
//! session's.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use weir_core::ids::Timestamp;

use crate::link::{Link, News};
use crate::options::Start;
use crate::run::Left;
use crate::text::clean::clean;
use crate::text::theme::Theme;

mod asked;
mod asks;
mod clipboard;
mod commands;
mod heard;
mod offscreen;
mod picks;
mod state;
mod stream;
mod tell;
#[cfg(test)]
mod tests;
mod typed;
mod words;

pub(crate) use offscreen::OffscreenTalk;
use state::Talk;
use typed::{Begun, LINES_WAITING_MAX, Lines, Typed};

/// Printed text that may wait to be taken, in bytes; past it no more news is taken.
const PRINT_BYTES_MAX: usize = 256 * 1024;
/// How long the other end may take to give the session back.
const LEAVE_MS_MAX: u64 = 10_000;

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
    pub start: Start,
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
pub(crate) enum Interrupt {
    /// Ctrl-C.
    Run,
    /// The program is to end, by the signal of this number.
    Program(u8),
}

/// Talks on standard input and output until the person or the other end leaves.
///
/// # Errors
/// Standard output is gone, or signals cannot be heard.
pub async fn run(link: Link, options: PlainOptions) -> Result<Left, PlainError> {
    let (tell, interrupts) = mpsc::channel(LINES_WAITING_MAX);
    let mut ctrl_c = signal(SignalKind::interrupt()).map_err(PlainError::Signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(PlainError::Signals)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(PlainError::Signals)?;
    let signals = async move {
        loop {
            let what = tokio::select! {
                _ = ctrl_c.recv() => Interrupt::Run,
                _ = terminate.recv() => Interrupt::Program(15),
                _ = hang_up.recv() => Interrupt::Program(1),
            };
            if tell.send(what).await.is_err() {
                return std::future::pending::<Left>().await;
            }
        }
    };
    let lines = Lines::of_input(options.terminal);
    let ends = Ends { lines, interrupts, out: tokio::io::stdout() };
    tokio::select! {
        left = talk(link, options, ends) => left,
        left = signals => Ok(left),
    }
}

/// Where lines come from and go to.
pub(crate) struct Ends<W> {
    /// What is typed.
    pub(crate) lines: Lines,
    /// Signals.
    pub(crate) interrupts: mpsc::Receiver<Interrupt>,
    /// What is printed.
    pub(crate) out: W,
}

/// One thing that happened.
enum Happened {
    News(Option<News>),
    Line(Option<Typed>),
    Interrupt(Interrupt),
    Wished,
    /// So many bytes; none: they were passed on.
    Printed(Option<usize>),
    TooLate,
}

/// Talks over these ends.
pub(crate) async fn talk<W: AsyncWrite + Unpin>(
    link: Link,
    options: PlainOptions,
    ends: Ends<W>,
) -> Result<Left, PlainError> {
    let Link { wishes, mut news } = link;
    let Ends { mut lines, mut interrupts, mut out } = ends;
    let mut talk = Talk::new(options);
    let mut left = Left::default();
    let mut late = None;
    let mut reads = true;
    let mut printing = Printing::default();
    let mut asked = Asked(talk.asked());
    loop {
        printing.add(&talk.printed());
        asked.follow(&talk, &printing, &mut lines);
        if talk.is_leaving() && late.is_none() {
            late = Some(Instant::now() + Duration::from_millis(LEAVE_MS_MAX));
        }
        // Whoever cannot be told anything more for the moment is not asked for more; signals and
        // wishes go on.
        let room = printing.waiting.len() < PRINT_BYTES_MAX;
        let happened = tokio::select! {
            biased;
            Some(what) = interrupts.recv() => Happened::Interrupt(what),
            place = wishes.reserve(), if talk.has_wishes() => match (place, talk.wished()) {
                (Ok(place), Some(wish)) => {
                    place.send(wish);
                    Happened::Wished
                }
                _ => Happened::News(None),
            },
            done = printing.some(&mut out), if printing.is_owed() => {
                Happened::Printed(done.map_err(PlainError::Write)?)
            }
            heard = news.recv(), if room => Happened::News(heard),
            line = lines.next(), if reads && room && late.is_none() && talk.takes_lines() => {
                Happened::Line(line)
            }
            () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() => {
                Happened::TooLate
            }
        };
        match happened {
            Happened::News(Some(what)) => {
                if let Err(why) = talk.heard(what) {
                    left.why = why.map(|why| clean(&why).into_owned());
                    break;
                }
            }
            Happened::News(None) | Happened::TooLate => break,
            Happened::Line(Some(line)) => talk.line(&line.text, asked.begun(&talk, &line)),
            Happened::Line(None) => {
                reads = false;
                talk.ended();
            }
            Happened::Interrupt(Interrupt::Run) if talk.interrupted() => break,
            Happened::Interrupt(Interrupt::Program(_)) if talk.is_leaving() => break,
            Happened::Interrupt(Interrupt::Program(number)) => {
                left.code = 128 + number;
                talk.leave();
            }
            Happened::Interrupt(Interrupt::Run) | Happened::Wished => (),
            Happened::Printed(count) => printing.printed(count),
        }
    }
    left.resume = talk.farewell();
    printing.add(&talk.printed());
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
struct Asked(usize);

impl Asked {
    /// Whatever was typed until a question can be read was not typed for it.
    fn follow(&mut self, talk: &Talk, printing: &Printing, lines: &mut Lines) {
        if self.0 != talk.asked() && !printing.is_owed() {
            self.0 = talk.asked();
            lines.asked();
        }
    }

    fn begun(&self, talk: &Talk, line: &Typed) -> Begun {
        if self.0 == talk.asked() { line.begun } else { Begun::Before }
    }
}

/// What is to be printed and was not taken yet.
#[derive(Default)]
struct Printing {
    waiting: Vec<u8>,
    unflushed: bool,
}

impl Printing {
    fn add(&mut self, text: &str) {
        self.waiting.extend_from_slice(text.as_bytes());
    }

    fn is_owed(&self) -> bool {
        !self.waiting.is_empty() || self.unflushed
    }

    /// Writes some of it, or passes on what was written. May be dropped and called again.
    async fn some<W: AsyncWrite + Unpin>(&self, out: &mut W) -> io::Result<Option<usize>> {
        if self.waiting.is_empty() {
            return out.flush().await.map(|()| None);
        }
        match out.write(&self.waiting).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            count => Ok(Some(count)),
        }
    }

    fn printed(&mut self, count: Option<usize>) {
        self.waiting.drain(..count.unwrap_or(0));
        self.unflushed = count.is_some();
    }
}
