//! What the keys of the table do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::{App, Armed, Local, QUIET_MS, TWICE_MS};
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
            Act::NextMode => self.turn_mode(true),
            Act::PreviousMode => self.turn_mode(false),
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

    /// One mode on or back. What asks more holds at once; what asks less is put to the person first:
    /// a key that was meant for something else, or a tab in pasted text, never widens anything.
    fn turn_mode(&mut self, forward: bool) {
        let holds = self.permission();
        let from = self.widening.take().map_or(holds, |(mode, _)| mode);
        let mode = self.cycled(from, forward);
        if is_wider(mode, holds) {
            self.hint = None;
            self.widening = Some((mode, self.now));
        } else if mode != holds {
            self.mode(mode);
        }
    }

    /// A key while a wider mode is asked about: Enter takes it, once the person can have read what it
    /// says; everything else leaves it. Whether the key was for that alone.
    pub(crate) fn key_for_widening(&mut self, key: KeyEvent) -> bool {
        let Some((mode, since)) = self.widening else { return false };
        let turns = matches!(key.code, KeyCode::Tab | KeyCode::BackTab);
        if self.asks() || !self.screens.is_empty() {
            self.widening = None;
            return false;
        }
        match key.code {
            KeyCode::Enter if key.modifiers.is_empty() => {
                if self.now.ms_since(since) >= QUIET_MS {
                    self.mode(mode);
                }
                true
            }
            KeyCode::Esc => {
                self.widening = None;
                true
            }
            _ => {
                if !turns {
                    self.widening = None;
                }
                false
            }
        }
    }

    /// Another permission mode. The next key goes on from it; what holds is told by a fact.
    pub(crate) fn mode(&mut self, mode: PermissionMode) {
        self.widening = None;
        if mode == PermissionMode::Full {
            self.full = crate::options::FullMode::Cycled;
        }
        self.wanted.permission = Some(mode);
        self.wishes.push(Wish::Mode(mode));
    }

    /// The question that a wider mode puts, while it does.
    pub(crate) fn widening_words(&self) -> Option<String> {
        let (mode, _) = self.widening?;
        let what = match mode {
            PermissionMode::Plan => "nothing is changed",
            PermissionMode::Ask => "changes are possible, and you are asked before each",
            PermissionMode::AutoEdit => "files of the workspace are changed without asking",
            PermissionMode::Full => "everything that nothing forbids is done without asking",
        };
        let holds = self.permission();
        Some(format!("Enter: mode {mode}, {what} · any other key: it stays {holds}"))
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

/// Whether `mode` asks less than `than`.
fn is_wider(mode: PermissionMode, than: PermissionMode) -> bool {
    let rank = |mode| PermissionMode::ALL.iter().position(|one| *one == mode);
    rank(mode) > rank(than)
}
