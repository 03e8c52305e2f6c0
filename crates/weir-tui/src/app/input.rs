//! Keys and pasted text to the app: to the screen that lies over the chat, the dialog, the box, or
//! what the table of keys says.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use weir_core::event::Decision;
use weir_core::ids::{QuestionId, Timestamp};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::transcript::Ask;

use super::{ANSWER_MS, Answered, App, Dialog, Local, QUIET_MS, Shown};
use crate::compose::Did;
use crate::keys::{self, When};
use crate::link::{Tone, Wish};
use crate::screen::approval::Answer;
use crate::screen::{open, question};
use crate::words::one_line;

impl App {
    /// A key.
    pub(crate) fn key(&mut self, key: KeyEvent, now: Timestamp) {
        if key.kind == KeyEventKind::Release || self.leaving {
            return;
        }
        self.now = now;
        self.settle_focus();
        self.dirty = true;
        if !self.screens.is_empty() {
            self.key_on_screen(key);
            // Until it comes anew, what closed the screen is held down.
            self.closed_by = self.screens.is_empty().then_some((key.code, now));
            return;
        }
        if self.is_held_down(key) {
            return;
        }
        self.pressed = now;
        let had_keys = self.focused_ask();
        self.key_below_screens(key);
        if !self.screens.is_empty() {
            self.behind = had_keys;
        }
    }

    /// Whether this is the key that closed a screen, still held down over what asks: nobody presses it
    /// for the question, and it is no letter for the box.
    fn is_held_down(&mut self, key: KeyEvent) -> bool {
        let Some((code, last)) = self.closed_by.take() else { return false };
        let held = code == key.code && self.now.ms_since(last) < QUIET_MS && self.asks();
        if held {
            self.closed_by = Some((code, self.now));
        }
        held
    }

    /// The ask that takes keys now.
    fn focused_ask(&self) -> Option<String> {
        let shown = self.shown.as_ref().filter(|shown| shown.focused && self.asks())?;
        Some(shown.name.clone())
    }

    fn key_below_screens(&mut self, key: KeyEvent) {
        if self.key_for_widening(key) {
            return;
        }
        if let Some(act) = keys::act(key, When::First)
            && !self.is_for_dialog(key)
        {
            self.act(act);
            return;
        }
        if self.key_in_dialog(key) || self.key_for_offer(key) {
            return;
        }
        self.key_in_box(key);
    }

    fn key_on_screen(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('z') {
            self.act(keys::Act::Suspend);
        } else if control && key.code == KeyCode::Char('l') {
            self.act(keys::Act::Repaint);
        } else if let Some(step) = self.on_screen(|screen, with| screen.key(key, with)) {
            self.step(step);
        }
    }

    fn key_in_box(&mut self, key: KeyEvent) {
        if self.composer.is_empty()
            && let Some(act) = keys::act(key, When::Empty)
            && self.act(act)
        {
            return;
        }
        let did = self.composer.key(key);
        self.tell_trouble();
        match did {
            Did::Took => (),
            Did::Send(written) => self.send(written),
            Did::Files { query, ticket } => self.wishes.push(Wish::Files { query, ticket }),
            Did::Clipboard(ticket) => self.wishes.push(Wish::Clipboard(ticket)),
            Did::Editor if self.about.local || !self.opened => self.acts.push(Local::Editor),
            Did::Editor => self.hint(Tone::Bad, "No editor can be used here"),
            Did::Passed if key.code == KeyCode::Tab && self.asks() => self.turn_to_ask(),
            // Everywhere else Tab completes the word: somebody who writes means no mode by it.
            Did::Passed if key.code == KeyCode::Tab && !self.composer.is_empty() => {
                self.hint(Tone::Quiet, "Nothing to complete · Shift-Tab: the permission mode");
            }
            Did::Passed => {
                if let Some(act) = keys::act(key, When::Passed) {
                    self.act(act);
                }
            }
        }
    }

