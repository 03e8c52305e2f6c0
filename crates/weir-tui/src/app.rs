//! The app: news and keys in, wishes and frames out. Pure; time comes in as an argument.
//!
//! What happened is folded by [`fold`]; what a person does is in [`input`] and [`commands`]; the
//! lines are made in [`crate::screen::chat`]. Not here: the terminal, the loop.

use std::cell::Cell;
use std::collections::BTreeMap;

use crossterm::event::KeyCode;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use crate::compose::{Composer, WrittenMessage};
use crate::link::{CommandTicket, NoticeTone, OpenSessionInfo, SlashCommandInfo, UiCommand};
use crate::options::{FaceOptions, FullMode, Motion, StartScreen, ThoughtDisplay};
use crate::screen::approval::{ApprovalDialog, DialogState};
use crate::screen::chat::{self, LastPrinted};
use crate::screen::question::QuestionDialog;
use crate::screen::{Screen, ScreenContext, ScreenView, open};
use crate::terminal::{TerminalFrame, TerminalSize};
use crate::text::theme::Theme;

pub(crate) mod acts;
mod command_acts;
pub(crate) mod commands;
mod earlier;
pub(crate) mod entries;
pub(crate) mod fold;
pub(crate) mod hear;
pub(crate) mod input;
pub(crate) mod lines;
pub(crate) mod notes;
pub(crate) mod painter;
pub(crate) mod say;
pub(crate) mod shell;
#[cfg(test)]
mod tests;
pub(crate) mod writing;

use fold::SessionFold;
use painter::{AppPainter, ShownView};

/// A dialog takes keys only when none came for so long: nobody answers by mistake while typing.
pub(crate) const QUIET_MS: u64 = 500;
/// A second press counts as one within this time.
pub(crate) const TWICE_MS: u64 = 2_000;
/// An answer of which nothing is heard for so long can be given again.
pub(crate) const ANSWER_MS: u64 = 15_000;
/// A hint stands so long.
pub(crate) const HINT_MS: u64 = 6_000;
/// While something runs, the screen changes by itself so often.
pub(crate) const TICK_MS: u64 = 250;
/// Screens that lie over each other at most.
pub(crate) const SCREENS_MAX: usize = 8;

/// What stands in the box while nothing else does.
pub(crate) const HINT: &str = "Say what to do · ? keys · / commands";

/// What is to be painted.
#[derive(Debug, Clone)]
pub(crate) enum AppFrame {
    /// The chat: its live region, and what goes to the scrollback.
    Chat(TerminalFrame),
    /// A screen over it.
    Full(ScreenView),
}

/// What only the terminal can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TerminalAction {
    /// The text of the box goes through an editor.
    Editor,
    /// The terminal is given back for a while.
    Suspend,
    /// Everything is painted anew.
    Repaint,
    /// Another theme.
    Theme(String),
    /// A person who looks elsewhere is told.
    Notify(String),
    /// The terminal puts this into the clipboard.
    Copy(String),
}

/// What stands in place of the box.
#[derive(Debug, Clone)]
pub(crate) enum Dialog {
    /// About a call.
    Approval(ApprovalDialog),
    /// About a question.
    Question(QuestionDialog),
}

/// A dialog, and whether it takes keys.
#[derive(Debug, Clone)]
pub(crate) struct ShownDialog {
    /// Name of the approval or question.
    pub(crate) name: String,
    /// It.
    pub(crate) dialog: Dialog,
    /// When it was first painted: before, nobody can have answered it. `None`: not yet.
    pub(crate) painted: Option<Timestamp>,
    /// It takes keys.
    pub(crate) focused: bool,
    /// From when on, where it took them by itself.
    pub(crate) focused_from: Option<Timestamp>,
    /// The person turned away from it by themselves: only they turn back.
    pub(crate) left: bool,
}

