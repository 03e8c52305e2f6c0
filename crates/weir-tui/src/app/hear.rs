//! News to the app.

use weir_core::event::Event;
use weir_core::ids::Timestamp;
use weir_core::view::transcript::Ask;

use super::entries::Transcript;
use super::fold::{Fold, Happened};
use super::notes::Loud;
use super::writing::Print;
use super::{App, Dialog, Local, Shown, Wanted};
use crate::compose::FIRST_TICKET;
use crate::familiar;
use crate::link::{About, Clip, Items, Named, News, Ticket, Tone};
use crate::screen::approval::Approval;
use crate::screen::question::Question;
use crate::screen::{Step, chat};
use crate::words::{one_line, sentence, status};

impl App {
    /// Something happened.
    pub(crate) fn news(&mut self, news: &News, now: Timestamp) {
        self.now = now;
        match news {
            News::Opened { session, known, about, named } => {
                let mut fold = Fold { known: *known, named: named.clone(), ..Fold::default() };
                fold.settings.session.clone_from(session);
                match self.begins(&fold, about) {
                    true => self.begin(fold, about),
                    false => self.open(fold, about),
                }
            }
            News::Fact { seq, ts, event } => {
                self.fold.fact(*seq, *ts, event.clone(), now);
                if matches!(**event, Event::SessionOpened(_) | Event::SessionConfigured(_)) {
                    self.wanted = Wanted::default();
                    self.know_settings();
                }
                self.hear_happened();
                self.tell_copy();
                self.show_ask();
                // Old facts are many, and nothing of them is seen before the last.
                self.dirty |= self.fold.seq >= self.fold.known;
            }
            News::Signal { kind, subject, text } => {
                self.fold.signal(*kind, subject, text, now);
                self.dirty = true;
            }
            News::Settings { model, profile, permission, thinking } => {
                let settings = &mut self.fold.settings;
                (settings.model, settings.profile) = (model.clone(), profile.clone());
                (settings.permission, settings.thinking) = (*permission, *thinking);
                (self.wanted, self.dirty) = (Wanted::default(), true);
                self.know_settings();
            }
            News::Listed { ticket, items: Items::Files(found) } => {
                self.composer.files(*ticket, found.clone());
                self.dirty = true;
            }
            News::Clipboard { ticket, clip } => self.clipboard(*ticket, clip),
            News::Shell { ticket, news } => self.shell_news(*ticket, news),
            News::Notice { tone, text } => self.notice(*tone, text),
            News::Refused { client_id, why } => self.refused(client_id, why),
            News::Branch(branch) => {
                self.about.branch = branch.clone();
                self.dirty = true;
            }
            News::Lost(why) => {
                self.lost(why.as_deref());
            }
            News::History(path) => {
                self.composer.set_history(path.clone());
                if let Some(trouble) = self.composer.trouble() {
                    self.hint(Tone::Bad, one_line(&trouble));
                }
            }
            News::Over(why) => {
                self.over = Some(why.clone());
                self.dirty = true;
            }
            News::Failed { ticket, why } if *ticket >= FIRST_TICKET => self.unfound(*ticket, why),
            News::Failed { why, .. } if self.screens.is_empty() => {
                self.hint(Tone::Bad, one_line(why));
            }
            News::Listed { .. } | News::Text { .. } | News::Failed { .. } => (),
        }
        if let Some(step) = self.on_screen(|screen, with| screen.news(news, with)) {
            self.step(step);
        }
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
            self.fold.note(Loud::Good, text, self.now);
        }
    }

    /// What the clipboard holds goes into the box.
    fn clipboard(&mut self, ticket: Ticket, clip: &Clip) {
        self.composer.clipboard(ticket, Some(clip));
        self.tell_trouble();
        self.dirty = true;
    }

    /// What the box asked for cannot be had.
    fn unfound(&mut self, ticket: Ticket, why: &str) {
        match self.composer.clipboard(ticket, None) {
            // What to install or to do is to be read at leisure: it is no hint that goes by itself.
            true => self.fold.note(Loud::Bad, one_line(why), self.now),
            false => self.composer.files(ticket, Vec::new()),
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
    fn lost(&mut self, why: Option<&str>) {
        if self.lost.is_some() && why.is_none() {
            self.hint(Tone::Good, "Connected again");
        }
        self.lost = why.map(one_line);
        self.dirty = true;
    }

    /// Whether this is the session that was open before it existed.
    fn begins(&self, fold: &Fold, about: &About) -> bool {
        let here = self.opened && self.about.folder == about.folder;
        here && fold.known == 0 && self.fold.seq == 0 && self.fold.settings.session.is_none()
    }

    /// The session that is open exists from now on.
    fn begin(&mut self, fold: Fold, about: &About) {
        self.fold.settings.session = fold.settings.session;
        self.fold.named = fold.named;
        self.about = about.clone();
        self.set_named();
        self.dirty = true;
    }

    /// A session is open: what was known belongs to another one.
    fn open(&mut self, mut fold: Fold, about: &About) {
        let old = std::mem::take(&mut self.fold);
        fold.settings = crate::screen::Settings {
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
        fold.prints = old.prints.into_iter().map(|print| kept(print, &old.transcript)).collect();
        if !self.opened {
            // What was told before anything was open belongs to what is opened now.
            fold.transcript = old.transcript;
            fold.greeted = fold.transcript.len();
        }
        self.fold = fold;
        self.about = about.clone();
        self.opened = true;
        (self.shown, self.answered, self.lost) = (None, None, None);
        self.wanted = Wanted::default();
        if old.settings.session.is_some() && old.settings.session != self.fold.settings.session {
            // It belongs to the session that was left, and stands there.
            self.sent.clear();
        }
        self.shell.forget();
        self.set_named();
        self.fold.prints.push_back(Print::Lines(chat::greeting(about)));
        for note in &about.notes {
            let (loud, text) = (Loud::Warn, one_line(note));
            self.fold.greet(loud, text, self.now);
        }
        self.settings_known = false;
        self.send_held();
        self.dirty = true;
    }

    /// What can be typed as `/name`: the commands of the face, then what the session has.
    pub(crate) fn set_named(&mut self) {
        let is_of_session = |name: &str| self.fold.named.iter().any(|one| one.name == name);
        let own = super::commands::COMMANDS.iter();
        let own = own.filter(|one| !(familiar::yields(one.name) && is_of_session(one.name)));
        let own = own.map(|command| Named {
            name: command.name.into(),
            about: command.about.into(),
            hint: command.hint.into(),
            kind: "command".into(),
        });
        let own: Vec<Named> = own.collect();
        let taken = |name: &str| own.iter().any(|one| one.name == name);
        let more: Vec<Named> =
            self.fold.named.iter().filter(|one| !taken(&one.name)).cloned().collect();
        self.named = own.into_iter().chain(more).collect();
        self.composer.set_named(self.named.clone());
    }

    fn notice(&mut self, tone: Tone, text: &str) {
        let loud = match tone {
            Tone::Quiet => Loud::Quiet,
            Tone::Good => Loud::Good,
            Tone::Bad => {
                // Whatever was wished may be what could not be done: it can be answered again,
                // what was to be taken back waits, and nothing else is going to hold.
                self.ask_again();
                self.copying = None;
                self.fold.keep_queued();
                self.wanted = Wanted::default();
                Loud::Bad
            }
        };
        self.fold.note(loud, one_line(text), self.now);
        self.dirty = true;
    }

    /// What was said did not arrive: it goes back into the box, before what stands there.
    fn refused(&mut self, client_id: &str, why: &str) {
        self.fold.note(Loud::Bad, format!("Not sent: {}", sentence(why)), self.now);
        if let Some(written) = self.sent.remove(client_id) {
            self.composer.give_back(&written);
        }
        self.dirty = true;
    }

    fn hear_happened(&mut self) {
        for happened in std::mem::take(&mut self.fold.happened) {
            match happened {
                Happened::Arrived(name) => {
                    if let Some(written) = self.sent.remove(&name) {
                        self.fold.own(&name, written);
                    }
                }
                Happened::TakenBack(written) => self.taken_back(&written),
                Happened::GivenBack(written) => self.given_back(&written),
                Happened::Asked => self.notify("Weir waits for you"),
                Happened::Ended(how) => {
                    let (_, word) = status(how);
                    self.notify(&format!("Weir: {word}"));
                }
                Happened::Answered(name, words) => {
                    let here = self.answered.take_if(|answered| answered.name == name).is_some();
                    let seen = self.shown.as_ref().is_some_and(|shown| shown.name == name);
                    if seen && !here {
                        self.hint(Tone::Quiet, format!("Answered elsewhere. {words}"));
                    }
                }
            }
        }
    }

    fn notify(&mut self, text: &str) {
        if self.away {
            self.acts.push(Local::Notify(text.to_owned()));
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
            Ask::Approval { event, .. } => Dialog::Approval(Approval::new(event.clone())),
            Ask::Question { event, .. } => Dialog::Question(Question::new(event.clone())),
        };
        // It takes keys only some time after it was seen: one may be on its way for the one before.
        let name = ask.name().to_owned();
        self.shown = Some(Shown { name, dialog, painted: None, focused: false, left: false });
        self.dirty = true;
    }

    /// What a screen wants.
    pub(crate) fn step(&mut self, step: Step) {
        match step {
            Step::Idle => return,
            Step::Stay => (),
            Step::Do(wishes) => self.wishes.extend(wishes),
            Step::Close => self.close_screen(),
            Step::CloseAnd(wishes) => {
                self.close_screen();
                self.wishes.extend(wishes);
            }
            Step::Put(text) => {
                self.close_screen();
                let said = self.said(text);
                self.composer.give_back(&said);
            }
            Step::Command(line) => {
                self.close_screen();
                self.command(&line);
            }
            Step::Over(screen) => self.open_screen(screen),
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
        if let Some(step) = self.on_screen(|screen, with| screen.begin(with)) {
            self.step(step);
        }
    }
}

/// What is to be printed, without need of the transcript that it is from.
fn kept(print: Print, transcript: &Transcript) -> Print {
    match print {
        Print::Entry(place) => match transcript.get(place) {
            Some(entry) => Print::Left(Box::new(entry.clone())),
            None => Print::Entry(place),
        },
        other => other,
    }
}
