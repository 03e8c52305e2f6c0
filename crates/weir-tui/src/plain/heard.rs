//! What news do to a talk in line mode. Pure. Not here: what a typed line does ([`super::state`]).

use std::mem::take;

use weir_core::event::{Event, InputAccepted, ModelReplied};
use weir_core::ids::{InputId, Seq};
use weir_core::message::plain_text;
use weir_core::view::diff::diff_lines;
use weir_core::view::told;
use weir_core::view::transcript::{AskOutcome, TranscriptChange as Change};

use super::asks::{AnswerPlace, AskSettlement};
use super::state::{AnnouncedSettings, PlainTalk, TicketPurpose};
use super::tell::{LineVoice, event_lines};
use super::words;
use crate::compose::WrittenMessage;
use crate::link::{NoticeTone, ShellNews, SignalKind, TextKind, UiUpdate};
use crate::words::one_line;

/// What the app knew before an update, and what it forgets with it.
struct KnownBefore {
    /// The session that is open exists from now on.
    begins: bool,
    /// What was sent from here and is told of now.
    own: Option<WrittenMessage>,
    /// The update is about the command of the person's own that runs.
    is_of_shell: bool,
    /// The branch.
    branch: Option<String>,
}

impl PlainTalk {
    /// Takes in what happened: first the app does, then what is new is printed. An error: it is over
    /// because of it.
    pub(super) fn handle_update(&mut self, news: UiUpdate) -> Result<(), Option<String>> {
        let before = self.known_before(&news);
        match &news {
            // There is no box that it could go into, and none with a history.
            UiUpdate::Clipboard { .. } | UiUpdate::History(_) => (),
            news => self.app.handle_update(news, (self.options.now)()),
        }
        // What the app says of it in passing, the update itself tells here.
        self.app.drop_screen_output();
        self.print_update(news, before)?;
        self.show_views();
        self.settle_after_end();
        self.print_next_ask();
        Ok(())
    }

    fn known_before(&self, news: &UiUpdate) -> KnownBefore {
        let begins = match news {
            UiUpdate::Opened { session, known, about, .. } => {
                session.is_some() && self.app.is_same_session(*known, about)
            }
            _ => false,
        };
        let sent = match news {
            UiUpdate::Fact { event, .. } => match event.as_ref() {
                Event::InputAccepted(fact) => fact.client_id.as_deref(),
                _ => None,
            },
            UiUpdate::Refused { client_id, .. } => Some(client_id.as_str()),
            _ => None,
        };
        let is_of_shell = match news {
            UiUpdate::Shell { ticket, .. } => self.app.shell.runs_ticket(*ticket),
            _ => false,
        };
        let own = sent.and_then(|name| self.app.sent.get(name)).cloned();
        KnownBefore { begins, own, is_of_shell, branch: self.app.about.branch.clone() }
    }

    fn print_update(&mut self, news: UiUpdate, before: KnownBefore) -> Result<(), Option<String>> {
        match news {
            // The one that was open exists from now on: nothing of it is forgotten or said again.
            UiUpdate::Opened { .. } if before.begins => (),
            UiUpdate::Opened { .. } => {
                self.forget_session();
                self.announce_session();
            }
            UiUpdate::Fact { seq, event, .. } => self.handle_fact(seq, &event, before.own),
            UiUpdate::Signal { kind, subject, text } => self.handle_signal(kind, subject, &text),
            UiUpdate::Settings { model, profile, permission, thinking } => {
                self.announce_settings(AnnouncedSettings { model, profile, permission, thinking });
            }
            UiUpdate::Shell { news, .. } if before.is_of_shell => self.shell_news(news),
            UiUpdate::Notice { tone, text } => self.print_notice(tone, &text),
            UiUpdate::EngineDown(why) if self.options.terminal => {
                self.print_notice(NoticeTone::Bad, &why);
            }
            // Nobody is there to say something more, and what comes next would meet the same.
            UiUpdate::EngineDown(why) => return Err(Some(why)),
            UiUpdate::Refused { why, .. } => {
                if let Some(said) = before.own {
                    self.print_lines(LineVoice::Bad, &format!("error: not sent: {why}"));
                    self.print_lines(LineVoice::Quiet, &format!("Your message was: {}", said.text));
                    self.goes_along_again(said.attached);
                }
            }
            UiUpdate::Branch(Some(name)) if before.branch.as_ref() != Some(&name) => {
                self.print_lines(LineVoice::Quiet, &format!("branch: {name}"));
            }
            UiUpdate::Lost(Some(why)) => {
                self.print_lines(LineVoice::Warn, &format!("connection lost: {why}"))
            }
            UiUpdate::Lost(None) => self.print_lines(LineVoice::Good, "connected again."),
            UiUpdate::Over(why) => return Err(why),
            UiUpdate::Listed { .. }
            | UiUpdate::Text { .. }
            | UiUpdate::Review { .. }
            | UiUpdate::Decided { .. }
            | UiUpdate::Clipboard { .. }
            | UiUpdate::Failed { .. } => self.print_answer(news),
            UiUpdate::Shell { .. }
            | UiUpdate::Branch(_)
            | UiUpdate::History(_)
            | UiUpdate::Settled(_)
            | UiUpdate::Earlier { .. } => (),
        }
        Ok(())
    }

