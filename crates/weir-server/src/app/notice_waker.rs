//! By which sessions that run here say that there may be something to tell their person. Not here: what
//! is told, and whether it was already (`person_news`).

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use weir_install::people::PersonId;

/// The people of whom something happened since it was looked last.
#[derive(Default)]
pub(crate) struct NoticeWaker {
    people: Mutex<BTreeSet<PersonId>>,
    changed: Notify,
}

impl NoticeWaker {
    fn lock_people(&self) -> MutexGuard<'_, BTreeSet<PersonId>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something of this person may have to be told.
    pub(crate) fn wake_for(&self, person: &PersonId) {
        self.lock_people().insert(person.clone());
        self.changed.notify_one();
    }

    /// Waits until there is somebody, and takes all of them.
    pub(crate) async fn wait_for_people(&self) -> BTreeSet<PersonId> {
        loop {
            let woken = std::mem::take(&mut *self.lock_people());
            if !woken.is_empty() {
                return woken;
            }
            self.changed.notified().await;
        }
    }
}
