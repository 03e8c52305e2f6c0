//! Keys and pasted text to the app: to the screen that lies over the chat, the dialog, the box, or
//! what the table of keys says.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use weir_core::event::Decision;
use weir_core::ids::{QuestionId, Timestamp};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::view::transcript::PendingAsk;

use super::{ANSWER_MS, App, Dialog, QUIET_MS, ShownDialog, TerminalAction, UnconfirmedAnswer};
use crate::compose::KeyOutcome;
use crate::keys::{self, KeyStage};
use crate::link::{NoticeTone, UiCommand};
use crate::screen::approval::ApprovalKeyOutcome;
use crate::screen::{open, question};
use crate::words::one_line;

impl App {
    /// A key.
    pub(crate) fn handle_key(&mut self, key: KeyEvent, now: Timestamp) {
        if key.kind == KeyEventKind::Release || self.leaving {
            return;
        }
        self.now = now;
        self.take_back_focus();
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
        let held = code == key.code && self.now.ms_since(last) < QUIET_MS && self.is_asking();
        if held {
            self.closed_by = Some((code, self.now));
        }
        held
    }

    /// The ask that takes keys now.
    fn focused_ask(&self) -> Option<String> {
        let shown = self.shown.as_ref().filter(|shown| shown.focused && self.is_asking())?;
        Some(shown.name.clone())
    }

    fn key_below_screens(&mut self, key: KeyEvent) {
        if self.key_for_widening(key) {
            return;
        }
        if let Some(act) = keys::action_for_key(key, KeyStage::First)
            && !self.is_for_dialog(key)
        {
            self.run_action(act);
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
            self.run_action(keys::ChatAction::Suspend);
        } else if control && key.code == KeyCode::Char('l') {
            self.run_action(keys::ChatAction::Repaint);
        } else if let Some(step) = self.on_screen(|screen, with| screen.handle_key(key, with)) {
            self.apply_step(step);
        }
    }

    fn key_in_box(&mut self, key: KeyEvent) {
        if self.composer.is_empty()
            && let Some(act) = keys::action_for_key(key, KeyStage::Empty)
            && self.run_action(act)
        {
            return;
        }
        let did = self.composer.handle_key(key);
        if !matches!(did, KeyOutcome::Passed) {
            // Whoever writes on does not mean the key before.
            self.disarm();
        }
        self.tell_trouble();
        match did {
            KeyOutcome::Took => (),
            KeyOutcome::Send(written) => self.send_written(written),
            KeyOutcome::Files { query, ticket } => {
                self.wishes.push(UiCommand::Files { query, ticket })
            }
            KeyOutcome::Clipboard(ticket) => self.wishes.push(UiCommand::Clipboard(ticket)),
            KeyOutcome::Editor if self.about.local || !self.opened => {
                self.acts.push(TerminalAction::Editor)
            }
            KeyOutcome::Editor => self.show_hint(NoticeTone::Bad, "No editor can be used here"),
            KeyOutcome::Passed if key.code == KeyCode::Tab && self.is_asking() => {
                self.turn_to_ask()
            }
            // Everywhere else Tab completes the word: somebody who writes means no mode by it.
            KeyOutcome::Passed if key.code == KeyCode::Tab && !self.composer.is_empty() => {
                self.show_hint(
                    NoticeTone::Quiet,
                    "Nothing to complete · Shift-Tab: the permission mode",
                );
            }
            KeyOutcome::Passed => {
                if let Some(act) = keys::action_for_key(key, KeyStage::Passed) {
                    self.run_action(act);
                }
            }
        }
    }

    /// Text that was pasted at once.
    pub(crate) fn handle_paste(&mut self, text: &str, now: Timestamp) {
        self.now = now;
        self.dirty = true;
        self.widening = None;
        if let Some(step) = self.on_screen(|screen, with| screen.handle_paste(text, with)) {
            self.apply_step(step);
            return;
        }
        self.pressed = now;
        let asks = self.is_asking();
        if let Some(shown) = self.shown.as_mut().filter(|shown| asks && shown.focused) {
            let taken = match &mut shown.dialog {
                Dialog::Approval(dialog) => dialog.handle_paste(text) != ApprovalKeyOutcome::Passed,
                Dialog::Question(dialog) => {
                    dialog.handle_paste(text) != question::QuestionKeyOutcome::Passed
                }
            };
            if taken {
                return;
            }
            shown.focused = false;
        }
        let did = self.composer.handle_paste(text);
        self.tell_trouble();
        match did {
            KeyOutcome::Files { query, ticket } => {
                self.wishes.push(UiCommand::Files { query, ticket })
            }
            KeyOutcome::Clipboard(ticket) => self.wishes.push(UiCommand::Clipboard(ticket)),
            KeyOutcome::Took | KeyOutcome::Passed | KeyOutcome::Send(_) | KeyOutcome::Editor => (),
        }
    }

    /// What the clipboard holds is put into the box, as soon as it is known.
    pub(crate) fn ask_clipboard(&mut self) {
        if let KeyOutcome::Clipboard(ticket) = self.composer.ask_clipboard() {
            self.wishes.push(UiCommand::Clipboard(ticket));
        }
        self.tell_trouble();
        self.dirty = true;
    }

    /// What went wrong in the box is told once.
    pub(crate) fn tell_trouble(&mut self) {
        if let Some(trouble) = self.composer.take_trouble() {
            self.show_hint(NoticeTone::Bad, one_line(&trouble));
        }
    }