    /// Prints what was asked of the other end; what was not asked for here is none of ours.
    fn print_answer(&mut self, news: UiUpdate) {
        let ticket = match &news {
            UiUpdate::Listed { ticket, .. }
            | UiUpdate::Text { ticket, .. }
            | UiUpdate::Review { ticket, .. }
            | UiUpdate::Decided { ticket, .. }
            | UiUpdate::Clipboard { ticket, .. }
            | UiUpdate::Failed { ticket, .. } => *ticket,
            _ => return,
        };
        let Some(purpose) = self.expected.remove(&ticket) else { return };
        match news {
            UiUpdate::Listed { items, .. } => self.print_list(items),
            UiUpdate::Text { title, text, kind, .. } => {
                self.print_text(&title, &text, kind);
                if let TicketPurpose::Preview(before) = purpose {
                    self.ask_back(before);
                }
            }
            UiUpdate::Review { review, .. } => self.ask_decision(review),
            UiUpdate::Decided { text, .. } => {
                self.print_lines(LineVoice::Good, text.trim_end());
            }
            UiUpdate::Clipboard { clip, .. } => self.receive_clipboard(clip),
            UiUpdate::Failed { why, .. } => {
                self.print_lines(LineVoice::Bad, &format!("error: {why}"));
            }
            _ => (),
        }
    }

    /// Another session is open: what was printed of the one before is over.
    fn forget_session(&mut self) {
        self.asks.forget_all();
        self.stream.restart();
        self.thought.clear();
        (self.pick, self.cancelled, self.holds) = (None, false, None);
        self.own.clear();
        self.expected.clear();
    }

    fn print_notice(&mut self, tone: NoticeTone, text: &str) {
        let (voice, word) = match tone {
            NoticeTone::Quiet => (LineVoice::Quiet, ""),
            NoticeTone::Good => (LineVoice::Good, ""),
            NoticeTone::Bad => (LineVoice::Bad, "error: "),
        };
        self.print_lines(voice, &format!("{word}{text}"));
        if tone == NoticeTone::Bad {
            self.reopen_ask();
        }
    }

    /// Prints what asks, when it is its turn.
    pub(super) fn print_next_ask(&mut self) {
        if self.app.fold.is_old() {
            return;
        }
        if let Some(lines) = self.asks.show_next(self.app.fold.view.asks().first()) {
            self.drop_pick();
            self.print_lines(LineVoice::Warn, &lines.join("\n"));
            self.settle_after_end();
        }
    }

    fn handle_fact(&mut self, seq: Seq, event: &Event, mut own: Option<WrittenMessage>) {
        let old = seq <= self.app.fold.known;
        for change in take(&mut self.app.fold.changes) {
            let settled = self.asks.apply_change(&change);
            self.apply_change(change, old, &mut own);
            if let Some(settled) = settled.filter(|_| !old) {
                self.announce_settlement(&settled);
            }
        }
        if !old {
            // What changed was announced above.
            let lines = match event {
                Event::SessionConfigured(_) => Vec::new(),
                event => event_lines(event, &self.app.fold.view),
            };
            lines.iter().for_each(|(voice, line)| self.print_lines(*voice, line));
        } else if seq == self.app.fold.known {
            self.taken_up();
        }
    }

    /// Says a change of what is seen.
    fn apply_change(&mut self, change: Change, old: bool, own: &mut Option<WrittenMessage>) {
        match change {
            Change::InputSaid(at) | Change::InputQueued(at) => {
                self.handle_input_accepted(&at.fact, old, own.take());
            }
            Change::InputWithdrawn(at) | Change::InputUnsaid(at) => {
                self.handle_input_withdrawn(at.fact.input);
            }
            Change::InputDelivered(at) => {
                self.own.remove(&at.fact.input);
            }
            Change::RunStarted => self.cancelled = false,
            Change::SettingsChanged => self.adopt_settings(old),
            Change::ReplyAdded(_) if old => (),
            Change::ReplyAdded(at) => self.handle_reply(&at.fact),
            Change::StreamAbandoned if !old => self.cut_short(),
            // The model heard everything that was said before its run.
            Change::RequestStarted(_) if !self.app.fold.view.has_untold_input() => self.own.clear(),
            // Told by the fact itself, or by what asks.
            Change::StreamAbandoned
            | Change::RequestStarted(_)
            | Change::ImageAdded(_)
            | Change::CallAdded(_)
            | Change::CallChanged(_)
            | Change::CallEnded(_)
            | Change::AskOpened(_)
            | Change::AskClosed { .. }
            | Change::UnknownCallsChanged
            | Change::PlanChanged
            | Change::RunEnded(_) => (),
        }
    }

