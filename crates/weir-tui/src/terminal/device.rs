//! The terminal that the program owns from `open` to the end.
//!
//! It ties the painter to the thread that writes and the thread that reads. It decides nothing:
//! what is shown, and what a key or a signal means, is for `app`.

use std::io;
use std::sync::Arc;

use ratatui::text::Line;
use rustix::process::{Signal, getpgrp, getsid, kill_current_process_group};
use tokio::sync::mpsc;

use super::events::EVENTS_MAX;
use super::reader::InputReader;
use super::writer::TerminalWriter;
use super::{
    TerminalCaps, TerminalEvents, TerminalFrame, TerminalPainter, TerminalSize, notice, restore,
    signals,
};

/// What a person may not want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// The window's title is set.
    pub title: bool,
    /// It is told when something happens while nobody looks.
    pub notify: bool,
}

impl Default for TerminalOptions {
    fn default() -> TerminalOptions {
        TerminalOptions { title: true, notify: true }
    }
}

/// How a stop (Ctrl-Z) went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// The program was stopped and goes on now.
    Continued,
    /// There is no shell that could let it go on, so it was not stopped.
    NoShell,
}

/// The terminal. Dropping it gives it back.
#[derive(Debug)]
pub struct Terminal {
    painter: TerminalPainter,
    caps: TerminalCaps,
    options: TerminalOptions,
    outlet: Arc<TerminalWriter>,
    reader: InputReader,
    focused: bool,
    titled: Option<String>,
}

impl Terminal {
    /// Takes the terminal. There can be one at a time, and only within a runtime.
    pub fn open(
        caps: TerminalCaps,
        options: TerminalOptions,
    ) -> io::Result<(Terminal, TerminalEvents)> {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        let outlet = TerminalWriter::start(caps.answers)?;
        if !restore::take_terminal(caps, Arc::clone(&outlet))? {
            return Err(io::Error::other("the terminal is in use by this program already"));
        }
        let opened = signals::listen_for_signals(sender.clone())
            .and_then(|()| InputReader::start(sender, Arc::clone(&outlet)));
        let reader = match opened {
            Ok(reader) => reader,
            Err(error) => {
                restore::give_back(None);
                return Err(error);
            }
        };
        let painter = TerminalPainter::new(signals::terminal_size(), caps);
        let terminal =
            Terminal { painter, caps, options, outlet, reader, focused: true, titled: None };
        Ok((terminal, TerminalEvents { receiver }))
    }

    /// The size for which it paints.
    pub fn size(&self) -> TerminalSize {
        self.painter.size()
    }

    /// What it can do.
    pub fn caps(&self) -> TerminalCaps {
        self.caps
    }

    /// `TerminalEvent::Resize` came.
    pub fn set_size(&mut self, size: TerminalSize) {
        self.painter.set_size(size);
    }

    /// The next paint writes everything again (Ctrl-L).
    pub fn redraw(&mut self) {
        self.painter.redraw();
    }

    /// The last paint has been written: the next may be composed. While this is `false` only the
    /// state changes, and one paint shows it later.
    pub fn is_ready(&self) -> bool {
        self.outlet.check_ready().is_ok()
    }

    /// Waits until [`Terminal::is_ready`]. May be dropped and called again.
    pub async fn wait_until_drained(&self) {
        self.outlet.wait_until_drained().await;
    }

    /// The terminal takes nothing any more.
    pub fn is_broken(&self) -> bool {
        self.outlet.is_broken()
    }

    /// Brings the screen to this. On a slow terminal some finished lines may be left for the next
    /// paint: see [`Terminal::is_behind`].
    pub fn paint_frame(&mut self, frame: TerminalFrame) {
        self.painter.set_budget(self.outlet.frame_budget());
        let bytes = self.painter.paint_frame(frame);
        self.send_bytes(&bytes);
    }

    /// Finished lines wait for the next paint: the screen is to be painted again, although nothing
    /// changed (`PaintPace::touch` after `PaintPace::mark_painted`).
    pub fn is_behind(&self) -> bool {
        self.painter.is_behind()
    }

    /// Brings the whole screen to these lines, above the live region, until
    /// [`Terminal::leave_full`] or the next paint.
    pub fn paint_full_screen(&mut self, lines: &[Line<'_>], cursor: Option<(usize, usize)>) {
        let bytes = self.painter.paint_full_screen(lines, cursor);
        self.send_bytes(&bytes);
    }

    /// Back to the live region.
    pub fn leave_full(&mut self) {
        let bytes = self.painter.leave_full();
        self.send_bytes(&bytes);
    }

    /// Sets the window's title.
    pub fn set_title(&mut self, text: &str) {
        if !self.options.title || !self.caps.title || self.titled.as_deref() == Some(text) {
            return;
        }
        if self.titled.is_none() {
            // Keeps the title that is there, for the end.
            self.outlet.send_bytes(b"\x1b[22;2t");
        }
        self.titled = Some(text.to_owned());
        self.outlet.send_bytes(&notice::title_sequence(text));
    }

    /// `TerminalEvent::Focus` came.
    pub fn set_focus(&mut self, focused: bool) {
        self.focused = focused;
    }

    /// Something happened that a person waits for. Said only when nobody looks.
    pub fn notify_person(&mut self, text: &str) {
        if self.options.notify && !self.focused {
            self.outlet.send_bytes(&notice::notice_sequence(text, self.caps.notify));
        }
    }

    /// Puts a text into the clipboard, where the terminal does that for programs.
    pub fn copy_to_clipboard(&mut self, text: &str) {
        self.outlet.send_bytes(&notice::clipboard_sequence(text));
    }

    /// What is printed last, whatever ends the program: how to come back.
    pub fn set_farewell(&mut self, text: Option<String>) {
        restore::set_farewell(text);
    }

    /// Lends the terminal to another program: raw mode and reading end, the live region goes away.
    pub fn suspend(&mut self) -> io::Result<()> {
        let end = self.painter.suspend();
        restore::lend_terminal(&end, || self.reader.pause())
    }

    /// Takes it again. The next paint shows the live region below what the other wrote.
    pub fn resume(&mut self) -> io::Result<()> {
        restore::enter_raw_mode()?;
        self.painter.resume(signals::terminal_size());
        self.reader.resume();
        Ok(())
    }

    /// Ctrl-Z, or `TerminalSignal::Suspend`: stops the program and all that belongs to its job, and comes
    /// back when the shell lets it go on.
    pub fn stop_job(&mut self) -> io::Result<StopOutcome> {
        // The group that leads the session has no shell above it; nobody could let it go on.
        if getsid(None)? == getpgrp() {
            return Ok(StopOutcome::NoShell);
        }
        self.suspend()?;
        let stopped = kill_current_process_group(Signal::STOP);
        self.resume()?;
        stopped?;
        Ok(StopOutcome::Continued)
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        let (below, full) = self.painter.rows_below();
        restore::note_position(below, full);
        self.outlet.send_bytes(bytes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.titled.is_some() {
            self.outlet.send_bytes(b"\x1b[23;2t");
        }
        let end = self.painter.end_painting();
        restore::give_back(Some(&end));
    }
}
