//! How the mail accounts that are followed in this process stand. Not here: following them (`mail`).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_core::ids::Timestamp;
use weir_install::mail::accounts::entry_name;
use weir_install::people::PersonId;

/// So that a page can say since when something holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FollowStatus {
    /// Why it does not work; `None`: it is followed.
    pub(crate) why: Option<String>,
    /// Since when.
    pub(crate) since: Timestamp,
}

/// How the accounts that are followed here stand, by the name of their entry.
#[derive(Default)]
pub(crate) struct FollowStatuses(Mutex<HashMap<String, FollowStatus>>);

impl FollowStatuses {
    fn lock_statuses(&self) -> MutexGuard<'_, HashMap<String, FollowStatus>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How an account stands; `None`: it is not followed here.
    pub(crate) fn status_of(&self, owner: &PersonId, name: &str) -> Option<FollowStatus> {
        self.lock_statuses().get(&entry_name(owner, name)).cloned()
    }

    /// Notes how it stands; `None`: it is not followed any more.
    pub(crate) fn set_status(&self, name: &str, standing: Option<FollowStatus>) {
        let mut all = self.lock_statuses();
        match standing {
            Some(standing) => drop(all.insert(name.to_owned(), standing)),
            None => drop(all.remove(name)),
        }
    }
}