    /// Text that was pasted at once.
    pub(crate) fn paste(&mut self, text: &str, now: Timestamp) {
        self.now = now;
        self.dirty = true;
        self.widening = None;
        if let Some(step) = self.on_screen(|screen, with| screen.paste(text, with)) {
            self.step(step);
            return;
        }
        self.pressed = now;
        let asks = self.asks();
        if let Some(shown) = self.shown.as_mut().filter(|shown| asks && shown.focused) {
            let taken = match &mut shown.dialog {
                Dialog::Approval(dialog) => dialog.paste(text) != Answer::Passed,
                Dialog::Question(dialog) => dialog.paste(text) != question::Answer::Passed,
            };
            if taken {
                return;
            }
            shown.focused = false;
        }
        let did = self.composer.paste(text);
        self.tell_trouble();
        match did {
            Did::Files { query, ticket } => self.wishes.push(Wish::Files { query, ticket }),
            Did::Clipboard(ticket) => self.wishes.push(Wish::Clipboard(ticket)),
            Did::Took | Did::Passed | Did::Send(_) | Did::Editor => (),
        }
    }

    /// What the clipboard holds is put into the box, as soon as it is known.
    pub(crate) fn ask_clipboard(&mut self) {
        if let Did::Clipboard(ticket) = self.composer.ask_clipboard() {
            self.wishes.push(Wish::Clipboard(ticket));
        }
        self.tell_trouble();
        self.dirty = true;
    }

    /// What went wrong in the box is told once.
    pub(crate) fn tell_trouble(&mut self) {
        if let Some(trouble) = self.composer.trouble() {
            self.hint(Tone::Bad, one_line(&trouble));
        }
    }

    /// Whether a dialog is to be seen: one that was answered is hidden until the fact says so.
    pub(crate) fn asks(&self) -> bool {
        let answered = self.answered.as_ref().map(|answered| &answered.name);
        self.shown.as_ref().is_some_and(|shown| Some(&shown.name) != answered)
    }

    /// The dialog was painted: from now on somebody may answer it.
    pub(crate) fn painted_ask(&mut self) {
        let (now, asks) = (self.now, self.asks());
        if let Some(shown) = self.shown.as_mut().filter(|_| asks) {
            shown.painted.get_or_insert(now);
        }
    }

    /// What was answered can be answered again, as if it had only just come. Whether anything was.
    pub(crate) fn ask_again(&mut self) -> bool {
        let answered = self.answered.take().is_some();
        if let Some(shown) = self.shown.as_mut().filter(|_| answered) {
            (shown.painted, shown.focused) = (None, false);
        }
        answered
    }

    /// An answer of which nothing was heard can be given again. Whether that is from now on.
    pub(crate) fn settle_answer(&mut self) -> bool {
        let now = self.now;
        let late = |answered: &Answered| now.ms_since(answered.at) >= ANSWER_MS;
        let again = self.answered.as_ref().is_some_and(late) && self.ask_again();
        if again {
            self.hint(Tone::Bad, "Nothing was heard of your answer: it can be given again");
        }
        again
    }

    /// A dialog takes keys by itself when the box is empty and the person paused after it was
    /// painted and after their last key: a letter that was meant for the box must not answer it. Whether that
    /// is from now on.
    pub(crate) fn settle_focus(&mut self) -> bool {
        let due = self.until_focus() == Some(0);
        if let Some(shown) = self.shown.as_mut().filter(|_| due) {
            shown.focused = true;
        }
        due
    }

    /// In how many milliseconds that is; `None`: not by itself.
    pub(crate) fn until_focus(&self) -> Option<u64> {
        let shown = self.shown.as_ref()?;
        let hidden = !self.screens.is_empty();
        if shown.focused || shown.left || hidden || !self.asks() || !self.composer.is_empty() {
            return None;
        }
        let since = shown.painted?.max(self.pressed);
        Some(since.plus_ms(QUIET_MS).ms_since(self.now))
    }

