//! What comes from the terminal and from outside, one after another.

use std::time::Instant;

use crossterm::event::KeyEvent;
use tokio::sync::mpsc::Receiver;

use super::{TerminalSignal, TerminalSize};

/// Events that wait to be taken; the thread that reads waits when there are more.
pub(super) const EVENTS_MAX: usize = 1024;

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalEvent {
    /// A key was pressed, and read then. Releases are not told.
    Key(KeyEvent, Instant),
    /// Text was pasted; line breaks are `\n`. It is not cleaned. One of more than 16 MiB comes in
    /// parts.
    Paste(String),
    /// The window is looked at, or no longer.
    Focus(bool),
    /// The terminal has another size, which may be nothing.
    Resize(TerminalSize),
    /// A signal came.
    Signal(TerminalSignal),
    /// The terminal is gone; nothing follows.
    Ended,
}

/// The stream of events.
#[derive(Debug)]
pub struct TerminalEvents {
    pub(super) receiver: Receiver<TerminalEvent>,
}

impl TerminalEvents {
    /// Waits for the next one. May be dropped and called again without losing any.
    pub async fn next(&mut self) -> TerminalEvent {
        self.receiver.recv().await.unwrap_or(TerminalEvent::Ended)
    }

    /// The next one, if it is there already: so that a run of keys is taken before one paint.
    pub fn try_next(&mut self) -> Option<TerminalEvent> {
        self.receiver.try_recv().ok()
    }
}
