//! Files of the workspace that can be named with `@`: walked once by the workspace's own rules, so
//! that what is invisible stays so, and kept for a while. Not here: which fit best (`fuzzy`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use weir_core::tool::PathAccess;
use weir_engine::blocking::run_blocking;
use weir_engine::workspace::{EntryKind, WalkOptions, Workspace};
use weir_tui::fuzzy;

use super::shown_session::ShownSession;

/// Files that are told at once.
const FOUND_MAX: usize = 20;
/// Entries of a folder that are looked at.
const ENTRIES_MAX: usize = 200_000;
/// How long a list is taken as it is; then it is made anew while the old one is still used.
const FRESH: Duration = Duration::from_secs(5);

/// The list of one folder.
#[derive(Clone)]
struct FileListing {
    root: PathBuf,
    made: Instant,
    paths: Arc<Vec<String>>,
}

/// The list of the folder that was asked about last.
#[derive(Clone, Default)]
pub(super) struct FileIndex {
    listing: Arc<Mutex<Option<FileListing>>>,
    renewing: Arc<AtomicBool>,
}

impl FileIndex {
    /// Files of the session's folder that are like `query`, the best first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) async fn find_files(
        &self,
        shown: &ShownSession,
        query: &str,
    ) -> anyhow::Result<Vec<String>> {
        let workspace = shown.cx.open_workspace()?;
        let paths = self.listed_paths(workspace).await?;
        let query = query.to_owned();
        let found = run_blocking(move || {
            fuzzy::best_matches(&query, paths.iter(), FOUND_MAX).into_iter().cloned().collect()
        });
        Ok(found.await?)
    }

    async fn listed_paths(&self, workspace: Arc<Workspace>) -> anyhow::Result<Arc<Vec<String>>> {
        let mut kept = self.listing.lock().await;
        if let Some(listing) = kept.as_ref().filter(|kept| kept.root == workspace.root()) {
            let paths = listing.paths.clone();
            let old = listing.made.elapsed() > FRESH;
            if old && !self.renewing.swap(true, Ordering::Relaxed) {
                let index = self.clone();
                tokio::spawn(async move { index.renew_listing(workspace).await });
            }
            return Ok(paths);
        }
        // Nothing to show yet: whoever asks meanwhile waits for the same walk.
        let listing = walk_workspace(workspace).await?;
        let paths = listing.paths.clone();
        *kept = Some(listing);
        Ok(paths)
    }

    async fn renew_listing(self, workspace: Arc<Workspace>) {
        if let Ok(listing) = walk_workspace(workspace).await {
            *self.listing.lock().await = Some(listing);
        }
        self.renewing.store(false, Ordering::Relaxed);
    }
}

async fn walk_workspace(workspace: Arc<Workspace>) -> anyhow::Result<FileListing> {
    let walk = run_blocking(move || {
        let options = WalkOptions {
            recursive: true,
            respect_gitignore: true,
            hidden: false,
            max_entries: ENTRIES_MAX,
        };
        let at = workspace.resolve(".", PathAccess::List);
        let walk = workspace.walk(&at, options)?;
        let path = |entry: weir_engine::workspace::WorkspaceEntry| match entry.kind {
            EntryKind::Folder => Some(entry.path + "/"),
            EntryKind::File => Some(entry.path),
            EntryKind::Link | EntryKind::Other => None,
        };
        let paths = walk.entries.into_iter().filter_map(path).collect();
        let (root, made) = (workspace.root().to_path_buf(), Instant::now());
        Ok::<_, weir_engine::workspace::FileError>(FileListing {
            root,
            made,
            paths: Arc::new(paths),
        })
    });
    Ok(walk.await??)
}
