//! A chat without a browser: facts go in, and the HTML that a page has comes out, part by part. For
//! tests that hold all faces against each other; no product path comes here. Not here: addresses,
//! the socket, who may see what.

use weir_core::ids::SessionId;
use weir_engine::hub::Fact;

use crate::web::chat::{Folded, View};

/// The page of a chat.
pub struct OffscreenPage {
    view: View,
    folded: Folded,
}

/// A part of the page beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePart {
    /// What is going on, context and cost.
    Status,
    /// What must not be overlooked.
    Banner,
    /// The task list.
    Plan,
    /// What waits to be said.
    Queue,
    /// What waits for an answer.
    Asks,
}

impl OffscreenPage {
    /// The page of a chat of which nothing is known yet.
    pub fn new(session: SessionId) -> OffscreenPage {
        let view = View { session, csrf: String::new(), acts: true, back: None };
        OffscreenPage { folded: Folded::new(view.clone()), view }
    }

    /// Takes a fact in.
    pub fn take(&mut self, fact: &Fact) {
        self.folded.take(fact);
    }

    /// The entries of the conversation, an element each.
    pub fn entries(&self) -> Vec<String> {
        let transcript = &self.folded.transcript;
        let one = |n| transcript.entries(&self.view, n, n + 1).into_string();
        (0..transcript.len()).map(one).collect()
    }

    /// Another part of the page.
    pub fn part(&self, part: PagePart) -> String {
        let (transcript, view) = (&self.folded.transcript, &self.view);
        let html = match part {
            PagePart::Status => transcript.status(view),
            PagePart::Banner => transcript.banner(view),
            PagePart::Plan => transcript.plan(view),
            PagePart::Queue => transcript.queue(view),
            PagePart::Asks => transcript.asks(view),
        };
        html.into_string()
    }
}

/// The entries of a chat as whoever has a link to all of it sees them, an element each.
pub fn shared_entries(facts: &[Fact]) -> Vec<String> {
    crate::web::shared_entries(facts)
}
