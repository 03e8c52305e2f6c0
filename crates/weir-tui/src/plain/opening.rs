//! What is printed when a session is opened or taken up, and the settings that hold in it. Pure.

use std::mem::take;

use weir_core::message::plain_text;
use weir_core::view::told;

use super::state::{AnnouncedSettings, PlainTalk};
use super::tell::LineVoice;
use crate::app::entries::{EntryContent, TranscriptEntry};
use crate::app::painter::ShownView;
use crate::link::OpenSessionInfo;
use crate::options::StartScreen;
use crate::words::{count_text, shorten_text, thinking_word};

/// Longest part of an earlier answer that is said when a session is taken up, in characters.
const EARLIER_CHARACTERS_MAX: usize = 4_000;
/// What was said before a session was taken up.
struct EarlierWords {
    /// How many messages there are.
    count: usize,
    /// The last of them.
    last: Option<String>,
    /// The answer to it.
    answer: Option<String>,
}

impl PlainTalk {
    pub(super) fn announce_session(&mut self) {
        let OpenSessionInfo { folder, branch, server, notes, first_start, .. } =
            self.app.about.clone();
        let branch = branch.map(|name| format!(", branch {name}")).unwrap_or_default();
        let server = server.map(|url| format!(", on the server {url}")).unwrap_or_default();
        self.print_lines(LineVoice::Label, &format!("weir: in {folder}{branch}{server}"));
        for note in notes {
            self.print_lines(LineVoice::Warn, &format!("note: {note}"));
        }
        if let Some(first) = first_start {
            self.print_lines(LineVoice::Quiet, &first.describe("type /permissions auto-edit"));
        }
        if self.options.first.take().is_some() {
            // The app has said it.
        } else if take(&mut self.options.start) == StartScreen::Sessions {
            self.app.show_view(ShownView::Sessions(String::new()));
        } else if self.app.fold.known == 0 {
            self.print_lines(
                LineVoice::Quiet,
                "Type a message, or /help for commands. Ctrl-D leaves.",
            );
        }
    }

    pub(super) fn adopt_settings(&mut self, old: bool) {
        let settings = self.app.fold.view.settings();
        let holds = AnnouncedSettings {
            model: settings.model.clone(),
            profile: settings.profile.clone(),
            permission: settings.permission.unwrap_or_default(),
            thinking: settings.thinking.unwrap_or_default(),
        };
        if old {
            self.holds = Some(holds);
        } else {
            self.announce_settings(holds);
        }
    }

    /// Announces settings: all of them the first time, then what changed.
    pub(super) fn announce_settings(&mut self, new: AnnouncedSettings) {
        let old = self.holds.take();
        let changed = |is: fn(&AnnouncedSettings) -> String| {
            old.as_ref().is_none_or(|old| is(old) != is(&new)).then(|| is(&new))
        };
        let lines: Vec<String> = [
            changed(|holds| format!("model: {}", holds.model)),
            changed(|holds| format!("profile: {}", holds.profile)),
            changed(|holds| format!("permission mode: {}", holds.permission)),
            changed(|holds| format!("thinking: {}", thinking_word(holds.thinking))),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.holds = Some(new);
        if !lines.is_empty() {
            self.print_lines(LineVoice::Quiet, &lines.join(", "));
        }
    }

    /// The old facts of a session are all there: what one needs to go on.
    pub(super) fn taken_up(&mut self) {
        if let Some(holds) = self.holds.take() {
            self.announce_settings(holds);
        }
        let EarlierWords { count, last, answer } = self.earlier_words();
        if count > 1 {
            let what = count_text(count - 1, "earlier message");
            self.print_lines(
                LineVoice::Quiet,
                &format!("{what} (/export writes all of it to a file)"),
            );
        }
        if let Some(text) = last {
            self.print_lines(
                LineVoice::Label,
                &format!("you: {}", shorten_text(&text, EARLIER_CHARACTERS_MAX)),
            );
        }
        if let Some(text) = answer {
            self.print_reply_piece(&shorten_text(&text, EARLIER_CHARACTERS_MAX));
        }
        if self.is_running() {
            self.print_lines(LineVoice::Quiet, "A run is on.");
        }
    }

    /// What was said last before the session was taken up, and the answer to it.
    fn earlier_words(&self) -> EarlierWords {
        let entries = self.app.fold.transcript.entries().iter();
        let queued = self.app.fold.queue.iter().map(|queued| &queued.entry);
        let said: Vec<&TranscriptEntry> =
            entries.chain(queued).filter(|entry| entry.accepted_input().is_some()).collect();
        let last = said.iter().max_by_key(|entry| entry.seq);
        let since = last.map_or(0, |entry| entry.seq);
        let entries = self.app.fold.transcript.entries().iter().rev();
        let mut answers = entries.filter(|entry| entry.seq > since).filter_map(|entry| {
            let EntryContent::Replied { fact, .. } = &entry.what else { return None };
            let mut text = plain_text(&fact.content);
            let is_blank = text.trim().is_empty();
            text.extend(told::cut_off(fact).map(|mark| format!("\n\n({mark})")));
            (!is_blank).then_some(text)
        });
        EarlierWords {
            count: said.len(),
            last: last.and_then(|entry| entry.input_text()),
            answer: answers.next(),
        }
    }
}
