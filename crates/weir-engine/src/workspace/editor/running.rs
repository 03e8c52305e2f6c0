//! Where something runs that may swap files while an editor is asked, of all workspaces of this program (R1):
//! sessions that work in one folder have a workspace each, and what one runs can swap the files of the other.
//! Not here: commands of other programs; against those it is looked before and after.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use weir_core::ids::SessionId;

/// Those of all workspaces; one that is gone is left out.
static KNOWN: Mutex<Vec<Weak<RunningSessions>>> = Mutex::new(Vec::new());

/// See [`count_starts`].
static STARTS: AtomicU64 = AtomicU64::new(0);

/// Sessions of one workspace that have a command or a job running.
#[derive(Debug)]
pub(in crate::workspace) struct RunningSessions {
    roots: Vec<PathBuf>,
    sessions: Mutex<BTreeSet<SessionId>>,
}

impl RunningSessions {
    /// Those of a workspace with these roots, none yet. Every workspace of this program sees them.
    pub(in crate::workspace) fn in_folders(roots: Vec<PathBuf>) -> Arc<RunningSessions> {
        let running = Arc::new(RunningSessions { roots, sessions: Mutex::default() });
        let mut known = lock(&KNOWN);
        known.retain(|other| other.strong_count() > 0);
        known.push(Arc::downgrade(&running));
        running
    }

    pub(super) fn begin(&self, session: &SessionId) {
        lock(&self.sessions).insert(session.clone());
        STARTS.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn end(&self, session: &SessionId) {
        lock(&self.sessions).remove(session);
    }

    fn may_swap(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root)) && !lock(&self.sessions).is_empty()
    }
}

/// How often something began to run, in all workspaces: whoever looks twice sees what came between.
pub(super) fn count_starts() -> u64 {
    STARTS.load(Ordering::SeqCst)
}

/// Whether something runs where this file lies.
pub(super) fn may_be_swapped(path: &Path) -> bool {
    lock(&KNOWN).iter().filter_map(Weak::upgrade).any(|running| running.may_swap(path))
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