/// An answer that was given here and that no fact tells of yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnconfirmedAnswer {
    /// Name of the approval or question.
    pub(crate) name: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// What was wished for and does not hold yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PendingSettings {
    /// Permission mode.
    pub(crate) permission: Option<PermissionMode>,
    /// How much the model thinks.
    pub(crate) thinking: Option<Thinking>,
}

/// A line that goes by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    /// Made safe.
    pub(crate) text: String,
    /// How loud.
    pub(crate) tone: NoticeTone,
    /// Until when.
    pub(crate) until: Timestamp,
    /// It is about a key that is pressed again, and goes with that.
    pub(crate) of_armed: bool,
}

/// A key that does something only when it is pressed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArmedKey {
    /// Ctrl-C leaves.
    Leave,
    /// Esc goes back to an earlier message.
    Rewind,
}

/// The face, as far as it was told and used.
pub(crate) struct App {
    pub(crate) fold: SessionFold,
    pub(crate) composer: Composer,
    pub(crate) screens: Vec<Box<dyn Screen>>,
    pub(crate) shown: Option<ShownDialog>,
    /// The ask that was answered here and is not settled yet.
    pub(crate) answered: Option<UnconfirmedAnswer>,
    pub(crate) wanted: PendingSettings,
    /// A mode that asks less: it holds once Enter says so. Since when that is asked.
    pub(crate) widening: Option<(PermissionMode, Timestamp)>,
    pub(crate) about: OpenSessionInfo,
    /// A session is open.
    pub(crate) opened: bool,
    /// Whether the settings of what is open were told; they come after it.
    pub(crate) settings_known: bool,
    /// Everything that can be typed as `/name`.
    pub(crate) named: Vec<SlashCommandInfo>,
    pub(crate) hint: Option<Hint>,
    pub(crate) armed: Option<(ArmedKey, Timestamp)>,
    /// What was sent and did not arrive yet, by its name.
    pub(crate) sent: BTreeMap<String, WrittenMessage>,
    /// A copy of this session is to be opened; once it is, that is said.
    pub(crate) copying: Option<SessionId>,
    /// What of the last answer is to be copied, once that is read.
    pub(crate) copy_waits: Option<String>,
    /// What was said before a session was open.
    pub(crate) held: Vec<WrittenMessage>,
    pub(crate) shell: shell::ShellState,
    /// Why the connection is lost.
    pub(crate) lost: Option<String>,
    /// The face goes: nothing is taken any more.
    pub(crate) leaving: bool,
    /// It is over; why.
    pub(crate) over: Option<Option<String>>,
    pub(crate) wishes: Vec<UiCommand>,
    pub(crate) acts: Vec<TerminalAction>,
    /// Who paints it.
    pub(crate) painter: AppPainter,
    /// What is to be shown, where lines are painted.
    pub(crate) views: Vec<ShownView>,
    /// Begins the names of the messages that are sent; `None`: a name by the clock.
    pub(crate) sender: Option<String>,
    tickets: Cell<CommandTicket>,
    /// The last key that no screen took: those of a screen are no typing.
    pub(crate) pressed: Timestamp,
    /// The ask that had the keys when a screen was laid over it: it has them again afterwards.
    pub(crate) behind: Option<String>,
    /// The key that closed the last screen, and when it last came: held down, it goes nowhere else.
    pub(crate) closed_by: Option<(KeyCode, Timestamp)>,
    /// The latest moment that it was told of.
    pub(crate) now: Timestamp,
    pub(crate) motion: Motion,
    pub(crate) thoughts: ThoughtDisplay,
    pub(crate) full: FullMode,
    /// The terminal has no focus.
    pub(crate) away: bool,
    /// Something that is seen changed.
    pub(crate) dirty: bool,
    /// What was printed last, for the empty lines between.
    pub(crate) last: LastPrinted,
    pub(crate) theme: Theme,
}

