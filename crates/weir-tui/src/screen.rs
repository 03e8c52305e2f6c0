//! What takes the whole screen or the place of the composer, and the contract between such a screen
//! and the app. A screen keeps only where one is in it. Not here: what is painted how
//! ([`crate::terminal`]), what becomes of a wish.
//!
//! Full screens (pager, pickers, rewind, help, reports) are [`Screen`]s: the app gives them keys,
//! pasted text and news while they are open, and asks for their lines when it paints. The chat with
//! its dialogs ([`chat`], [`approval`], [`question`]) is no such screen: it is always there.

use std::cell::Cell;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use crate::app::entries::{EarlierReach, EntryTranscript};
use crate::link::{CommandTicket, SlashCommandInfo, UiCommand, UiUpdate};
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;

pub(crate) mod approval;
pub(crate) mod chat;
pub(crate) mod choose;
pub(crate) mod decide;
pub(crate) mod footer;
pub(crate) mod frame;
pub(crate) mod help;
pub(crate) mod list;
pub(crate) mod open;
#[cfg(test)]
mod overlays;
pub(crate) mod pager;
pub(crate) mod question;
pub(crate) mod rewind;
pub(crate) mod scroll;
pub(crate) mod sessions;
pub(crate) mod transcript;
pub(crate) mod typed;

/// Something that takes the whole screen for a while. Never blocks and never reads a clock.
pub(crate) trait Screen: Send {
    /// It has just been opened: what it wishes first (its list, its text).
    fn on_open(&mut self, with: &ScreenContext<'_>) -> ScreenStep {
        let _ = with;
        ScreenStep::Stay
    }

    /// A key (also a repeated one; never a release).
    fn handle_key(&mut self, key: KeyEvent, with: &ScreenContext<'_>) -> ScreenStep;

    /// Text that was pasted at once: as it came, not made safe.
    fn handle_paste(&mut self, text: &str, with: &ScreenContext<'_>) -> ScreenStep {
        let _ = (text, with);
        ScreenStep::Idle
    }

    /// News, after the app has taken them in itself: `with.transcript` has them already.
    fn handle_update(&mut self, news: &UiUpdate, with: &ScreenContext<'_>) -> ScreenStep {
        let _ = (news, with);
        ScreenStep::Idle
    }

    /// The whole screen: at most `size.rows` lines of at most `size.columns` cells. Any size, also
    /// 0 by 0, must do.
    fn render_view(
        &mut self,
        size: TerminalSize,
        theme: &Theme,
        with: &ScreenContext<'_>,
    ) -> ScreenView;
}

/// What a screen wants after a key or news.
pub(crate) enum ScreenStep {
    /// Nothing changed: nothing is painted.
    Idle,
    /// It stays and is painted again.
    Stay,
    /// It stays, and this is wished.
    Do(Vec<UiCommand>),
    /// It stays, and what stands before the first entry that is there is to be read.
    ReadEarlier(EarlierReach),
    /// It closes.
    Close,
    /// It closes, and this is wished.
    CloseAnd(Vec<UiCommand>),
    /// It closes, and this text is put into the composer, before what is there.
    Put(String),
    /// It closes, and this command is put into the composer, as if the person had typed it and not yet sent it.
    PutCommand(String),
    /// It closes, and this is done as if the person had typed it: `/theme dark`.
    Command(String),
    /// Another screen is put over it; closing that one shows this one again.
    Over(Box<dyn Screen>),
}

/// The lines of a full screen.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScreenView {
    /// From the top.
    pub(crate) lines: Vec<Line<'static>>,
    /// Where the cursor stands (row, cell); `None`: it is hidden.
    pub(crate) cursor: Option<(usize, usize)>,
}

/// What a screen may know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScreenContext<'a> {
    /// What was said and done.
    pub(crate) transcript: &'a EntryTranscript,
    /// What holds now.
    pub(crate) settings: &'a SessionSettings,
    /// What can be typed as `/name`: those of the face, then those of the session.
    pub(crate) named: &'a [SlashCommandInfo],
    /// The last ticket that was given out.
    pub(crate) tickets: &'a Cell<CommandTicket>,
    /// The latest moment that the app was told of.
    pub(crate) now: Timestamp,
}

impl ScreenContext<'_> {
    /// A ticket that nobody had.
    pub(crate) fn next_ticket(&self) -> CommandTicket {
        self.tickets.set(self.tickets.get() + 1);
        self.tickets.get()
    }
}

/// What holds in the session that is open.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SessionSettings {
    /// Which session; `None`: a new one that does not exist yet.
    pub(crate) session: Option<SessionId>,
    /// Its folder, as a person would write it.
    pub(crate) folder: String,
    /// `provider/name`; empty: not known yet.
    pub(crate) model: String,
    /// Name of the profile.
    pub(crate) profile: String,
    /// Permission mode.
    pub(crate) permission: PermissionMode,
    /// How much the model thinks.
    pub(crate) thinking: Thinking,
    /// A run is on.
    pub(crate) running: bool,
    /// The name of the theme.
    pub(crate) theme: String,
    /// Nothing moves: no animation, no clearing of lines that a screen reader would read again.
    pub(crate) still: bool,
}