    /// Whether a dialog is to be seen: one that was answered is hidden until the fact says so.
    pub(crate) fn is_asking(&self) -> bool {
        let answered = self.answered.as_ref().map(|answered| &answered.name);
        self.shown.as_ref().is_some_and(|shown| Some(&shown.name) != answered)
    }

    /// The dialog was painted: from now on somebody may answer it.
    pub(crate) fn painted_ask(&mut self) {
        let (now, asks) = (self.now, self.is_asking());
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
        let late = |answered: &UnconfirmedAnswer| now.ms_since(answered.at) >= ANSWER_MS;
        let again = self.answered.as_ref().is_some_and(late) && self.ask_again();
        if again {
            self.show_hint(
                NoticeTone::Bad,
                "Nothing was heard of your answer: it can be given again",
            );
        }
        again
    }

    /// A dialog takes keys by itself when the box is empty and the person paused after it was
    /// painted and after their last key: a letter that was meant for the box must not answer it. Whether that
    /// is from now on.
    pub(crate) fn settle_focus(&mut self) -> bool {
        let due = self.focus_due().filter(|due| due.ms_since(self.now) == 0);
        if let Some(shown) = self.shown.as_mut().filter(|_| due.is_some()) {
            shown.focused = true;
            shown.focused_from = due;
        }
        due.is_some()
    }

    /// What was pressed before a dialog took keys was not meant for it, however late the face comes to look.
    fn take_back_focus(&mut self) {
        let now = self.now;
        let is_early = |shown: &&mut ShownDialog| shown.focused_from.is_some_and(|from| now < from);
        if let Some(shown) = self.shown.as_mut().filter(is_early) {
            shown.focused = false;
            shown.focused_from = None;
        }
    }

    /// In how many milliseconds that is; `None`: not by itself.
    pub(crate) fn until_focus(&self) -> Option<u64> {
        self.focus_due().map(|due| due.ms_since(self.now))
    }

    fn focus_due(&self) -> Option<Timestamp> {
        let shown = self.shown.as_ref()?;
        let hidden = !self.screens.is_empty();
        if shown.focused || shown.left || hidden || !self.is_asking() || !self.composer.is_empty() {
            return None;
        }
        let since = shown.painted?.max(self.pressed);
        Some(since.plus_ms(QUIET_MS))
    }

    /// Keys that a dialog wants before the table of keys: Ctrl-O in a focused one shows all of it.
    fn is_for_dialog(&self, key: KeyEvent) -> bool {
        let shows = key.code == KeyCode::Char('o') && self.is_asking();
        self.shown.as_ref().is_some_and(|shown| {
            let ShownDialog { focused, dialog, .. } = shown;
            *focused && shows && matches!(dialog, Dialog::Approval(_))
        })
    }

    /// Whether the dialog took the key.
    fn key_in_dialog(&mut self, key: KeyEvent) -> bool {
        let empty = self.composer.is_empty();
        let asks = self.is_asking();
        let Some(shown) = self.shown.as_mut().filter(|_| asks) else { return false };
        if key.code == KeyCode::Tab && (shown.focused || empty) {
            self.turn_to_ask();
            return true;
        }
        if !shown.focused {
            return false;
        }
        match &mut shown.dialog {
            Dialog::Approval(dialog) => match dialog.handle_key(key) {
                // Nothing goes past a reason that is being typed.
                ApprovalKeyOutcome::Passed if dialog.is_typed_into() => (),
                ApprovalKeyOutcome::Passed => {
                    // Whoever types something else is writing: what follows goes there too.
                    shown.focused &= !matches!(key.code, KeyCode::Char(_));
                    return false;
                }
                ApprovalKeyOutcome::Took => (),
                ApprovalKeyOutcome::Decide(decision, reason) => {
                    self.decide_approval(decision, reason)
                }
                ApprovalKeyOutcome::All => self.show_whole_ask(),
                ApprovalKeyOutcome::Interrupt => self.interrupt_run(),
            },
            Dialog::Question(dialog) => match dialog.handle_key(key) {
                question::QuestionKeyOutcome::Passed => return false,
                question::QuestionKeyOutcome::Took => (),
                question::QuestionKeyOutcome::Reply(answer) => self.reply_to_question(answer),
                question::QuestionKeyOutcome::Leave => {
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

    /// The person decides about what asks first.
    pub(crate) fn decide_approval(&mut self, decision: Decision, reason: Option<String>) {
        let ask = self.fold.view.asks().first();
        let Some(request) = ask.and_then(PendingAsk::request) else { return };
        let approval = request.approval.clone();
        self.answered =
            Some(UnconfirmedAnswer { name: approval.as_str().to_owned(), at: self.now });
        self.wishes.push(UiCommand::Tell(PersonCommand::Decide(ApprovalAnswer {
            approval,
            decision,
            reason,
            terms: None,
        })));
    }

    /// The person answers the question that asks first.
    pub(crate) fn reply_to_question(&mut self, answer: String) {
        let ask = self.fold.view.asks().first();
        let Some(fact) = ask.and_then(PendingAsk::question) else { return };
        let question: QuestionId = fact.question.clone();
        self.answered =
            Some(UnconfirmedAnswer { name: question.as_str().to_owned(), at: self.now });
        self.wishes.push(UiCommand::Tell(PersonCommand::Reply { question, answer }));
    }

    fn show_whole_ask(&mut self) {
        if let Some(ShownDialog { dialog: Dialog::Approval(dialog), .. }) = &self.shown {
            let screen = open::approval_screen(dialog, &self.theme);
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
                self.shell.dismiss_offer();
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
