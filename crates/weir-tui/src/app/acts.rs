//! What the keys of the table do.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::{App, ArmedKey, QUIET_MS, TWICE_MS, TerminalAction};
use crate::keys::ChatAction;
use crate::link::{NoticeTone, UiCommand};
use crate::screen::open;
use crate::words::thinking_word;

impl App {
    /// Does it. Whether there was anything to do: what does nothing is left to the box.
    pub(crate) fn run_action(&mut self, act: ChatAction) -> bool {
        if !matches!(act, ChatAction::Stop | ChatAction::Interrupt | ChatAction::Repaint) {
            self.disarm();
        }
        match act {
            ChatAction::Interrupt => self.handle_escape(),
            ChatAction::Stop => self.stop_or_leave(),
            ChatAction::Leave => self.leave(),
            ChatAction::Suspend => self.acts.push(TerminalAction::Suspend),
            ChatAction::NextMode => self.turn_mode(true),
            ChatAction::PreviousMode => self.turn_mode(false),
            ChatAction::Thinking => {
                let now = self.wanted.thinking.unwrap_or(self.fold.settings.thinking);
                self.set_thinking(match now {
                    Thinking::Off => Thinking::Low,
                    Thinking::Low => Thinking::Medium,
                    Thinking::Medium => Thinking::High,
                    Thinking::High => Thinking::Off,
                });
            }
            ChatAction::Transcript => {
                let screen = open::transcript_screen();
                self.open_screen(screen);
            }
            ChatAction::Repaint => self.acts.push(TerminalAction::Repaint),
            ChatAction::Help => {
                let screen = open::help_screen();
                self.open_screen(screen);
            }
            ChatAction::TakeBack => return self.take_back(),
        }
        true
    }

    /// One mode on or back. What asks more holds at once; what asks less is put to the person first:
    /// a key that was meant for something else, or a tab in pasted text, never widens anything.
    fn turn_mode(&mut self, forward: bool) {
        let holds = self.effective_permission();
        let from = self.widening.take().map_or(holds, |(mode, _)| mode);
        let mode = self.next_permission_mode(from, forward);
        if is_wider(mode, holds) {
            self.hint = None;
            self.widening = Some((mode, self.now));
        } else if mode != holds {
            self.set_permission_mode(mode);
        }
    }

    /// A key while a wider mode is asked about: Enter takes it, once the person can have read what it
    /// says; everything else leaves it. Whether the key was for that alone.
    pub(crate) fn key_for_widening(&mut self, key: KeyEvent) -> bool {
        let Some((mode, since)) = self.widening else { return false };
        let turns = matches!(key.code, KeyCode::Tab | KeyCode::BackTab);
        if self.is_asking() || !self.screens.is_empty() {
            self.widening = None;
            return false;
        }
        match key.code {
            KeyCode::Enter if key.modifiers.is_empty() => {
                if self.now.ms_since(since) >= QUIET_MS {
                    self.set_permission_mode(mode);
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
    pub(crate) fn set_permission_mode(&mut self, mode: PermissionMode) {
        self.widening = None;
        if mode == PermissionMode::Full {
            self.full = crate::options::FullMode::Cycled;
        }
        self.wanted.permission = Some(mode);
        self.wishes.push(UiCommand::Mode(mode));
    }

    /// The question that a wider mode puts, while it does.
    pub(crate) fn widening_words(&self) -> Option<String> {
        let (mode, _) = self.widening?;
        let what = match mode {
            PermissionMode::Plan => "nothing is changed",
            PermissionMode::Ask => "changes are possible, and you are asked before each",
            PermissionMode::AutoEdit => "edits, confined commands and links ask nothing",
            PermissionMode::Full => "everything that nothing forbids is done without asking",
        };
        let holds = self.effective_permission();
        Some(format!("Enter: mode {mode}, {what} · any other key: it stays {holds}"))
    }

    /// How much the model thinks, as soon as a fact says so.
    pub(crate) fn set_thinking(&mut self, thinking: Thinking) {
        self.wanted.thinking = Some(thinking);
        self.wishes.push(UiCommand::Thinking(thinking));
        self.show_hint(NoticeTone::Quiet, format!("Thinking: {}", thinking_word(thinking)));
    }

    /// Leaves: nothing is taken any more.
    pub(crate) fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.screens.clear();
            self.wishes.push(UiCommand::Leave);
            self.dirty = true;
        }
    }

    /// Whether this key was pressed just before.
    fn is_second_press(&mut self, what: ArmedKey) -> bool {
        let now = self.now;
        let pressed = self.armed;
        self.disarm();
        pressed.is_some_and(|(armed, at)| armed == what && now.ms_since(at) < TWICE_MS)
    }

    fn handle_escape(&mut self) {
        if self.end_shell() {
            return;
        }
        if self.fold.is_running() {
            self.interrupt_run();
        } else if self.is_second_press(ArmedKey::Rewind) {
            let screen = open::rewind_screen();
            self.open_screen(screen);
        } else if self.fold.transcript.may_have_input() {
            self.arm(ArmedKey::Rewind, "Esc again: back to an earlier message");
        }
    }

    fn stop_or_leave(&mut self) {
        // What runs is ended; only where nothing does, a second press leaves.
        let again = self.is_second_press(ArmedKey::Leave);
        if self.end_shell() {
        } else if self.fold.is_running() {
            self.interrupt_run();
        } else if again {
            self.leave();
        } else if !self.composer.is_empty() {
            // The box keeps what was in it among the earlier messages.
            self.composer.handle_key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        } else {
            self.arm(ArmedKey::Leave, "Ctrl-C again leaves");
        }
    }
}

/// Whether `mode` asks less than `than`.
fn is_wider(mode: PermissionMode, than: PermissionMode) -> bool {
    let rank = |mode| PermissionMode::ALL.iter().position(|one| *one == mode);
    rank(mode) > rank(than)
}
