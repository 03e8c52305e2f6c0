//! What was said while a run is on and no turn has taken yet. Nothing leaves it but by a fact: what
//! is taken back may have been told already.

use weir_core::ids::InputId;
use weir_core::view::transcript::PlacedFact;

use super::super::entries::Entry;
use super::{Fold, Happened};
use crate::compose::Written;

/// Something that a person said and that no turn has taken yet.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    /// Its number.
    pub(crate) input: InputId,
    /// The fact, for when it is told.
    pub(crate) entry: Entry,
    /// As it was written here; `None`: it was said elsewhere, and is not ours to take back.
    pub(crate) own: Option<Written>,
    /// It is being taken back: it is not shown, and comes back when the fact says that it was not
    /// told.
    pub(crate) withdrawing: bool,
}

impl Fold {
    /// Something was said while a run is on.
    pub(super) fn enqueue(&mut self, entry: Entry) {
        if let Some(input) = entry.said().map(|fact| fact.input) {
            self.queue.push(Queued { input, entry, own: None, withdrawing: false });
        }
    }

    fn unqueue(&mut self, at: &PlacedFact) -> Option<Queued> {
        let input = at.input()?.input;
        let n = self.queue.iter().position(|queued| queued.input == input)?;
        Some(self.queue.remove(n))
    }

    /// The model is told what waited.
    pub(super) fn deliver(&mut self, at: &PlacedFact) {
        if let Some(queued) = self.unqueue(at) {
            self.push(queued.entry);
        }
    }

    /// What waited will not be told. Whoever ended the run, or took it back elsewhere: the words are
    /// this person's.
    pub(super) fn give_back(&mut self, at: &PlacedFact) {
        let Some(queued) = self.unqueue(at) else { return };
        match (queued.own, queued.withdrawing) {
            (Some(written), true) => self.happened(Happened::TakenBack(written)),
            (Some(written), false) => self.happened(Happened::GivenBack(written)),
            (None, _) => (),
        }
    }

    /// What arrived under this name was written here, like this.
    pub(crate) fn own(&mut self, name: &str, written: Written) {
        let named = |queued: &&mut Queued| {
            let fact = queued.entry.said();
            fact.is_some_and(|fact| fact.client_id.as_deref() == Some(name))
        };
        if let Some(queued) = self.queue.iter_mut().find(named) {
            queued.own = Some(written);
        }
    }

    /// The last thing that was said here and waits is to be taken back; `None`: there is none.
    pub(crate) fn withdraw_last(&mut self) -> Option<InputId> {
        let waits = |queued: &&mut Queued| queued.own.is_some() && !queued.withdrawing;
        let queued = self.queue.iter_mut().rev().find(waits)?;
        queued.withdrawing = true;
        Some(queued.input)
    }

    /// Something could not be done: what was to be taken back may still wait.
    pub(crate) fn keep_queued(&mut self) {
        self.queue.iter_mut().for_each(|queued| queued.withdrawing = false);
    }
}
