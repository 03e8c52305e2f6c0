//! A chat without a browser: facts go in, and the HTML that a page has comes out, part by part. For
//! tests that hold all faces against each other, and for measuring; no product path comes here. Not
//! here: addresses, the socket, who may see what.

use std::sync::Arc;

use weir_core::ids::{Seq, SessionId};
use weir_engine::hub::PublishedFact;
use weir_engine::ports::{Store, StoreError};

use crate::chat::{ChatFold, ChatView, ENTRIES_SHOWN, FoldedChat, PageTranscript};

/// The page of a chat, with all of its entries.
pub struct OffscreenPage {
    view: ChatView,
    fold: ChatFold,
    transcript: PageTranscript,
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
        let view = view_of(session);
        let (fold, transcript) = (ChatFold::new(view.clone()), PageTranscript::default());
        OffscreenPage { view, fold, transcript }
    }

    /// Takes a fact in.
    pub fn take_fact(&mut self, fact: &PublishedFact) {
        self.transcript.apply_operations(self.fold.apply_fact(fact));
    }

    /// The entries of the conversation, an element each.
    pub fn entries_html(&self) -> Vec<String> {
        let transcript = &self.transcript;
        let one = |n| transcript.render_entries(&self.view, n, n + 1).into_string();
        (0..transcript.len()).map(one).collect()
    }

    /// Another part of the page.
    pub fn part_html(&self, part: PagePart) -> String {
        let (transcript, view) = (&self.transcript, &self.view);
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

/// A chat in a store, as somebody looks at it who opens its page for the first time.
pub struct FirstLook {
    view: ChatView,
    folded: Arc<FoldedChat>,
}

impl FirstLook {
    /// Reads what the page needs, from what is kept of the chat on, and keeps it where that is due.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn read_journal(
        store: &dyn Store,
        session: SessionId,
    ) -> Result<FirstLook, StoreError> {
        let view = view_of(session);
        let folded = FoldedChat::read_journal(store, &view, None).await?;
        Ok(FirstLook { view, folded })
    }

    /// The last fact that it knows.
    pub fn last_seq(&self) -> Seq {
        self.folded.seq
    }

    /// How many entries the conversation has.
    pub fn entry_count(&self) -> usize {
        self.folded.transcript.len()
    }

    /// The entries that the page shows at first.
    pub fn newest_html(&self) -> String {
        let (transcript, len) = (&self.folded.transcript, self.entry_count());
        let from = len.saturating_sub(ENTRIES_SHOWN);
        transcript.render_entries(&self.view, from, len).into_string()
    }

    /// The entries before the one at this place, as many as are shown at once.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn older_html(&self, store: &dyn Store, to: usize) -> Result<String, StoreError> {
        let from = to.saturating_sub(ENTRIES_SHOWN);
        let part = self.folded.read_entries(store, &self.view, from, to).await?;
        Ok(part.transcript.render_entries(&self.view, from, to).into_string())
    }
}

fn view_of(session: SessionId) -> ChatView {
    ChatView { session, csrf: String::new(), acts: true, back: None }
}

/// The entries of a chat as whoever has a link to all of it sees them, an element each.
pub fn shared_entries(facts: &[PublishedFact]) -> Vec<String> {
    crate::web::shared_entries(facts)
}
