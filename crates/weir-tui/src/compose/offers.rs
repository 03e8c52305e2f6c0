//! The list of completions while it is open. Not here: what is in it ([`super::complete`]).

use super::buffer::TextPos;
use super::complete::{
    self, CompletionItem, CompletionKind, CompletionList, CompletionWord, ITEMS_MAX,
};
use super::keys::EditAction;
use super::{Composer, KeyOutcome};
use crate::link::{CommandTicket, MessageAttachment};

impl Composer {
    /// Looks after a change what can be completed now.
    pub(super) fn offer_again(&mut self) -> KeyOutcome {
        let Some(word) = complete::completable_word(&self.buffer, self.cursor) else {
            self.close_offer();
            self.dismissed = None;
            return KeyOutcome::Took;
        };
        if self.dismissed == Some(word.start) {
            self.close_offer();
            return KeyOutcome::Took;
        }
        self.dismissed = None;
        if word.kind == CompletionKind::Command {
            let items = complete::matching_commands(&self.named, &word.query);
            self.waiting = None;
            self.offer = CompletionList::new(word, items);
            return KeyOutcome::Took;
        }
        if word.kind == CompletionKind::Verb {
            let typed = &self.buffer.line(0)[..self.cursor.byte];
            let command = complete::split_verb(typed).map_or("", |(command, _)| command);
            let items = complete::matching_verbs(command, &word.query);
            self.waiting = None;
            self.offer = CompletionList::new(word, items);
            return KeyOutcome::Took;
        }
        self.request_completions(word)
    }

    fn request_completions(&mut self, word: CompletionWord) -> KeyOutcome {
        // The old list stays until the new one is there: it would flicker.
        let same =
            |offer: &CompletionList| offer.word.kind == word.kind && offer.word.start == word.start;
        self.offer = self.offer.take().filter(same);
        if let Some(offer) = &mut self.offer {
            offer.word = word.clone();
        }
        let (query, ticket) = (word.query.clone(), self.ticket);
        self.ticket += 1;
        self.waiting = Some((ticket, word));
        KeyOutcome::Files { query, ticket }
    }

    pub(super) fn take_files(&mut self, ticket: CommandTicket, found: Vec<String>) {
        let Some((_, word)) = self.waiting.take_if(|(waiting, _)| *waiting == ticket) else {
            return;
        };
        let item = |name| CompletionItem { name, hint: String::new(), about: String::new() };
        let items = found.into_iter().take(ITEMS_MAX).map(item).collect();
        self.offer = CompletionList::new(word, items);
    }

    pub(super) fn close_offer(&mut self) {
        self.offer = None;
        self.waiting = None;
    }

    /// A key while a list is open; `None`: it is for the text.
    pub(super) fn offer_on(&mut self, act: EditAction) -> Option<KeyOutcome> {
        let offer = self.offer.as_mut()?;
        match act {
            EditAction::Up => offer.move_choice(-1),
            EditAction::Down => offer.move_choice(1),
            EditAction::Escape => {
                self.dismissed = Some(offer.word.start);
                self.close_offer();
            }
            EditAction::Tab => return Some(self.take_offer()),
            EditAction::Enter => return Some(self.enter_offer()),
            _ => return None,
        }
        Some(KeyOutcome::Took)
    }

    /// Enter takes what is chosen; a command that needs no more is sent at once.
    fn enter_offer(&mut self) -> KeyOutcome {
        let Some(offer) = &self.offer else { return KeyOutcome::Passed };
        let query = &offer.word.query;
        let complete = match offer.word.kind {
            CompletionKind::Command => self.named.iter().any(|command| command.name == *query),
            // Words may be searched for here: Enter says what was typed, Tab completes it.
            CompletionKind::Verb => true,
            CompletionKind::File => offer.chosen_item().name == *query && !query.ends_with('/'),
        };
        if complete && !offer.moved {
            return self.handle_enter();
        }
        if offer.word.kind != CompletionKind::Command {
            return self.take_offer();
        }
        let alone = self.cursor == self.buffer.end();
        if !alone || !offer.chosen_item().hint.is_empty() {
            return self.take_offer();
        }
        let text = format!("/{}", offer.chosen_item().name);
        self.replace_all(&text);
        self.handle_enter()
    }

    fn take_offer(&mut self) -> KeyOutcome {
        let Some(offer) = self.offer.take() else { return KeyOutcome::Passed };
        self.waiting = None;
        let (start, name) = (offer.word.start, &offer.chosen_item().name);
        let written = match offer.word.kind {
            CompletionKind::Command => Some(format!("/{name}")),
            CompletionKind::Verb => Some(name.clone()),
            // A shell knows no `@`; within a folder it stays, so that one can go on.
            CompletionKind::File if self.is_shell() && !name.ends_with('/') => {
                Some(complete::quote_for_shell(name))
            }
            CompletionKind::File => complete::file_mention(name),
        };
        let Some(written) = written else {
            // Such a name cannot be written after an `@`: the file goes along by itself.
            self.replace_range(start, self.cursor, "");
            self.attach_file(MessageAttachment::Path(name.clone()));
            return KeyOutcome::Took;
        };
        if offer.word.kind == CompletionKind::File && name.ends_with('/') {
            self.fill_in_choice(start, &written);
            return self.offer_again();
        }
        let blank_follows = self.buffer.grapheme_after(self.cursor).is_some_and(|next| next == " ");
        let gap = if blank_follows { "" } else { " " };
        self.fill_in_choice(start, &format!("{written}{gap}"));
        KeyOutcome::Took
    }

    fn fill_in_choice(&mut self, start: TextPos, text: &str) {
        self.replace_range(start, self.cursor, text);
        self.settle_cursor();
    }
}
