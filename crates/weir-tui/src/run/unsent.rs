//! Wishes that wait while the other end takes none. Not here: when they are sent.

use std::collections::VecDeque;

use tokio::sync::mpsc::error::TrySendError;

use super::FaceLoop;
use crate::link::{NoticeTone, ShellNews, UiChannel, UiCommand, UiUpdate};

/// Wishes that wait.
const UNSENT_MAX: usize = 1024;

const WHY: &str = "too much waits for the other end already";

impl FaceLoop {
    /// Wishes go out in order; those for which there is no room wait.
    pub(super) fn send_commands(&mut self, link: &UiChannel) {
        for wish in self.app.take_wishes() {
            if let Err(wish) = add_unsent(&mut self.unsent, wish) {
                self.app.handle_update(&refusal_update(*wish), self.clock.now());
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
fn add_unsent(unsent: &mut VecDeque<UiCommand>, wish: UiCommand) -> Result<(), Box<UiCommand>> {
    // Leaving is wished once, and nothing may keep anybody from it.
    if unsent.len() >= UNSENT_MAX && wish != UiCommand::Leave {
        match unsent.iter().position(|waits| matches!(waits, UiCommand::Files { .. })) {
            Some(place) => drop(unsent.remove(place)),
            None => return Err(Box::new(wish)),
        }
    }
    unsent.push_back(wish);
    Ok(())
}

/// What is told of a wish for which there was no room.
fn refusal_update(wish: UiCommand) -> UiUpdate {
    match wish {
        UiCommand::Say { client_id, .. } => UiUpdate::Refused { client_id, why: WHY.into() },
        UiCommand::Files { ticket, .. }
        | UiCommand::Sessions { ticket, .. }
        | UiCommand::Preview { ticket, .. }
        | UiCommand::Report { ticket, .. }
        | UiCommand::Review { ticket, .. }
        | UiCommand::Decide { ticket, .. }
        | UiCommand::Models(ticket)
        | UiCommand::Profiles(ticket)
        | UiCommand::Clipboard(ticket) => UiUpdate::Failed { ticket, why: WHY.into() },
        UiCommand::Shell { ticket, .. } => {
            let (status, shown) = (format!("not run: {WHY}"), String::new());
            UiUpdate::Shell { ticket, news: ShellNews::Ended { status, ok: false, shown } }
        }
        _ => UiUpdate::Notice { tone: NoticeTone::Bad, text: format!("Not done: {WHY}") },
    }
}

#[cfg(test)]
mod tests {
    use weir_core::input::PersonCommand;

    use super::*;

    fn files(ticket: u64) -> UiCommand {
        UiCommand::Files { query: "a".into(), ticket }
    }

    #[test]
    fn f1_what_waits_has_a_bound_and_searches_go_first() {
        let mut unsent: VecDeque<UiCommand> = (0..UNSENT_MAX as u64).map(files).collect();
        assert_eq!(add_unsent(&mut unsent, UiCommand::Tell(PersonCommand::Cancel)), Ok(()));
        assert_eq!((unsent.front(), unsent.len()), (Some(&files(1)), UNSENT_MAX));
        while add_unsent(&mut unsent, UiCommand::Undo).is_ok() {
            assert!(unsent.len() <= UNSENT_MAX, "it ends");
        }
        assert_eq!(
            unsent.front(),
            Some(&UiCommand::Tell(PersonCommand::Cancel)),
            "nothing but searches went"
        );
        assert_eq!(add_unsent(&mut unsent, UiCommand::Leave), Ok(()));
    }

    #[test]
    fn f1_whoever_waits_for_a_wish_without_room_is_told() {
        let say =
            UiCommand::Say { text: "a".into(), attached: Vec::new(), client_id: "t-1".into() };
        let shell = UiCommand::Shell { command: "ls".into(), ticket: 7 };
        for (wish, told) in [
            (say, "Refused"),
            (files(1), "Failed"),
            (UiCommand::Models(2), "Failed"),
            (UiCommand::Clipboard(3), "Failed"),
            (shell, "Shell"),
            (UiCommand::Tell(PersonCommand::Cancel), "Notice"),
        ] {
            let news = format!("{:?}", refusal_update(wish));
            assert!(news.starts_with(told) && news.contains(WHY), "{news}");
        }
    }
}
