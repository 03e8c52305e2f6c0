//! A chat without a browser: facts go in, and the HTML that a page has comes out, part by part. For
//! tests that hold all faces against each other; no product path comes here. Not here: addresses,
//! the socket, who may see what.

use weir_core::ids::SessionId;
use weir_engine::hub::PublishedFact;

use crate::chat::{ChatView, FoldedChat};

/// The page of a chat.
pub struct OffscreenPage {
    view: ChatView,
    folded: FoldedChat,
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
        let view = ChatView { session, csrf: String::new(), acts: true, back: None };
        OffscreenPage { folded: FoldedChat::new(view.clone()), view }
    }

    /// Takes a fact in.
    pub fn take_fact(&mut self, fact: &PublishedFact) {
        self.folded.apply_fact(fact);
    }

    /// The entries of the conversation, an element each.
    pub fn entries_html(&self) -> Vec<String> {
        let transcript = &self.folded.transcript;
        let one = |n| transcript.render_entries(&self.view, n, n + 1).into_string();
        (0..transcript.len()).map(one).collect()
    }

    /// Another part of the page.
    pub fn part_html(&self, part: PagePart) -> String {
        let (transcript, view) = (&self.folded.transcript, &self.view);
        let html = match part {
            PagePart::Status => transcript.render_status(view),
            PagePart::Banner => transcript.render_banner(view),
            PagePart::Plan => transcript.render_plan(view),
            PagePart::Queue => transcript.render_queue(view),
            PagePart::Asks => transcript.render_asks(view),
        };
        html.into_string()
    }
}

/// The entries of a chat as whoever has a link to all of it sees them, an element each.
pub fn shared_entries(facts: &[PublishedFact]) -> Vec<String> {
    crate::web::shared_entries(facts)
}
