//! What a session is called, as lists of sessions have it, and when something last happened in it. Pure.

use jiff::Timestamp;
use weir_core::event::Event;
use weir_core::ids;
use weir_core::message::plain_text;
use weir_core::view::told::one_line;
use weir_core::view::transcript::PlacedFact;

use crate::wire::SessionUpdate;

/// Characters of a title, as a session has it.
const TITLE_CHARS_MAX: usize = 80;

/// What is known of it until now.
#[derive(Debug, Default)]
pub(super) struct SessionTitle {
    title: String,
    /// When something last happened; `None`: nothing has yet.
    last: Option<ids::Timestamp>,
}

impl SessionTitle {
    /// Takes a fact in; what of it belongs into a list of sessions.
    pub(super) fn take_fact(&mut self, fact: &PlacedFact) -> Option<SessionUpdate> {
        self.last = Some(fact.ts);
        match fact.event.as_ref() {
            Event::InputAccepted(input) if self.title.is_empty() => {
                let text = plain_text(&input.content);
                let first = text.lines().next().unwrap_or_default();
                self.title = one_line(&first.chars().take(TITLE_CHARS_MAX).collect::<String>());
                self.whole_update()
            }
            Event::RunFinished(_) => Some(SessionUpdate::SessionInfoUpdate {
                title: None,
                updated_at: iso_text(fact.ts),
            }),
            _ => None,
        }
    }

    /// All that is known of it; `None`: nothing happened yet.
    pub(super) fn whole_update(&self) -> Option<SessionUpdate> {
        let title = Some(self.title.clone()).filter(|title| !title.is_empty());
        let updated_at = iso_text(self.last?);
        Some(SessionUpdate::SessionInfoUpdate { title, updated_at })
    }
}

/// A moment as lists of sessions have it.
fn iso_text(ts: ids::Timestamp) -> String {
    Timestamp::from_microsecond(ts.0).unwrap_or_default().to_string()
}
