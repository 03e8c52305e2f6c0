//! The files that a call for the whole workspace may read, and in which folders something happened since
//! they were looked at: whoever keeps an index of them looks at nothing else (T9). Not here: what is made
//! of the files.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use weir_core::governance::rules::RuleSet;
use weir_core::tool::PathAccess;

use super::walk::{ReaderOptions, walk_readable};
use super::watch::FolderWatch;
use super::{FileError, Workspace, WorkspaceEntry, WorkspaceWalk};

/// Entries from which on folders are watched: fewer are looked at faster, and watches are few on a
/// machine.
const WATCHED_ENTRIES_MIN: usize = 2_000;

/// What was looked at, held between two looks.
#[derive(Debug, Default)]
pub struct ReadableTree {
    watch: FolderWatch,
    rules: Option<Arc<RuleSet>>,
    /// Files of the last whole look.
    files: usize,
}

/// What may be read now. Files whose last change is too young to tell a later one from it have 0 as its
/// time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadableChanges {
    /// Everything was looked at: these are all files.
    Whole(WorkspaceWalk),
    /// Nothing happened but in these folders, each with the files that lie in it itself.
    Folders(Vec<(String, Vec<WorkspaceEntry>)>),
}

impl Workspace {
    /// Looks at what happened since the last look with `tree`: at everything, or at some folders, where
    /// the system says in which something happened. Left out is what a list hides, what may hold secrets,
    /// what the rules of the session close, and names that begin with a dot.
    ///
    /// # Errors
    /// The folder cannot be read; the next look is at everything.
    pub fn readable_changes(
        &self,
        tree: &mut ReadableTree,
        max_entries: usize,
    ) -> Result<ReadableChanges, FileError> {
        let found = self.look_at_changes(tree, max_entries);
        if found.is_err() {
            tree.watch.is_not_whole();
        }
        found
    }

    fn look_at_changes(
        &self,
        tree: &mut ReadableTree,
        max_entries: usize,
    ) -> Result<ReadableChanges, FileError> {
        let rules = self.rules_here();
        let same_rules = match (&rules, &tree.rules) {
            (None, None) => true,
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if let Some(changed) = tree.watch.changed_folders().filter(|_| same_rules)
            && let Some(folders) = self.look_at_folders(&tree.watch, changed)
        {
            return Ok(ReadableChanges::Folders(folders));
        }
        let at = self.resolve_tree(".", PathAccess::List);
        let located = self.open_way(&at)?;
        tree.rules = rules;
        tree.watch.begin_look(tree.files >= WATCHED_ENTRIES_MIN);
        let reader = ReaderOptions { watch: &tree.watch, max_entries, recursive: true };
        let walk = walk_readable(self, &located, reader)?;
        tree.files = walk.entries.len();
        Ok(ReadableChanges::Whole(walk))
    }

    /// `None`: one of them cannot be looked at any more.
    fn look_at_folders(
        &self,
        watch: &FolderWatch,
        changed: BTreeSet<PathBuf>,
    ) -> Option<Vec<(String, Vec<WorkspaceEntry>)>> {
        let mut folders = Vec::new();
        for real in changed {
            let path = self.guard.shown_path(&self.guard.spot_of(real));
            let located = self.open_way(&self.resolve(&path, PathAccess::List)).ok()?;
            let reader = ReaderOptions { watch, max_entries: usize::MAX, recursive: false };
            let walk = walk_readable(self, &located, reader).ok()?;
            folders.push((path, walk.entries));
        }
        Some(folders)
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkspaceOptions;
    use super::*;

    fn paths(entries: &[WorkspaceEntry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.path.as_str()).collect()
    }

    #[test]
    fn t9_a_second_look_is_at_the_folders_in_which_something_happened() {
        let top = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, text).expect("a file");
        };
        for path in ["a/one.md", "b/two.md", "b/secrets/key.md", ".hidden/x.md", ".env"] {
            put(path, "x");
        }
        for number in 0..WATCHED_ENTRIES_MIN {
            put(&format!("many/{number}.md"), "x");
        }
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        let mut tree = ReadableTree::default();
        let mut look = || workspace.readable_changes(&mut tree, 10_000).expect("it can be read");
        let whole = |changes: ReadableChanges| match changes {
            ReadableChanges::Whole(walk) => walk.entries,
            ReadableChanges::Folders(folders) => panic!("only {folders:?}"),
        };
        // The same files as a walk whose entries are judged one by one.
        let walk = super::super::WalkOptions {
            recursive: true,
            respect_gitignore: false,
            hidden: false,
            max_entries: 10_000,
        };
        let all = workspace.walk(&workspace.resolve(".", PathAccess::List), walk).expect("a walk");
        let open = all.entries.iter().filter(|entry| {
            let at = workspace.effect_of_entry(entry);
            entry.kind == super::super::EntryKind::File
                && at.ignored.is_none()
                && at.sensitive.is_none()
        });
        let open: Vec<&str> = open.map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths(&whole(look())), open);
        assert_eq!(paths(&whole(look())), open);
        let ReadableChanges::Folders(none) = look() else {
            // The system does not tell of changes here: everything is looked at each time.
            return;
        };
        assert_eq!(none, []);
        put("b/three.md", "x");
        put("b/.env", "x");
        let ReadableChanges::Folders(folders) = look() else { panic!("a folder that is watched") };
        assert_eq!(folders.len(), 1);
        assert_eq!(
            (folders[0].0.as_str(), paths(&folders[0].1)),
            ("b", vec!["b/three.md", "b/two.md"])
        );
        // Lists and folders change what may be read elsewhere.
        put(".weirignore", "b/\n");
        assert!(!paths(&whole(look())).contains(&"b/two.md"));
        put("c/four.md", "x");
        assert!(paths(&whole(look())).contains(&"c/four.md"));
    }
}
