//! The terminal: what is to be seen turned into bytes, and bytes from the keyboard into events.
//!
//! `painter` and what it uses (`row`, `pen`, `stroke`), `caps`, `pace`, `flow`, `keys` and `notice`
//! are pure. `device` owns the terminal, `writer` and `reader` its two directions, `restore` the way
//! back. Not here: what is shown (`app`, `screen`), and how text is cleaned and broken (`text`).

mod caps;
mod device;
mod events;
mod flow;
mod keys;
mod keys_csi;
mod notice;
mod pace;
mod painter;
mod pen;
mod reader;
mod restore;
mod row;
mod signals;
mod stroke;
mod writer;

use ratatui::text::Line;

pub use self::caps::{NotifyMethod, TerminalCaps, TerminalEnds};
pub use self::device::{StopOutcome, Terminal, TerminalOptions};
pub use self::events::{TerminalEvent, TerminalEvents};
pub use self::pace::PaintPace;
pub use self::painter::TerminalPainter;
pub use self::signals::TerminalSignal;

/// Cells across and rows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TerminalSize {
    /// Cells in a row.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

impl TerminalSize {
    /// There is a place to paint on.
    pub fn is_some(self) -> bool {
        self.columns > 0 && self.rows > 0
    }
}

/// What is to be on the screen.
///
/// Lines are broken to the width before; one that is too wide is cut. Control characters in them
/// are dropped: that is the last guard, the first is `text::clean`.
#[derive(Debug, Clone, Default)]
pub struct TerminalFrame {
    /// Lines that will not change again. They are given once, and scroll into the terminal's own
    /// scrollback.
    pub finished: Vec<Line<'static>>,
    /// The lines below them that may change. When there are more than rows, those around the cursor
    /// are shown.
    pub live: Vec<Line<'static>>,
    /// Row of `live` and cell in it; none: the cursor is hidden.
    pub cursor: Option<(usize, usize)>,
}
