//! The list of completions while it is open. Not here: what is in it ([`super::complete`]).

use super::buffer::Pos;
use super::complete::{self, ITEMS_MAX, Item, Kind, Offer, Word};
use super::keys::Act;
use super::{Composer, Did};
use crate::link::{Attached, Ticket};

impl Composer {
    /// Looks after a change what can be completed now.
    pub(super) fn offer_again(&mut self) -> Did {
        let Some(word) = complete::word(&self.buffer, self.cursor) else {
            self.close_offer();
            self.dismissed = None;
            return Did::Took;
        };
        if self.dismissed == Some(word.start) {
            self.close_offer();
            return Did::Took;
        }
        self.dismissed = None;
        if word.kind == Kind::Command {
            let items = complete::commands(&self.named, &word.query);
            self.waiting = None;
            self.offer = Offer::new(word, items);
            return Did::Took;
        }
        self.ask(word)
    }

    fn ask(&mut self, word: Word) -> Did {
        // The old list stays until the new one is there: it would flicker.
        let same = |offer: &Offer| offer.word.kind == word.kind && offer.word.start == word.start;
        self.offer = self.offer.take().filter(same);
        if let Some(offer) = &mut self.offer {
            offer.word = word.clone();
        }
        let (query, ticket) = (word.query.clone(), self.ticket);
        self.ticket += 1;
        self.waiting = Some((ticket, word));
        Did::Files { query, ticket }
    }

    pub(super) fn take_files(&mut self, ticket: Ticket, found: Vec<String>) {
        let Some((_, word)) = self.waiting.take_if(|(waiting, _)| *waiting == ticket) else {
            return;
        };
        let item = |name| Item { name, hint: String::new(), about: String::new() };
        let items = found.into_iter().take(ITEMS_MAX).map(item).collect();
        self.offer = Offer::new(word, items);
    }

    pub(super) fn close_offer(&mut self) {
        self.offer = None;
        self.waiting = None;
    }

    /// A key while a list is open; `None`: it is for the text.
    pub(super) fn offer_on(&mut self, act: Act) -> Option<Did> {
        let offer = self.offer.as_mut()?;
        match act {
            Act::Up => offer.go(-1),
            Act::Down => offer.go(1),
            Act::Escape => {
                self.dismissed = Some(offer.word.start);
                self.close_offer();
            }
            Act::Tab => return Some(self.take_offer()),
            Act::Enter => return Some(self.enter_offer()),
            _ => return None,
        }
        Some(Did::Took)
    }

    /// Enter takes what is chosen; a command that needs no more is sent at once.
    fn enter_offer(&mut self) -> Did {
        let Some(offer) = &self.offer else { return Did::Passed };
        let query = &offer.word.query;
        let complete = match offer.word.kind {
            Kind::Command => self.named.iter().any(|command| command.name == *query),
            Kind::File => offer.item().name == *query && !query.ends_with('/'),
        };
        if complete && !offer.moved {
            return self.enter();
        }
        if offer.word.kind == Kind::File {
            return self.take_offer();
        }
        let alone = self.cursor == self.buffer.end();
        if !alone || !offer.item().hint.is_empty() {
            return self.take_offer();
        }
        let text = format!("/{}", offer.item().name);
        self.replace_all(&text);
        self.enter()
    }

    fn take_offer(&mut self) -> Did {
        let Some(offer) = self.offer.take() else { return Did::Passed };
        self.waiting = None;
        let (start, name) = (offer.word.start, &offer.item().name);
        let written = match offer.word.kind {
            Kind::Command => Some(format!("/{name}")),
            // A shell knows no `@`; within a folder it stays, so that one can go on.
            Kind::File if self.is_shell() && !name.ends_with('/') => Some(complete::quoted(name)),
            Kind::File => complete::mention(name),
        };
        let Some(written) = written else {
            // Such a name cannot be written after an `@`: the file goes along by itself.
            self.replace(start, self.cursor, "");
            self.attach(Attached::Path(name.clone()));
            return Did::Took;
        };
        if offer.word.kind == Kind::File && name.ends_with('/') {
            self.fill(start, &written);
            return self.offer_again();
        }
        let blank_follows = self.buffer.after(self.cursor).is_some_and(|next| next == " ");
        let gap = if blank_follows { "" } else { " " };
        self.fill(start, &format!("{written}{gap}"));
        Did::Took
    }

    fn fill(&mut self, start: Pos, text: &str) {
        self.replace(start, self.cursor, text);
        self.settle();
    }
}
