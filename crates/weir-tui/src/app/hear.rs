//! News to the app.

use std::sync::Arc;

use weir_core::event::Event;
use weir_core::ids::{Seq, Timestamp};
use weir_core::view::transcript::{AskOutcome, PendingAsk};

use super::commands::face_commands;
use super::entries::EntryTranscript;
use super::fold::{FoldEvent, SessionFold};
use super::notes::Loud;
use super::painter::ShownView;
use super::writing::PrintItem;
use super::{App, Dialog, PendingSettings, ShownDialog, TerminalAction};
use crate::compose::{FIRST_TICKET, WrittenKind, WrittenMessage};
use crate::familiar;
use crate::link::{
    ClipboardContent, CommandTicket, ListResult, NoticeTone, OpenSessionInfo, SlashCommandInfo,
    UiUpdate,
};
use crate::screen::approval::ApprovalDialog;
use crate::screen::question::QuestionDialog;
use crate::screen::{ScreenStep, chat};
use crate::text::clean::clean_text;
use crate::words::{one_line, run_status_text, to_sentence};

impl App {
    /// Something happened.
    pub(crate) fn handle_update(&mut self, news: &UiUpdate, now: Timestamp) {
        self.now = now;
        match news {
            UiUpdate::Opened { session, known, about, named } => {
                let mut fold =
                    SessionFold { known: *known, named: named.clone(), ..SessionFold::default() };
                fold.settings.session.clone_from(session);
                match self.is_same_session(*known, about) {
                    true => self.begin_session(fold, about),
                    false => self.open_session(fold, about),
                }
            }
            UiUpdate::Settled(start) => {
                self.fold.begin_at(start);
                self.know_settings();
            }
            UiUpdate::Earlier { ticket, from, facts } => self.hear_earlier(*ticket, from, facts),
            UiUpdate::Fact { seq, ts, event } => self.hear_fact(*seq, *ts, event),
            UiUpdate::Signal { kind, subject, text } => {
                self.fold.apply_signal(*kind, subject, text, now);
                self.dirty = true;
            }
            UiUpdate::Settings { model, profile, permission, thinking } => {
                let settings = &mut self.fold.settings;
                (settings.model, settings.profile) = (model.clone(), profile.clone());
                (settings.permission, settings.thinking) = (*permission, *thinking);
                (self.wanted, self.dirty) = (PendingSettings::default(), true);
                self.know_settings();
            }
            UiUpdate::Listed { ticket, items: ListResult::Files(found) } => {
                self.composer.receive_files(*ticket, found.clone());
                self.dirty = true;
            }
            UiUpdate::Clipboard { ticket, clip } => self.receive_clipboard(*ticket, clip),
            UiUpdate::Shell { ticket, news } => self.shell_news(*ticket, news),
            UiUpdate::Notice { tone, text } => self.show_notice(*tone, text),
            UiUpdate::EngineDown(why) => self.note_engine_down(why),
            UiUpdate::Refused { client_id, why } => self.restore_refused_message(client_id, why),
            UiUpdate::Branch(branch) => {
                self.about.branch = branch.clone();
                self.dirty = true;
            }
            UiUpdate::Lost(why) => self.set_connection_lost(why.as_deref()),
            UiUpdate::History(path) => {
                self.composer.set_history(path.clone());
                self.tell_trouble();
            }
            UiUpdate::Over(why) => {
                self.over = Some(why.clone());
                self.dirty = true;
            }
            UiUpdate::Failed { ticket, why } if self.fold.awaits_earlier(*ticket) => {
                self.fail_earlier(why)
            }
            UiUpdate::Failed { ticket, why } if *ticket >= FIRST_TICKET => {
                self.handle_failure(*ticket, why)
            }
            UiUpdate::Failed { why, .. } if self.screens.is_empty() => {
                self.show_hint(NoticeTone::Bad, one_line(why));
            }
            UiUpdate::Decided { text, .. } => self.tell_decided(text),
            UiUpdate::Listed { .. }
            | UiUpdate::Text { .. }
            | UiUpdate::Review { .. }
            | UiUpdate::Failed { .. } => (),
        }
        if let Some(step) = self.on_screen(|screen, with| screen.handle_update(news, with)) {
            self.apply_step(step);
        }
    }

