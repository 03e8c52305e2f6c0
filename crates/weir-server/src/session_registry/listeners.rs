//! How many listen at once: sockets and event streams, of one person and in all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_install::people::PersonId;

use crate::problem::{HandlerResult, ProblemDetails};

/// Most of one person.
pub(crate) const PERSON_MAX: usize = 100;
/// Most in all.
const ALL_MAX: usize = 20_000;

/// Frames that one person may send over all their sockets, a minute.
pub(crate) const FRAMES_A_MINUTE: u32 = 1_200;

/// How many connections listen, in all and for each person.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListenerCounts {
    open: Arc<Mutex<HashMap<PersonId, usize>>>,
}

/// A place among them; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct ListenerSlot {
    all: ListenerCounts,
    person: PersonId,
}

impl ListenerCounts {
    fn lock_counts(&self) -> MutexGuard<'_, HashMap<PersonId, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock_counts().values().sum()
    }

    /// A place.
    ///
    /// # Errors
    /// There is none: too many listen.
    pub(crate) fn claim_slot(&self, person: &PersonId) -> HandlerResult<ListenerSlot> {
        let mut open = self.lock_counts();
        let (all, own) = (open.values().sum::<usize>(), open.get(person).copied().unwrap_or(0));
        if own >= PERSON_MAX || all >= ALL_MAX {
            return Err(ProblemDetails::too_many(
                30,
                format!("{own} connections of yours listen already; close some"),
            ));
        }
        *open.entry(person.clone()).or_insert(0) += 1;
        Ok(ListenerSlot { all: self.clone(), person: person.clone() })
    }
}

impl Drop for ListenerSlot {
    fn drop(&mut self) {
        let mut open = self.all.lock_counts();
        if let Some(count) = open.get_mut(&self.person) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.person);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_one_person_listens_so_often_and_no_more() {
        let listeners = ListenerCounts::default();
        let (ann, bob) = (PersonId("ann".into()), PersonId("bob".into()));
        let places: Vec<ListenerSlot> =
            (0..PERSON_MAX).map(|_| listeners.claim_slot(&ann).expect("a place")).collect();
        assert_eq!(listeners.claim_slot(&ann).expect_err("no more").code, "too_many");
        let other = listeners.claim_slot(&bob).expect("another's place");
        drop(places);
        drop(other);
        assert_eq!(listeners.count(), 0);
        listeners.claim_slot(&ann).expect("free again");
    }
}
