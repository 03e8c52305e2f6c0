//! What was said while a run is on and no turn has taken yet. Nothing leaves it but by a fact: what
//! is taken back may have been told already.

use weir_core::event::InputAccepted;
use weir_core::ids::InputId;
use weir_core::view::transcript::SeenFact;

use super::super::entries::TranscriptEntry;
use super::{FoldEvent, SessionFold};
use crate::compose::WrittenMessage;

/// Something that a person said and that no turn has taken yet.
#[derive(Debug, Clone)]
pub(crate) struct WaitingInput {
    /// Its number.
    pub(crate) input: InputId,
    /// The fact, for when it is told.
    pub(crate) entry: TranscriptEntry,
    /// As it was written here; `None`: it was said elsewhere, and is not ours to take back.
    pub(crate) own: Option<WrittenMessage>,
    /// It is being taken back: it is not shown, and comes back when the fact says that it was not
    /// told.
    pub(crate) withdrawing: bool,
}

impl SessionFold {
    /// Something was said while a run is on.
    pub(super) fn enqueue_input(&mut self, entry: TranscriptEntry) {
        if let Some(input) = entry.accepted_input().map(|fact| fact.input) {
            self.queue.push(WaitingInput { input, entry, own: None, withdrawing: false });
        }
    }

    fn take_queued(&mut self, at: &SeenFact<InputAccepted>) -> Option<WaitingInput> {
        let input = at.fact.input;
        let n = self.queue.iter().position(|queued| queued.input == input)?;
        Some(self.queue.remove(n))
    }

    /// The model is told what waited.
    pub(super) fn deliver_input(&mut self, at: &SeenFact<InputAccepted>) {
        if let Some(queued) = self.take_queued(at) {
            self.push(queued.entry);
        }
    }

    /// What waited will not be told. Whoever ended the run, or took it back elsewhere: the words are
    /// this person's.
    pub(super) fn give_back(&mut self, at: &SeenFact<InputAccepted>) {
        let Some(queued) = self.take_queued(at) else { return };
        match (queued.own, queued.withdrawing) {
            (Some(written), true) => self.push_event(FoldEvent::TakenBack(written)),
            (Some(written), false) => self.push_event(FoldEvent::GivenBack(written)),
            (None, _) => (),
        }
    }

    /// What arrived under this name was written here, like this.
    pub(crate) fn mark_own_input(&mut self, name: &str, written: WrittenMessage) {
        let named = |queued: &&mut WaitingInput| {
            let fact = queued.entry.accepted_input();
            fact.is_some_and(|fact| fact.client_id.as_deref() == Some(name))
        };
        if let Some(queued) = self.queue.iter_mut().find(named) {
            queued.own = Some(written);
        }
    }

    /// The last thing that was said here and waits is to be taken back; `None`: there is none.
    pub(crate) fn withdraw_last(&mut self) -> Option<InputId> {
        let waits = |queued: &&mut WaitingInput| queued.own.is_some() && !queued.withdrawing;
        let queued = self.queue.iter_mut().rev().find(waits)?;
        queued.withdrawing = true;
        Some(queued.input)
    }

    /// Something could not be done: what was to be taken back may still wait.
    pub(crate) fn keep_queued(&mut self) {
        self.queue.iter_mut().for_each(|queued| queued.withdrawing = false);
    }
}
