//! The session that a client's calls go to now, and how much has happened in it: for whoever reads its journal, or
//! wants to know that there is more to read. Not here: opening it (`driver`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use weir_core::event::Event;
use weir_core::ids::SessionId;

/// How much has happened in the sessions of a client, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SessionVersions {
    /// Facts.
    pub(super) facts: u64,
    /// Checkpoints that were taken.
    pub(super) checkpoints: u64,
}

#[derive(Debug, Default)]
struct SeenSession {
    id: Option<SessionId>,
    versions: SessionVersions,
}

/// The session that calls go to now, for whoever wants to read it or to know that there is more to read.
#[derive(Debug, Default)]
pub(super) struct CurrentSession {
    seen: Mutex<SeenSession>,
    changes: watch::Sender<()>,
}

impl CurrentSession {
    pub(super) fn session_id(&self) -> Option<SessionId> {
        self.lock_seen().id.clone()
    }

    pub(super) fn versions(&self) -> SessionVersions {
        self.lock_seen().versions
    }

    pub(super) fn listen_to_changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn set_session(&self, id: SessionId) {
        let mut seen = self.lock_seen();
        seen.id = Some(id);
        seen.versions.facts += 1;
        drop(seen);
        self.changes.send_replace(());
    }

    pub(super) fn count_fact(&self, event: &Event) {
        let mut seen = self.lock_seen();
        seen.versions.facts += 1;
        if matches!(event, Event::CheckpointTaken(_)) {
            seen.versions.checkpoints += 1;
        }
        drop(seen);
        self.changes.send_replace(());
    }

    fn lock_seen(&self) -> MutexGuard<'_, SeenSession> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