    fn hear_fact(&mut self, seq: Seq, ts: Timestamp, event: &Arc<Event>) {
        self.fold.apply_fact(seq, ts, event.clone(), self.now);
        if matches!(**event, Event::SessionOpened(_) | Event::SessionConfigured(_)) {
            self.wanted = PendingSettings::default();
            self.know_settings();
        }
        self.hear_happened();
        self.tell_copy();
        self.show_ask();
        // Old facts are many, and nothing of them is seen before the last.
        self.dirty |= self.fold.seq >= self.fold.known;
    }

    /// What was decided is done: that is told where the talk is, also when its dialog was closed before.
    fn tell_decided(&mut self, text: &str) {
        self.fold.add_note(Loud::Good, clean_text(text).trim_end().to_owned(), self.now);
        self.dirty = true;
    }

    /// The copy that was asked for is open and told: that it is one, and what became of the other.
    fn tell_copy(&mut self) {
        let open = self.fold.settings.session.as_ref();
        let is_told = self.fold.seq >= self.fold.known;
        let of = self.copying.take_if(|of| is_told && open.is_some_and(|open| open != of));
        if let Some(of) = of {
            let of = one_line(of.as_str());
            let text = format!(
                "This is a copy of session {of}. What you say from here on stands in the copy; the \
                 other stays as it is, and /resume opens it."
            );
            self.show_view(ShownView::Remark(Loud::Good, text));
        }
    }

    /// What the clipboard holds goes into the box.
    fn receive_clipboard(&mut self, ticket: CommandTicket, clip: &ClipboardContent) {
        self.composer.receive_clipboard(ticket, Some(clip));
        self.tell_trouble();
        self.dirty = true;
    }

    /// What the box asked for cannot be had.
    fn handle_failure(&mut self, ticket: CommandTicket, why: &str) {
        match self.composer.receive_clipboard(ticket, None) {
            // What to install or to do is to be read at leisure: it is no hint that goes by itself.
            true => self.fold.add_note(Loud::Bad, one_line(why), self.now),
            false => self.composer.receive_files(ticket, Vec::new()),
        }
        self.dirty = true;
    }

    /// The settings of what is open are known from here on: what waited for them is done.
    fn know_settings(&mut self) {
        if self.opened && !std::mem::replace(&mut self.settings_known, true) {
            self.send_held();
        }
    }

    /// The connection is lost, or there again.
    fn set_connection_lost(&mut self, why: Option<&str>) {
        if self.lost.is_some() && why.is_none() {
            self.show_hint(NoticeTone::Good, "Connected again");
        }
        self.lost = why.map(one_line);
        self.dirty = true;
    }

    /// Whether this is the session that was open before it existed.
    pub(crate) fn is_same_session(&self, known: Seq, about: &OpenSessionInfo) -> bool {
        let here = self.opened && self.about.folder == about.folder;
        here && known == 0 && self.fold.seq == 0 && self.fold.settings.session.is_none()
    }

    /// The session that is open exists from now on.
    fn begin_session(&mut self, fold: SessionFold, about: &OpenSessionInfo) {
        self.fold.settings.session = fold.settings.session;
        self.fold.named = fold.named;
        self.about = about.clone();
        self.set_named();
        self.dirty = true;
    }

