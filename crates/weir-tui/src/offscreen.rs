//! Both faces of this crate without a terminal: facts go in, and what a person reads comes out as
//! text. For tests that hold all faces against each other; no product path comes here. Not here:
//! what is typed, streamed text, colours.

use std::sync::Arc;

use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::message::plain_text;
use weir_core::view::transcript::{PlacedFact, SettledPlace, SettledTranscript};

use crate::app::entries::EarlierReach;
use crate::app::{App, AppFrame, HINT, HINT_MS, QUIET_MS};
use crate::compose::WrittenMessage;
use crate::link::{OpenSessionInfo, UiCommand, UiUpdate};
use crate::options::{FaceOptions, Motion};
use crate::plain::OffscreenTalk;
use crate::terminal::TerminalSize;
use crate::text::theme::Theme;
use crate::text::wrap::wrap_exact;

/// The session that a face without a terminal shows.
#[derive(Debug, Clone)]
pub struct OffscreenSession {
    /// Its name.
    pub id: SessionId,
    /// Its folder, as a person would write it.
    pub folder: String,
    /// How many of its facts are from before the face was opened.
    pub known: Seq,
}

impl OffscreenSession {
    fn opened_update(&self) -> UiUpdate {
        let about = OpenSessionInfo {
            folder: self.folder.clone(),
            resume: format!("weir --resume {}", self.id),
            local: true,
            ..OpenSessionInfo::default()
        };
        let (session, named) = (Some(self.id.clone()), Vec::new());
        UiUpdate::Opened { session, known: self.known, about: Box::new(about), named }
    }
}

/// The name under which this face sent an input, and its words. An input with a name counts as
/// written here.
fn sent_here(event: &Event) -> Option<(String, String)> {
    let Event::InputAccepted(fact) = event else { return None };
    Some((fact.client_id.clone()?, plain_text(&fact.content)))
}

/// The terminal face.
pub struct OffscreenTerminal {
    app: App,
    size: TerminalSize,
}

/// What the terminal shows at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffscreenFrame {
    /// Lines that went to the scrollback since the frame before.
    pub printed: Vec<String>,
    /// The live region without empty lines and without a box in which nothing is written.
    pub live: Vec<String>,
}

impl OffscreenTerminal {
    /// A face of this size in which the session is open.
    pub fn open(session: &OffscreenSession, size: TerminalSize) -> OffscreenTerminal {
        let options = FaceOptions { motion: Motion::Still, ..FaceOptions::default() };
        let mut app = App::new(&options, Theme::plain_theme(), Timestamp(0));
        app.handle_update(&session.opened_update(), Timestamp(0));
        OffscreenTerminal { app, size }
    }

    /// The same where the session begins at a settled place.
    pub fn open_at(
        session: &OffscreenSession,
        size: TerminalSize,
        start: &SettledTranscript,
    ) -> OffscreenTerminal {
        let mut face = OffscreenTerminal::open(session, size);
        face.app.handle_update(&UiUpdate::Settled(Box::new(start.clone())), Timestamp(0));
        face
    }

    /// The last fact before those that it was told, as somebody wishes for it who comes near; `None`: it was
    /// told all. [`OffscreenTerminal::apply_earlier`] follows.
    pub fn wish_earlier(&mut self) -> Option<Seq> {
        self.app.read_earlier(EarlierReach::Part);
        self.app.wishes.iter().find_map(|wish| match wish {
            UiCommand::Earlier { last, .. } => Some(*last),
            _ => None,
        })
    }

    /// Takes the facts in that were wished for: those from a settled place on.
    pub fn apply_earlier(&mut self, from: &SettledPlace, facts: Vec<PlacedFact>) {
        let wishes = self.app.take_wishes();
        let ticket = wishes.iter().find_map(|wish| match wish {
            UiCommand::Earlier { ticket, .. } => Some(*ticket),
            _ => None,
        });
        if let Some(ticket) = ticket {
            let (now, from) = (self.app.now, Box::new(from.clone()));
            self.app.handle_update(&UiUpdate::Earlier { ticket, from, facts }, now);
        }
    }

