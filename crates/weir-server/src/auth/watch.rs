//! Watching whether what somebody came in by still holds, for connections that stay open: one watch for all
//! that came in by the same sign-in or token, so that ten thousand of them ask the database no more often
//! than one (Q18). Not here: who is at the door (`auth`), and who ends a sign-in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use weir_install::people::PersonId;

use super::shelf::TypedRecords;
use super::{accounts, logins, tokens};
use crate::caller::{Caller, CallerCredential};
use crate::problem::HandlerResult;

#[cfg(test)]
mod tests;

/// Notices of ended sign-ins that may wait for whoever listens; who misses some looks for itself.
const NOTICES_MAX: usize = 256;
/// How often it is looked whether a sign-in still holds: another replica may have ended it.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// After so many looks in a row that the database did not answer, a sign-in counts as ended.
const SILENT_LOOKS_MAX: u32 = 12;

/// What no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RevocationNotice {
    /// A sign-in or a token, by the name of its entry.
    One(String),
    /// Everything of a person.
    Person(PersonId),
}

/// The watches of everything by which open connections came in.
pub(crate) struct CredentialWatches {
    shelf: TypedRecords,
    notices: broadcast::Sender<RevocationNotice>,
    table: Arc<WatchTable>,
}

/// Who is watched, each as long as somebody waits.
type WatchTable = Mutex<HashMap<WatchedCredential, Weak<CredentialWatch>>>;

fn lock_table(
    table: &WatchTable,
) -> MutexGuard<'_, HashMap<WatchedCredential, Weak<CredentialWatch>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CredentialWatches {
    /// Nothing is watched yet.
    pub(super) fn new(shelf: TypedRecords) -> CredentialWatches {
        let notices = broadcast::Sender::new(NOTICES_MAX);
        CredentialWatches { shelf, notices, table: Arc::default() }
    }

    /// Tells whoever waits that something no longer holds.
    pub(super) fn announce_revocation(&self, what: RevocationNotice) {
        // Nobody listening is no failure.
        let _ = self.notices.send(what);
    }

    /// The watch of what `caller` came in by, begun if there is none.
    pub(super) fn join_watch(&self, caller: &Caller) -> Arc<CredentialWatch> {
        let credential = WatchedCredential::of_caller(caller);
        let known = lock_table(&self.table).get(&credential).and_then(Weak::upgrade);
        // One that ended says nothing of somebody who came in since.
        if let Some(watch) = known.filter(|watch| !watch.ended.is_cancelled()) {
            return watch;
        }
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let (shelf, watched) = (self.shelf.clone(), credential.clone());
        let mut notices = self.notices.subscribe();
        let task = tokio::spawn(async move {
            // Whatever way this ends, whoever waits is told: nobody stays in because a watch failed.
            let _told_at_the_end = guard;
            watched.watch_until_revoked(&shelf, &mut notices).await;
        });
        let watch = Arc::new(CredentialWatch {
            credential: credential.clone(),
            shelf: self.shelf.clone(),
            ended,
            table: self.table.clone(),
            _task: AbortOnDropHandle::new(task),
        });
        lock_table(&self.table).insert(credential, Arc::downgrade(&watch));
        watch
    }
}

/// One watch, which ends with the last connection that has it.
pub(crate) struct CredentialWatch {
    credential: WatchedCredential,
    shelf: TypedRecords,
    /// Cancelled when it no longer holds.
    ended: CancellationToken,
    table: Arc<WatchTable>,
    _task: AbortOnDropHandle<()>,
}

impl CredentialWatch {
    /// Returns when what is watched no longer holds, at the latest [`LOOK_AGAIN`] after that.
    pub(crate) async fn wait_until_revoked(&self) {
        // Looked at by each that begins to wait, and only then: the watch may have looked a moment before
        // this ended. Notices since it was joined are heard meanwhile, however long the database takes.
        let looked = tokio::select! {
            () = self.ended.cancelled() => return,
            looked = self.credential.still_holds(&self.shelf) => looked,
        };
        if !matches!(looked, Ok(false)) {
            self.ended.cancelled().await;
        }
    }
}

impl Drop for CredentialWatch {
    fn drop(&mut self) {
        let mut table = lock_table(&self.table);
        // Another may have been begun in its place.
        if table.get(&self.credential).is_some_and(|there| there.strong_count() == 0) {
            table.remove(&self.credential);
        }
    }
}

/// What somebody came in by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WatchedCredential {
    entry: CredentialEntry,
    person: PersonId,
}

/// The name of its entry in the records.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum CredentialEntry {
    Login(String),
    Token(String),
}

impl WatchedCredential {
    fn of_caller(caller: &Caller) -> WatchedCredential {
        let entry = match &caller.via {
            CallerCredential::Cookie { login, .. } => CredentialEntry::Login(login.clone()),
            CallerCredential::Token { token } => CredentialEntry::Token(token.clone()),
        };
        WatchedCredential { entry, person: caller.person.id.clone() }
    }

    /// Whether it still holds.
    async fn still_holds(&self, shelf: &TypedRecords) -> HandlerResult<bool> {
        let is_there = match &self.entry {
            CredentialEntry::Login(name) => logins::find_login(shelf, name).await?.is_some(),
            CredentialEntry::Token(name) => tokens::find_token(shelf, name).await?.is_some(),
        };
        if !is_there {
            return Ok(false);
        }
        let person = accounts::get(shelf, self.person.as_str()).await?;
        Ok(person.is_some_and(|person| !person.disabled))
    }

    /// Returns when it no longer holds. A database that does not answer for long counts as that.
    async fn watch_until_revoked(
        &self,
        shelf: &TypedRecords,
        notices: &mut broadcast::Receiver<RevocationNotice>,
    ) {
        let mut silent = 0;
        while silent < SILENT_LOOKS_MAX {
            if tokio::time::timeout(LOOK_AGAIN, self.wait_for_notice(notices)).await == Ok(true) {
                return;
            }
            // One look that takes for ever must keep nobody in, and no notice from being heard.
            match tokio::time::timeout(LOOK_AGAIN, self.still_holds(shelf)).await {
                Ok(Ok(true)) => silent = 0,
                Ok(Ok(false)) => return,
                Ok(Err(_)) => silent += 1,
                // As long again as was waited for the look.
                Err(_) => silent += 2,
            }
        }
    }

    /// Waits for a notice that may be about it; whether it surely is.
    async fn wait_for_notice(&self, notices: &mut broadcast::Receiver<RevocationNotice>) -> bool {
        loop {
            match notices.recv().await {
                Ok(notice) if self.is_named_by(&notice) => return true,
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => return false,
                // Nobody is there any more who would say so.
                Err(RecvError::Closed) => return true,
            }
        }
    }

    fn is_named_by(&self, notice: &RevocationNotice) -> bool {
        let (CredentialEntry::Login(name) | CredentialEntry::Token(name)) = &self.entry;
        match notice {
            RevocationNotice::One(one) => one == name,
            RevocationNotice::Person(person) => *person == self.person,
        }
    }
}