    fn handle_input_accepted(
        &mut self,
        fact: &InputAccepted,
        old: bool,
        own: Option<WrittenMessage>,
    ) {
        let is_own = own.is_some();
        self.own.extend(own.map(|own| (fact.input, own)));
        if old {
            return;
        }
        if !is_own {
            let text = plain_text(&fact.content);
            self.print_lines(
                LineVoice::Label,
                &format!("{}, elsewhere: {text}", one_line(&fact.by)),
            );
        } else if self.is_running() {
            let how = "Queued: it is given with the next step. /withdraw takes it back.";
            self.print_lines(LineVoice::Quiet, how);
        }
    }

    /// What waited is not told: it was taken back, or the run ended first. Words that were said here
    /// are printed, so that they can be said again; what was attached goes with the next message.
    fn handle_input_withdrawn(&mut self, input: InputId) {
        let Some(said) = self.own.remove(&input) else { return };
        self.print_lines(LineVoice::Warn, "Not given to the model, taken back. Your message was:");
        self.print_lines(LineVoice::Text, &said.text);
        self.goes_along_again(said.attached);
    }

    fn handle_signal(&mut self, kind: SignalKind, subject: String, text: &str) {
        match kind {
            SignalKind::Output => return,
            SignalKind::Thinking if self.thought == subject => return,
            SignalKind::Thinking => {
                self.thought = subject;
                return self.print_lines(LineVoice::Quiet, "assistant: thinks");
            }
            SignalKind::Text => (),
        }
        if self.turn != subject {
            self.turn = subject;
            self.stream.restart();
        }
        for piece in self.stream.push(text) {
            self.print_reply_piece(&piece);
        }
    }

    /// Says a piece of the model's text.
    pub(super) fn print_reply_piece(&mut self, piece: &str) {
        if !self.speaking {
            self.print_lines(LineVoice::Label, "assistant:");
            self.speaking = true;
        }
        if self.options.screen_reader {
            let lines = words::spoken_lines(piece);
            lines.iter().for_each(|line| self.print_lines(LineVoice::Text, line));
        } else {
            self.print_lines(LineVoice::Text, piece);
        }
    }

    fn handle_reply(&mut self, fact: &ModelReplied) {
        let whole = plain_text(&fact.content);
        let rest = match self.stream.finish(&whole) {
            Some(rest) => rest,
            None => {
                self.print_lines(
                    LineVoice::Quiet,
                    "The answer reads otherwise than it began; all of it:",
                );
                whole
            }
        };
        self.turn.clear();
        if !rest.trim().is_empty() {
            self.print_reply_piece(rest.trim_end());
        }
        self.speaking = false;
        if let Some(mark) = told::cut_off(fact) {
            self.print_lines(LineVoice::Warn, mark);
        }
    }

    /// What was written of an answer is void.
    fn cut_short(&mut self) {
        let begun = self.stream.has_begun();
        let rest = self.stream.restart();
        if begun || !rest.trim().is_empty() {
            if !rest.trim().is_empty() {
                self.print_reply_piece(rest.trim_end());
            }
            self.print_lines(
                LineVoice::Warn,
                "The answer was cut off here; what stands above is void.",
            );
        }
    }

    fn announce_settlement(&mut self, settled: &AskSettlement) {
        let (voice, what) = match settled.outcome {
            AskOutcome::Allowed => (LineVoice::Good, "approval"),
            AskOutcome::Refused | AskOutcome::Lapsed => (LineVoice::Warn, "approval"),
            AskOutcome::Answered if settled.place == AnswerPlace::Here => {
                return self.print_lines(LineVoice::Good, "question: answered");
            }
            AskOutcome::Answered => {
                return self.print_lines(LineVoice::Quiet, &format!("question: {}", settled.words));
            }
            AskOutcome::Unanswered => (LineVoice::Quiet, "question"),
        };
        self.print_lines(voice, &format!("{what}: {}", lowercase_first(&settled.words)));
    }

    /// A text to read.
    fn print_text(&mut self, title: &str, text: &str, kind: TextKind) {
        self.print_lines(LineVoice::Label, &format!("{}:", one_line(title)));
        match (self.options.screen_reader, kind) {
            (true, TextKind::Markdown) => {
                let lines = words::spoken_lines(text);
                lines.iter().for_each(|line| self.print_lines(LineVoice::Text, line));
            }
            (true, TextKind::Diff) => {
                diff_lines(text.lines()).for_each(|line| {
                    let words = words::diff_line_words(line.kind, line.line);
                    self.print_lines(LineVoice::Text, &words);
                });
            }
            (false, _) | (true, TextKind::Plain) => {
                self.print_lines(LineVoice::Text, text.trim_end())
            }
        }
        self.speaking = false;
    }

    fn shell_news(&mut self, news: ShellNews) {
        match news {
            ShellNews::Output(text) => {
                for line in self.printing.push(&text) {
                    self.print_lines(LineVoice::Text, &line);
                }
            }
            ShellNews::Ended { status, ok, .. } => {
                let rest = self.printing.restart();
                if !rest.is_empty() {
                    self.print_lines(LineVoice::Text, &rest);
                }
                let voice = if ok { LineVoice::Good } else { LineVoice::Bad };
                let how = "/show sends its output to the model";
                self.print_lines(voice, &format!("command: {status} ({how})"));
            }
        }
        self.speaking = false;
    }
}

fn lowercase_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    first + characters.as_str()
}