    /// A session is open: what was known belongs to another one.
    fn open_session(&mut self, mut fold: SessionFold, about: &OpenSessionInfo) {
        let old = std::mem::take(&mut self.fold);
        fold.settings = crate::screen::SessionSettings {
            session: fold.settings.session,
            folder: about.folder.clone(),
            theme: old.settings.theme,
            still: old.settings.still,
            model: old.settings.model,
            profile: old.settings.profile,
            permission: old.settings.permission,
            thinking: old.settings.thinking,
            running: false,
        };
        // What is not printed yet of the session before still is.
        fold.prints =
            old.prints.into_iter().map(|print| detach_print(print, &old.transcript)).collect();
        if self.opened {
            self.shell.forget_commands();
        } else {
            // What was told before anything was open belongs to what is opened now, and so does what a
            // command of the person's said.
            fold.transcript = old.transcript;
        }
        self.fold = fold;
        self.about = about.clone();
        self.opened = true;
        (self.shown, self.answered, self.lost) = (None, None, None);
        self.copy_waits = None;
        self.wanted = PendingSettings::default();
        if old.settings.session.is_some() && old.settings.session != self.fold.settings.session {
            // It belongs to the session that was left, and stands there.
            self.sent.clear();
        }
        self.set_named();
        self.fold.prints.push_back(PrintItem::Lines(chat::greeting_line(about)));
        for note in &about.notes {
            let (loud, text) = (Loud::Warn, one_line(note));
            self.fold.add_greeting(loud, text, self.now);
        }
        if let Some(first) = about.first_start {
            let text = first.describe("/permissions auto-edit, or Tab in the empty box");
            self.fold.add_greeting(Loud::Quiet, text, self.now);
        }
        self.settings_known = false;
        self.send_held();
        self.dirty = true;
    }

    /// What can be typed as `/name`: the commands of the face, then what the session has.
    pub(crate) fn set_named(&mut self) {
        let is_of_session = |name: &str| self.fold.named.iter().any(|one| one.name == name);
        let own = face_commands(self.painter);
        let own =
            own.filter(|one| !(familiar::yields_to_session(one.name) && is_of_session(one.name)));
        let own = own.map(|command| SlashCommandInfo {
            name: command.name.into(),
            about: command.about.into(),
            hint: command.hint.into(),
            kind: "command".into(),
        });
        let own: Vec<SlashCommandInfo> = own.collect();
        let taken = |name: &str| own.iter().any(|one| one.name == name);
        let more: Vec<SlashCommandInfo> =
            self.fold.named.iter().filter(|one| !taken(&one.name)).cloned().collect();
        self.named = own.into_iter().chain(more).collect();
        self.composer.set_named(self.named.clone());
    }

    fn note_engine_down(&mut self, why: &str) {
        self.fold.is_engine_down = true;
        self.show_notice(NoticeTone::Bad, why);
    }

    fn show_notice(&mut self, tone: NoticeTone, text: &str) {
        let loud = match tone {
            NoticeTone::Quiet => Loud::Quiet,
            NoticeTone::Good => Loud::Good,
            NoticeTone::Bad => {
                // Whatever was wished may be what could not be done: it can be answered again,
                // what was to be taken back waits, and nothing else is going to hold.
                self.ask_again();
                self.copying = None;
                self.fold.keep_queued();
                self.wanted = PendingSettings::default();
                Loud::Bad
            }
        };
        self.fold.add_note(loud, one_line(text), self.now);
        self.dirty = true;
    }

    /// What was said did not arrive: it goes back into the box, before what stands there.
    fn restore_refused_message(&mut self, client_id: &str, why: &str) {
        self.fold.add_note(Loud::Bad, format!("Not sent: {}", to_sentence(why)), self.now);
        if let Some(written) = self.sent.remove(client_id) {
            self.give_back(&written);
        }
        self.dirty = true;
    }

    fn hear_happened(&mut self) {
        for happened in std::mem::take(&mut self.fold.happened) {
            match happened {
                FoldEvent::Arrived(name) => {
                    if let Some(written) = self.sent.remove(&name) {
                        self.fold.mark_own_input(&name, written);
                    }
                }
                FoldEvent::TakenBack(written) => self.taken_back(&written),
                FoldEvent::GivenBack(written) => self.given_back(&written),
                FoldEvent::Asked => self.notify_if_away("Weir waits for you"),
                FoldEvent::Ended(how) => {
                    let (_, word) = run_status_text(how);
                    self.notify_if_away(&format!("Weir: {word}"));
                }
                FoldEvent::Answered(name, words, outcome) => {
                    let here = self.answered.take_if(|answered| answered.name == name).is_some();
                    let seen = self.shown.as_ref().is_some_and(|shown| shown.name == name);
                    if seen && !here {
                        // What nobody answered, nobody answered elsewhere.
                        let text = match outcome {
                            AskOutcome::Unanswered | AskOutcome::Lapsed => words,
                            AskOutcome::Allowed | AskOutcome::Refused | AskOutcome::Answered => {
                                format!("Answered elsewhere. {words}")
                            }
                        };
                        self.show_hint(NoticeTone::Quiet, text);
                    }
                }
            }
        }
    }

