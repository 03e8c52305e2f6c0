//! Wishes that wait while the other end takes none. Not here: when they are sent.

use std::collections::VecDeque;

use tokio::sync::mpsc::error::TrySendError;

use super::Face;
use crate::link::{Link, News, ShellNews, Tone, Wish};

/// Wishes that wait.
const UNSENT_MAX: usize = 1024;

const WHY: &str = "too much waits for the other end already";

impl Face {
    /// Wishes go out in order; those for which there is no room wait.
    pub(super) fn send(&mut self, link: &Link) {
        for wish in self.app.take_wishes() {
            if let Err(wish) = add(&mut self.unsent, wish) {
                self.app.news(&refused(*wish), self.clock.now());
            }
        }
        while let Some(wish) = self.unsent.pop_front() {
            match link.wishes.try_send(wish) {
                Ok(()) => (),
                Err(TrySendError::Full(wish)) => {
                    self.unsent.push_front(wish);
                    break;
                }
                // The other end has gone, and says why in its last news.
                Err(TrySendError::Closed(_)) => self.unsent.clear(),
            }
        }
    }
}

/// Adds a wish at the end. Past the bound the oldest search for files goes first: what was typed
/// since has asked again. An error gives the wish back: there is no room.
fn add(unsent: &mut VecDeque<Wish>, wish: Wish) -> Result<(), Box<Wish>> {
    // Leaving is wished once, and nothing may keep anybody from it.
    if unsent.len() >= UNSENT_MAX && wish != Wish::Leave {
        match unsent.iter().position(|waits| matches!(waits, Wish::Files { .. })) {
            Some(place) => drop(unsent.remove(place)),
            None => return Err(Box::new(wish)),
        }
    }
    unsent.push_back(wish);
    Ok(())
}

/// What is told of a wish for which there was no room.
fn refused(wish: Wish) -> News {
    match wish {
        Wish::Say { client_id, .. } => News::Refused { client_id, why: WHY.into() },
        Wish::Files { ticket, .. }
        | Wish::Sessions { ticket, .. }
        | Wish::Preview { ticket, .. }
        | Wish::Report { ticket, .. }
        | Wish::Models(ticket)
        | Wish::Profiles(ticket)
        | Wish::Clipboard(ticket) => News::Failed { ticket, why: WHY.into() },
        Wish::Shell { ticket, .. } => {
            let (status, shown) = (format!("not run: {WHY}"), String::new());
            News::Shell { ticket, news: ShellNews::Ended { status, ok: false, shown } }
        }
        _ => News::Notice { tone: Tone::Bad, text: format!("Not done: {WHY}") },
    }
}

#[cfg(test)]
mod tests {
    use weir_core::input::PersonCommand;

    use super::*;

    fn files(ticket: u64) -> Wish {
        Wish::Files { query: "a".into(), ticket }
    }

    #[test]
    fn f1_what_waits_has_a_bound_and_searches_go_first() {
        let mut unsent: VecDeque<Wish> = (0..UNSENT_MAX as u64).map(files).collect();
        assert_eq!(add(&mut unsent, Wish::Tell(PersonCommand::Cancel)), Ok(()));
        assert_eq!((unsent.front(), unsent.len()), (Some(&files(1)), UNSENT_MAX));
        while add(&mut unsent, Wish::Undo).is_ok() {
            assert!(unsent.len() <= UNSENT_MAX, "it ends");
        }
        assert_eq!(
            unsent.front(),
            Some(&Wish::Tell(PersonCommand::Cancel)),
            "nothing but searches went"
        );
        assert_eq!(add(&mut unsent, Wish::Leave), Ok(()));
    }

    #[test]
    fn f1_whoever_waits_for_a_wish_without_room_is_told() {
        let say = Wish::Say { text: "a".into(), attached: Vec::new(), client_id: "t-1".into() };
        let shell = Wish::Shell { command: "ls".into(), ticket: 7 };
        for (wish, told) in [
            (say, "Refused"),
            (files(1), "Failed"),
            (Wish::Models(2), "Failed"),
            (Wish::Clipboard(3), "Failed"),
            (shell, "Shell"),
            (Wish::Tell(PersonCommand::Cancel), "Notice"),
        ] {
            let news = format!("{:?}", refused(wish));
            assert!(news.starts_with(told) && news.contains(WHY), "{news}");
        }
    }
}
