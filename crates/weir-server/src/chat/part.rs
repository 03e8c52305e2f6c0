//! Older entries of a chat, which are not at hand: read from the settled place before them on, and as
//! far as nothing that comes later changes them (Q10). Not here: which ones are wanted.

use weir_core::ids::Seq;
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{Store, StoreError};

use super::folded::ChatPlace;
use super::{ChatFold, ChatView, FoldedChat, PageTranscript};

/// Facts that are read at once.
const READ_BATCH: usize = 512;

/// How far a part goes at least.
#[derive(Debug, Clone, Copy)]
enum PartEnd {
    /// To before the entry at this place.
    Entry(usize),
    /// To this fact.
    Fact(Seq),
}

/// A part of a chat.
#[derive(Debug)]
pub(crate) struct ChatPart {
    /// Its entries, and some before and after them.
    pub(crate) transcript: PageTranscript,
    fold: ChatFold,
    seq: Seq,
    end: PartEnd,
    /// The last fact that the chat is folded to: nothing beyond it is read.
    last: Seq,
}

impl ChatPart {
    /// The entries of `chat` from one place to before another.
    pub(super) fn of_entries(
        chat: &FoldedChat,
        view: &ChatView,
        from: usize,
        to: usize,
    ) -> ChatPart {
        let start = chat.last_place(|place| place.entries <= from);
        ChatPart::begin_at(chat, view, &start, PartEnd::Entry(to))
    }

    /// The entries of `chat` around the one of a fact.
    pub(super) fn of_fact(chat: &FoldedChat, view: &ChatView, seq: Seq) -> ChatPart {
        let start = chat.last_place(|place| place.place.seq < seq);
        ChatPart::begin_at(chat, view, &start, PartEnd::Fact(seq))
    }

    fn begin_at(chat: &FoldedChat, view: &ChatView, start: &ChatPlace, end: PartEnd) -> ChatPart {
        let last = chat.seq;
        match chat.fold.at_earlier_place(&start.place) {
            Some(fold) => {
                let transcript =
                    PageTranscript::after_entries(start.entries, fold.seen_transcript());
                ChatPart { transcript, fold, seq: start.place.seq, end, last }
            }
            None => {
                let (transcript, fold) = (PageTranscript::default(), ChatFold::new(view.clone()));
                ChatPart { transcript, fold, seq: 0, end, last }
            }
        }
    }

    /// Takes the next fact in.
    pub(super) fn apply_fact(&mut self, fact: &PublishedFact) {
        self.seq = fact.seq;
        self.transcript.apply_operations(self.fold.apply_fact(fact));
    }

    /// The next fact that it needs; `None`: it is whole.
    pub(super) fn next_fact(&self) -> Option<Seq> {
        let reaches = match self.end {
            PartEnd::Entry(place) => self.transcript.len() >= place,
            PartEnd::Fact(seq) => self.seq >= seq,
        };
        let is_whole = self.seq >= self.last || reaches && self.fold.is_settled();
        (!is_whole).then_some(self.seq + 1)
    }

    /// Reads what it needs.
    async fn read_journal(
        mut self,
        store: &dyn Store,
        view: &ChatView,
    ) -> Result<ChatPart, StoreError> {
        while let Some(from) = self.next_fact() {
            let records = store.read_records(&view.session, from, READ_BATCH).await?;
            if records.is_empty() {
                break;
            }
            for record in &records {
                self.apply_fact(&fact_of(record)?);
                if self.next_fact().is_none() {
                    break;
                }
            }
        }
        Ok(self)
    }
}

impl FoldedChat {
    /// A part of it with the entries from one place to before another.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) async fn read_entries(
        &self,
        store: &dyn Store,
        view: &ChatView,
        from: usize,
        to: usize,
    ) -> Result<ChatPart, StoreError> {
        ChatPart::of_entries(self, view, from, to).read_journal(store, view).await
    }

    /// The place of an entry by its id, wherever it stands. `look`: finds it in a part of the chat.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub(crate) async fn find_entry(
        &self,
        store: &dyn Store,
        view: &ChatView,
        id: &str,
        look: fn(&PageTranscript, &str) -> Option<usize>,
    ) -> Result<Option<usize>, StoreError> {
        let Some(seq) = self.left_out_fact(id) else { return Ok(look(&self.transcript, id)) };
        let part = ChatPart::of_fact(self, view, seq).read_journal(store, view).await?;
        Ok(look(&part.transcript, id))
    }
}