    fn notify_if_away(&mut self, text: &str) {
        if self.away {
            self.acts.push(TerminalAction::Notify(text.to_owned()));
        }
    }

    /// The dialog is the one about what waits first.
    pub(crate) fn show_ask(&mut self) {
        let Some(ask) = self.fold.view.asks().first() else {
            self.shown = None;
            return;
        };
        if self.fold.is_old() || self.shown.as_ref().is_some_and(|shown| shown.name == ask.name()) {
            return;
        }
        let dialog = match ask {
            PendingAsk::Question(fact) => Dialog::Question(QuestionDialog::new(fact.clone())),
            PendingAsk::Approval(_) | PendingAsk::AgentApproval(_) => {
                Dialog::Approval(ApprovalDialog::new(ask.clone()))
            }
        };
        // It takes keys only some time after it was seen: one may be on its way for the one before.
        let name = ask.name().to_owned();
        self.shown = Some(ShownDialog {
            name,
            dialog,
            painted: None,
            focused: false,
            focused_from: None,
            left: false,
        });
        self.dirty = true;
    }

    /// What a screen wants.
    pub(crate) fn apply_step(&mut self, step: ScreenStep) {
        match step {
            ScreenStep::Idle => return,
            ScreenStep::Stay => (),
            ScreenStep::Do(wishes) => self.wishes.extend(wishes),
            ScreenStep::Close => self.close_screen(),
            ScreenStep::CloseAnd(wishes) => {
                self.close_screen();
                self.wishes.extend(wishes);
            }
            ScreenStep::Put(text) => {
                self.close_screen();
                let said = self.written_from_text(text);
                self.composer.give_back(&said);
            }
            ScreenStep::PutCommand(text) => {
                self.close_screen();
                let kind = WrittenKind::Command;
                self.composer.give_back(&WrittenMessage { text, attached: Vec::new(), kind });
            }
            ScreenStep::Command(line) => {
                self.close_screen();
                self.run_command(&line);
            }
            ScreenStep::ReadEarlier(reach) => self.read_earlier(reach),
            ScreenStep::Over(screen) => self.open_screen(screen),
        }
        self.dirty = true;
    }

    fn close_screen(&mut self) {
        self.screens.pop();
        if !self.screens.is_empty() {
            return;
        }
        // Who looked at something from within a question goes on answering it. Before any other the
        // time spent in the screen is no pause: it is as if it had only just come.
        let behind = self.behind.take();
        let empty = self.composer.is_empty();
        if let Some(shown) = &mut self.shown {
            shown.focused = empty && behind.as_deref() == Some(shown.name.as_str());
            if !shown.focused {
                shown.painted = None;
            }
        }
    }

    /// Puts a screen over what is there.
    pub(crate) fn open_screen(&mut self, screen: Box<dyn crate::screen::Screen>) {
        if self.screens.len() >= super::SCREENS_MAX {
            return;
        }
        self.screens.push(screen);
        self.dirty = true;
        if let Some(step) = self.on_screen(|screen, with| screen.on_open(with)) {
            self.apply_step(step);
        }
    }
}

/// What is to be printed, without need of the transcript that it is from.
fn detach_print(print: PrintItem, transcript: &EntryTranscript) -> PrintItem {
    match print {
        PrintItem::Entry(place) => match transcript.get(place) {
            Some(entry) => PrintItem::AsItWas(Box::new(entry.clone())),
            None => PrintItem::Entry(place),
        },
        other => other,
    }
}