    /// Keys that a dialog wants before the table of keys: Ctrl-O in a focused one shows all of it.
    fn is_for_dialog(&self, key: KeyEvent) -> bool {
        let shows = key.code == KeyCode::Char('o') && self.asks();
        self.shown.as_ref().is_some_and(|shown| {
            let Shown { focused, dialog, .. } = shown;
            *focused && shows && matches!(dialog, Dialog::Approval(_))
        })
    }

    /// Whether the dialog took the key.
    fn key_in_dialog(&mut self, key: KeyEvent) -> bool {
        let empty = self.composer.is_empty();
        let asks = self.asks();
        let Some(shown) = self.shown.as_mut().filter(|_| asks) else { return false };
        if key.code == KeyCode::Tab && (shown.focused || empty) {
            self.turn_to_ask();
            return true;
        }
        if !shown.focused {
            return false;
        }
        match &mut shown.dialog {
            Dialog::Approval(dialog) => match dialog.key(key) {
                // Nothing goes past a reason that is being typed.
                Answer::Passed if dialog.is_typed_into() => (),
                Answer::Passed => {
                    // Whoever types something else is writing: what follows goes there too.
                    shown.focused &= !matches!(key.code, KeyCode::Char(_));
                    return false;
                }
                Answer::Took => (),
                Answer::Decide(decision, reason) => self.decide(decision, reason),
                Answer::All => self.show_whole_ask(),
                Answer::Interrupt => self.interrupt(),
            },
            Dialog::Question(dialog) => match dialog.key(key) {
                question::Answer::Passed => return false,
                question::Answer::Took => (),
                question::Answer::Reply(answer) => self.reply(answer),
                question::Answer::Leave => {
                    shown.focused = false;
                    shown.left = true;
                }
            },
        }
        true
    }

    /// Tab goes between the dialog and the box.
    fn turn_to_ask(&mut self) {
        let Some(shown) = &mut self.shown else { return };
        let typed = matches!(&shown.dialog, Dialog::Approval(one) if one.is_typed_into());
        shown.focused = !shown.focused || typed;
        shown.left = !shown.focused;
    }

    fn decide(&mut self, decision: Decision, reason: Option<String>) {
        let Some(Ask::Approval { approval, .. }) = self.fold.view.asks().first() else { return };
        let approval = approval.clone();
        self.answered = Some(Answered { name: approval.as_str().to_owned(), at: self.now });
        self.wishes.push(Wish::Tell(PersonCommand::Decide(ApprovalAnswer {
            approval,
            decision,
            reason,
            terms: None,
        })));
    }

    fn reply(&mut self, answer: String) {
        let ask = self.fold.view.asks().first();
        let Some(fact) = ask.and_then(Ask::question) else { return };
        let question: QuestionId = fact.question.clone();
        self.answered = Some(Answered { name: question.as_str().to_owned(), at: self.now });
        self.wishes.push(Wish::Tell(PersonCommand::Reply { question, answer }));
    }

    fn show_whole_ask(&mut self) {
        if let Some(Shown { dialog: Dialog::Approval(dialog), .. }) = &self.shown {
            let screen = open::approval(dialog, &self.theme);
            self.open_screen(screen);
        }
    }

    /// After a command of the person's own: Enter on an empty box shows it to the model, Esc does
    /// not.
    fn key_for_offer(&mut self, key: KeyEvent) -> bool {
        if !self.composer.is_empty() {
            return false;
        }
        match key.code {
            KeyCode::Enter => self.accept_offer(),
            KeyCode::Esc if self.shell.offer.is_some() => {
                self.shell.dismiss();
                true
            }
            KeyCode::Backspace if !self.shell.along.is_empty() => {
                self.shell.along.pop();
                true
            }
            _ => false,
        }
    }
}
