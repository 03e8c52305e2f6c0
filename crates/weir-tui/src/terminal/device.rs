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
use super::reader::Reader;
use super::writer::Outlet;
use super::{Caps, Events, Frame, Painter, Size, notice, restore, signals};

/// What a person may not want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The window's title is set.
    pub title: bool,
    /// It is told when something happens while nobody looks.
    pub notify: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { title: true, notify: true }
    }
}

/// How a stop (Ctrl-Z) went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The program was stopped and goes on now.
    Continued,
    /// There is no shell that could let it go on, so it was not stopped.
    NoShell,
}

/// The terminal. Dropping it gives it back.
#[derive(Debug)]
pub struct Terminal {
    painter: Painter,
    caps: Caps,
    options: Options,
    outlet: Arc<Outlet>,
    reader: Reader,
    focused: bool,
    titled: Option<String>,
}

impl Terminal {
    /// Takes the terminal. There can be one at a time, and only within a runtime.
    pub fn open(caps: Caps, options: Options) -> io::Result<(Terminal, Events)> {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        let outlet = Outlet::start(caps.answers)?;
        if !restore::take(caps, Arc::clone(&outlet))? {
            return Err(io::Error::other("the terminal is in use by this program already"));
        }
        let opened = signals::listen(sender.clone())
            .and_then(|()| Reader::start(sender, Arc::clone(&outlet)));
        let reader = match opened {
            Ok(reader) => reader,
            Err(error) => {
                restore::give_back(None);
                return Err(error);
            }
        };
        let painter = Painter::new(signals::size(), caps);
        let terminal =
            Terminal { painter, caps, options, outlet, reader, focused: true, titled: None };
        Ok((terminal, Events { receiver }))
    }

    /// The size for which it paints.
    pub fn size(&self) -> Size {
        self.painter.size()
    }

    /// What it can do.
    pub fn caps(&self) -> Caps {
        self.caps
    }

    /// `Event::Resize` came.
    pub fn resized(&mut self, size: Size) {
        self.painter.resized(size);
    }

    /// The next paint writes everything again (Ctrl-L).
    pub fn redraw(&mut self) {
        self.painter.redraw();
    }

    /// The last paint has been written: the next may be composed. While this is `false` only the
    /// state changes, and one paint shows it later.
    pub fn ready(&self) -> bool {
        self.outlet.ready().is_ok()
    }

    /// Waits until [`Terminal::ready`]. May be dropped and called again.
    pub async fn drained(&self) {
        self.outlet.drained().await;
    }

    /// The terminal takes nothing any more.
    pub fn is_broken(&self) -> bool {
        self.outlet.is_broken()
    }

    /// Brings the screen to this. On a slow terminal some finished lines may be left for the next
    /// paint: see [`Terminal::is_behind`].
    pub fn paint(&mut self, frame: Frame) {
        self.painter.set_budget(self.outlet.budget());
        let bytes = self.painter.paint(frame);
        self.send(&bytes);
    }

    /// Finished lines wait for the next paint: the screen is to be painted again, although nothing
    /// changed (`Pace::touch` after `Pace::painted`).
    pub fn is_behind(&self) -> bool {
        self.painter.is_behind()
    }

    /// Brings the whole screen to these lines, above the live region, until
    /// [`Terminal::leave_full`] or the next paint.
    pub fn full(&mut self, lines: &[Line<'_>], cursor: Option<(usize, usize)>) {
        let bytes = self.painter.full(lines, cursor);
        self.send(&bytes);
    }

    /// Back to the live region.
    pub fn leave_full(&mut self) {
        let bytes = self.painter.leave_full();
        self.send(&bytes);
    }

    /// Sets the window's title.
    pub fn set_title(&mut self, text: &str) {
        if !self.options.title || !self.caps.title || self.titled.as_deref() == Some(text) {
            return;
        }
        if self.titled.is_none() {
            // Keeps the title that is there, for the end.
            self.outlet.send(b"\x1b[22;2t");
        }
        self.titled = Some(text.to_owned());
        self.outlet.send(&notice::title(text));
    }

    /// `Event::Focus` came.
    pub fn set_focus(&mut self, focused: bool) {
        self.focused = focused;
    }

    /// Something happened that a person waits for. Said only when nobody looks.
    pub fn notify(&mut self, text: &str) {
        if self.options.notify && !self.focused {
            self.outlet.send(&notice::notice(text, self.caps.notify));
        }
    }

    /// Puts a text into the clipboard, where the terminal does that for programs.
    pub fn copy(&mut self, text: &str) {
        self.outlet.send(&notice::copied(text));
    }

    /// What is printed last, whatever ends the program: how to come back.
    pub fn set_farewell(&mut self, text: Option<String>) {
        restore::farewell(text);
    }

    /// Lends the terminal to another program: raw mode and reading end, the live region goes away.
    pub fn suspend(&mut self) -> io::Result<()> {
        let end = self.painter.suspend();
        restore::lend(&end, || self.reader.pause())
    }

    /// Takes it again. The next paint shows the live region below what the other wrote.
    pub fn resume(&mut self) -> io::Result<()> {
        restore::enter()?;
        self.painter.resume(signals::size());
        self.reader.resume();
        Ok(())
    }

    /// Ctrl-Z, or `Signal::Suspend`: stops the program and all that belongs to its job, and comes
    /// back when the shell lets it go on.
    pub fn stop(&mut self) -> io::Result<Stopped> {
        // The group that leads the session has no shell above it; nobody could let it go on.
        if getsid(None)? == getpgrp() {
            return Ok(Stopped::NoShell);
        }
        self.suspend()?;
        let stopped = kill_current_process_group(Signal::STOP);
        self.resume()?;
        stopped?;
        Ok(Stopped::Continued)
    }

    fn send(&mut self, bytes: &[u8]) {
        let (below, full) = self.painter.below();
        restore::note(below, full);
        self.outlet.send(bytes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.titled.is_some() {
            self.outlet.send(b"\x1b[23;2t");
        }
        let end = self.painter.end();
        restore::give_back(Some(&end));
    }
}