impl App {
    /// A face of which nothing is known yet.
    pub(crate) fn new(options: &FaceOptions, theme: Theme, now: Timestamp) -> App {
        let mut app = App {
            fold: SessionFold::default(),
            composer: Composer::default(),
            screens: Vec::new(),
            shown: None,
            answered: None,
            wanted: PendingSettings::default(),
            widening: None,
            about: OpenSessionInfo::default(),
            opened: false,
            settings_known: false,
            named: Vec::new(),
            hint: None,
            armed: None,
            sent: BTreeMap::new(),
            copying: None,
            copy_waits: None,
            held: Vec::new(),
            shell: shell::ShellState::default(),
            lost: None,
            leaving: false,
            over: None,
            wishes: Vec::new(),
            acts: Vec::new(),
            painter: AppPainter::Screen,
            views: Vec::new(),
            sender: None,
            tickets: Cell::new(0),
            pressed: Timestamp(0),
            behind: None,
            closed_by: None,
            now,
            motion: options.motion,
            thoughts: options.thoughts,
            full: options.full,
            away: false,
            dirty: true,
            last: LastPrinted::Nothing,
            theme,
        };
        app.fold.settings.still = options.motion == Motion::Still;
        app.fold.settings.theme = app.theme.name.to_owned();
        app.set_named();
        app.composer.set_hint(HINT);
        if let Some(text) = options.first.as_ref().filter(|text| !text.trim().is_empty()) {
            app.held.push(WrittenMessage { text: text.clone(), ..WrittenMessage::default() });
        }
        if options.start == StartScreen::Sessions {
            app.open_screen(open::sessions_screen("", now));
        }
        app
    }

