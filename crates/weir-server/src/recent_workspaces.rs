//! Workspaces whose files pages showed a moment ago: what was derived from them (the index of a vault) is
//! there for the next page. Not here: what may be seen in them; each page opens its own.

use std::sync::{Arc, Mutex, PoisonError};

use weir_core::ids::Timestamp;
use weir_engine::workspace::Workspace;

/// Workspaces that are held, of all people; the one that was shown longest ago goes first.
const WORKSPACES_MAX: usize = 8;
/// How long one is held after it was shown, in microseconds.
const HELD_MICROS: i64 = 15 * 60 * 1_000_000;

/// A workspace that was shown.
#[derive(Debug)]
struct RecentWorkspace {
    workspace: Arc<Workspace>,
    shown: Timestamp,
}

/// Those that are held.
#[derive(Debug, Default)]
pub(crate) struct RecentWorkspaces(Mutex<Vec<RecentWorkspace>>);

impl RecentWorkspaces {
    /// Holds a workspace that is shown now, and lets those go that were shown long ago.
    pub(crate) fn hold(&self, workspace: &Arc<Workspace>, now: Timestamp) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|one| {
            one.workspace.root() != workspace.root() && now.0 - one.shown.0 < HELD_MICROS
        });
        held.insert(0, RecentWorkspace { workspace: workspace.clone(), shown: now });
        held.truncate(WORKSPACES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::workspace::WorkspaceOptions;

    use super::*;

    #[test]
    fn k1_the_workspaces_of_pages_are_held_for_a_while_and_no_more_than_a_few() {
        let place = tempfile::tempdir().expect("a folder");
        let open = |name: usize| {
            let root = place.path().join(name.to_string());
            std::fs::create_dir_all(&root).expect("its root");
            let options =
                WorkspaceOptions { root, extra_roots: Vec::new(), own_folders: Vec::new() };
            Arc::new(Workspace::open(options).expect("a workspace"))
        };
        let recent = RecentWorkspaces::default();
        let one = open(0);
        recent.hold(&one, Timestamp(0));
        let again = open(0);
        recent.hold(&again, Timestamp(1));
        assert_eq!((Arc::strong_count(&one), Arc::strong_count(&again)), (1, 2), "once a folder");
        recent.hold(&open(1), Timestamp(HELD_MICROS));
        assert_eq!(Arc::strong_count(&again), 2);
        recent.hold(&open(1), Timestamp(HELD_MICROS + 1));
        assert_eq!(Arc::strong_count(&again), 1, "it was shown long ago");
        recent.hold(&again, Timestamp(HELD_MICROS + 2));
        (2..2 + WORKSPACES_MAX)
            .for_each(|name| recent.hold(&open(name), Timestamp(HELD_MICROS + 3)));
        assert_eq!(Arc::strong_count(&again), 1, "others were shown since");
    }
}