    /// All that one can scroll to, an entry each, with everything that is known of it.
    pub fn all_entries(&self) -> Vec<String> {
        let entries = self.app.fold.transcript.entries().iter();
        entries.map(|entry| format!("{entry:?}")).collect()
    }

    /// Takes a fact in, at the moment at which it happened.
    pub fn apply_fact(&mut self, seq: Seq, ts: Timestamp, event: &Arc<Event>) {
        if let Some((name, text)) = sent_here(event).filter(|_| seq > self.app.fold.known) {
            // What was given back into the box is what is sent now, or was thrown away.
            self.app.composer.clear();
            self.app.sent.insert(name, WrittenMessage { text, ..WrittenMessage::default() });
        }
        self.app.handle_update(&UiUpdate::Fact { seq, ts, event: event.clone() }, ts);
        self.app.take_wishes();
    }

    /// The frame of now. A dialog has been seen for long enough to take keys.
    pub fn current_frame(&mut self) -> OffscreenFrame {
        let (mut printed, mut live) = self.paint_frame();
        if self.app.shown.is_some() {
            self.app.tick(self.app.now.plus_ms(QUIET_MS));
            let (more, later) = self.paint_frame();
            printed.extend(more);
            live = later;
        }
        let idle = format!("> {HINT}");
        live.retain(|line| !line.is_empty() && *line != idle);
        OffscreenFrame { printed, live }
    }

    /// Time passes until every hint that goes by itself is gone.
    pub fn let_hints_go(&mut self) {
        self.app.tick(self.app.now.plus_ms(HINT_MS));
    }

    /// What is printed, in as many frames as it takes, and what then stands below it.
    fn paint_frame(&mut self) -> (Vec<String>, Vec<String>) {
        let (mut printed, mut live) = self.paint_next_frame();
        while self.app.is_behind() && self.app.is_dirty() {
            let (more, later) = self.paint_next_frame();
            printed.extend(more);
            live = later;
        }
        (printed, live)
    }

    fn paint_next_frame(&mut self) -> (Vec<String>, Vec<String>) {
        let text = |line: &ratatui::text::Line<'_>| line.to_string().trim_end().to_owned();
        match self.app.next_frame(self.size) {
            AppFrame::Chat(frame) => {
                let width = usize::from(self.size.columns);
                // A long line of code is broken by the terminal.
                let rows = frame.finished.iter().flat_map(|line| wrap_exact(line, width, 0));
                let printed = rows.map(|line| text(&line)).collect();
                (printed, frame.live.iter().map(text).collect())
            }
            AppFrame::Full(view) => (Vec::new(), view.lines.iter().map(text).collect()),
        }
    }
}

/// Line mode.
pub struct OffscreenLineMode {
    talk: OffscreenTalk,
    known: Seq,
    text: String,
}

impl OffscreenLineMode {
    /// A talk in which the session is open.
    pub fn open(session: &OffscreenSession) -> OffscreenLineMode {
        let mut talk = OffscreenTalk::new();
        talk.handle_update(session.opened_update());
        OffscreenLineMode { talk, known: session.known, text: String::new() }
    }

    /// Takes a fact in.
    pub fn apply_fact(&mut self, seq: Seq, ts: Timestamp, event: &Arc<Event>) {
        if let Some((name, text)) = sent_here(event).filter(|_| seq > self.known) {
            // The terminal itself shows what is typed.
            let typed = text.lines().map(|line| format!("> {line}\n")).collect::<String>();
            self.text.push_str(&typed);
            self.talk.mark_as_sent(name, text);
        }
        self.talk.handle_update(UiUpdate::Fact { seq, ts, event: event.clone() });
        self.text.push_str(&self.talk.take_printed());
    }

    /// Everything that was printed.
    pub fn into_text(mut self) -> String {
        self.text.push_str(&self.talk.take_printed());
        self.text
    }
}
