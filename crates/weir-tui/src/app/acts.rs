//! What the keys of the table do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::{App, Armed, Local, TWICE_MS};
use crate::keys::Act;
use crate::link::{Tone, Wish};
use crate::screen::open;

impl App {
    /// Does it. Whether there was anything to do: what does nothing is left to the box.
    pub(crate) fn act(&mut self, act: Act) -> bool {
        if !matches!(act, Act::Stop | Act::Interrupt | Act::Repaint) {
            self.armed = None;
        }
        match act {
            Act::Interrupt => self.escape(),
            Act::Stop => self.stop(),
            Act::Leave => self.leave(),
            Act::Suspend => self.acts.push(Local::Suspend),
            Act::NextMode => self.mode(self.cycled(true)),
            Act::PreviousMode => self.mode(self.cycled(false)),
            Act::Thinking => {
                let now = self.wanted.thinking.unwrap_or(self.fold.settings.thinking);
                self.think(match now {
                    Thinking::Off => Thinking::Low,
                    Thinking::Low => Thinking::Medium,
                    Thinking::Medium => Thinking::High,
                    Thinking::High => Thinking::Off,
                });
            }
            Act::Transcript => {
                let screen = open::transcript();
                self.open_screen(screen);
            }
            Act::Repaint => self.acts.push(Local::Repaint),
            Act::Help => {
                let screen = open::help();
                self.open_screen(screen);
            }
            Act::TakeBack => return self.take_back(),
        }
        true
    }

    /// Another permission mode. The next key goes on from it; what holds is told by a fact.
    pub(crate) fn mode(&mut self, mode: PermissionMode) {
        if mode == PermissionMode::Full {
            self.full = crate::run::FullMode::Cycled;
        }
        self.wanted.permission = Some(mode);
        self.wishes.push(Wish::Mode(mode));
    }

    /// How much the model thinks, as soon as a fact says so.
    pub(crate) fn think(&mut self, thinking: Thinking) {
        self.wanted.thinking = Some(thinking);
        self.wishes.push(Wish::Thinking(thinking));
        let words = match thinking {
            Thinking::Off => "Thinking: off",
            Thinking::Low => "Thinking: low",
            Thinking::Medium => "Thinking: medium",
            Thinking::High => "Thinking: high",
        };
        self.hint(Tone::Quiet, words);
    }

    /// Leaves: nothing is taken any more.
    pub(crate) fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.screens.clear();
            self.wishes.push(Wish::Leave);
            self.dirty = true;
        }
    }

    /// Whether this key was pressed just before.
    fn again(&mut self, what: Armed) -> bool {
        let now = self.now;
        let pressed = self.armed.take();
        pressed.is_some_and(|(armed, at)| armed == what && now.ms_since(at) <= TWICE_MS)
    }

    fn escape(&mut self) {
        if self.end_shell() {
            return;
        }
        if self.fold.running() {
            self.interrupt();
        } else if self.again(Armed::Rewind) {
            self.hint = None;
            let screen = open::rewind();
            self.open_screen(screen);
        } else if self.fold.transcript.entries().iter().any(|entry| entry.said().is_some()) {
            self.armed = Some((Armed::Rewind, self.now));
            self.hint(Tone::Quiet, "Esc again: back to an earlier message");
        }
    }

    fn stop(&mut self) {
        // What runs is ended; only where nothing does, a second press leaves.
        let again = self.again(Armed::Leave);
        if self.end_shell() {
        } else if self.fold.running() {
            self.interrupt();
        } else if again {
            self.leave();
        } else if !self.composer.is_empty() {
            // The box keeps what was in it among the earlier messages.
            self.composer.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        } else {
            self.armed = Some((Armed::Leave, self.now));
            self.hint(Tone::Quiet, "Ctrl-C again leaves");
        }
    }
}