    /// What screens may know.
    pub(crate) fn screen_context<'a>(
        fold: &'a SessionFold,
        named: &'a [SlashCommandInfo],
        tickets: &'a Cell<CommandTicket>,
        now: Timestamp,
    ) -> ScreenContext<'a> {
        let (transcript, settings) = (&fold.transcript, &fold.settings);
        ScreenContext { transcript, settings, named, tickets, now }
    }

    /// Runs `f` with the uppermost screen.
    pub(crate) fn on_screen<T>(
        &mut self,
        f: impl FnOnce(&mut dyn Screen, &ScreenContext<'_>) -> T,
    ) -> Option<T> {
        let with = App::screen_context(&self.fold, &self.named, &self.tickets, self.now);
        let screen = self.screens.last_mut()?;
        Some(f(screen.as_mut(), &with))
    }

    /// A ticket that nobody had.
    pub(crate) fn next_ticket(&self) -> CommandTicket {
        App::screen_context(&self.fold, &self.named, &self.tickets, self.now).next_ticket()
    }

    /// What is wished, once.
    pub(crate) fn take_wishes(&mut self) -> Vec<UiCommand> {
        std::mem::take(&mut self.wishes)
    }

    /// What the terminal is to do, once.
    pub(crate) fn take_acts(&mut self) -> Vec<TerminalAction> {
        std::mem::take(&mut self.acts)
    }

    /// Whether something that is seen changed since the last frame.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// What is to be painted now. What it prints is given once.
    pub(crate) fn next_frame(&mut self, size: TerminalSize) -> AppFrame {
        self.dirty = false;
        let theme = self.theme.clone();
        match self.on_screen(|screen, with| screen.render_view(size, &theme, with)) {
            Some(view) => AppFrame::Full(view),
            None => AppFrame::Chat(chat::chat_frame(self, size)),
        }
    }

    /// A line that goes by itself.
    pub(crate) fn show_hint(&mut self, tone: NoticeTone, text: impl Into<String>) {
        let until = self.now.plus_ms(HINT_MS);
        self.hint = Some(Hint { text: text.into(), tone, until, of_armed: false });
        self.dirty = true;
    }

    /// From now on the key does something when it is pressed again. What says so stands no longer than that
    /// is true.
    pub(crate) fn arm(&mut self, what: ArmedKey, text: &str) {
        self.armed = Some((what, self.now));
        let (tone, until) = (NoticeTone::Quiet, self.now.plus_ms(TWICE_MS));
        self.hint = Some(Hint { text: text.into(), tone, until, of_armed: true });
        self.dirty = true;
    }

    /// Something else was pressed or done: the key means what it always does.
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
        if self.hint.as_ref().is_some_and(|hint| hint.of_armed) {
            self.hint = None;
            self.dirty = true;
        }
    }

    /// The clock went on.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        let step = |at: Timestamp| at.ms_since(Timestamp(0)) / TICK_MS;
        let moved = self.is_animated() && step(now) != step(self.now);
        self.now = now;
        if self.hint.as_ref().is_some_and(|hint| hint.until <= now) {
            self.hint = None;
            self.dirty = true;
        }
        if self.widening.is_some_and(|(_, since)| since.plus_ms(HINT_MS) <= now) {
            self.widening = None;
            self.dirty = true;
        }
        self.dirty |= moved | self.settle_answer() | self.settle_focus();
    }

    /// In how many milliseconds the screen changes by itself; `None`: it does not.
    pub(crate) fn next_tick_ms(&self) -> Option<u64> {
        let hint = self.hint.as_ref().map(|hint| hint.until.ms_since(self.now).max(1));
        let moves = self.is_animated().then_some(TICK_MS);
        let answer = self.answered.as_ref().map(|answered| answered.at.plus_ms(ANSWER_MS));
        let answer = answer.map(|until| until.ms_since(self.now).max(1));
        let widening = self.widening.map(|(_, since)| since.plus_ms(HINT_MS));
        let widening = widening.map(|until| until.ms_since(self.now).max(1));
        [hint, moves, answer, widening, self.until_focus()].into_iter().flatten().min()
    }

    /// Whether anything moves by itself: something runs, nobody is waited for, and it may.
    fn is_animated(&self) -> bool {
        let runs = self.fold.is_running()
            && (self.fold.view.asks().is_empty() || self.fold.view.has_calls_at_work());
        self.motion == Motion::Lively
            && (runs || self.shell.is_running())
            && self.screens.is_empty()
            && self.lost.is_none()
    }

    /// Whether no more text comes until somebody does something, all of it is painted, and nothing lies over
    /// the chat.
    pub(crate) fn is_at_rest(&self) -> bool {
        !self.fold.is_running() && self.screens.is_empty() && !self.is_behind()
    }

    /// Whether something that goes to the scrollback waits for a frame.
    pub(crate) fn is_behind(&self) -> bool {
        !self.fold.prints.is_empty()
    }

    /// How the dialog stands.
    pub(crate) fn dialog_state(&self) -> DialogState {
        DialogState {
            others: self.fold.view.asks().len().saturating_sub(1),
            focused: self.shown.as_ref().is_some_and(|shown| shown.focused),
        }
    }

    /// The permission mode that holds, or will when what was wished for does.
    pub(crate) fn effective_permission(&self) -> PermissionMode {
        self.wanted.permission.unwrap_or(self.fold.settings.permission)
    }

    /// The permission mode after `now` in the order that the key goes through. `full` is among them
    /// only where the person asked for it before.
    pub(crate) fn next_permission_mode(
        &self,
        now: PermissionMode,
        forward: bool,
    ) -> PermissionMode {
        let count = if self.full == FullMode::Cycled { 4 } else { 3 };
        let modes = &PermissionMode::ALL[..count];
        let at = modes.iter().position(|mode| *mode == now);
        let next = match (at, forward) {
            (Some(n), true) => (n + 1) % count,
            (Some(n), false) => (n + count - 1) % count,
            // Out of `full`: to what asks least among the others, or the narrowest.
            (None, true) => 0,
            (None, false) => count - 1,
        };
        modes[next]
    }
}
