//! A folder to work in, with one outside of it, for tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use weir_core::record::sha256_hex;
use weir_core::tool::{FileState, PathAccess, PlannedChange};
use weir_engine::workspace::{FileError, WalkOptions, Workspace, WorkspaceOptions};

pub(crate) struct World {
    pub(crate) top: TempDir,
    pub(crate) workspace: Arc<Workspace>,
}

pub(crate) const ALL: WalkOptions =
    WalkOptions { recursive: true, respect_gitignore: false, hidden: true, max_entries: 10_000 };

impl World {
    /// Folders `ws`, `out`, `state` and `home` in a temporary one; the workspace is `ws`.
    pub(crate) fn new() -> World {
        let top = TempDir::new().unwrap();
        for folder in ["ws", "out", "state", "home"] {
            std::fs::create_dir(top.path().join(folder)).unwrap();
        }
        let options = WorkspaceOptions {
            root: top.path().join("ws"),
            extra_roots: vec![],
            own_folders: vec![top.path().join("state")],
        };
        let workspace = Workspace::open(options)
            .unwrap()
            .with_trash(top.path().join("state/trash"))
            .with_home(top.path().join("home"));
        World { top, workspace: Arc::new(workspace) }
    }
    pub(crate) fn real(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }
    /// Writes a file below `ws`.
    pub(crate) fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        put(&self.real("ws").join(path), text.as_ref());
    }
    /// Writes a file anywhere in the temporary folder.
    pub(crate) fn elsewhere(&self, path: &str, text: &str) {
        put(&self.real(path), text.as_bytes());
    }
    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.real("ws").join(path)).unwrap();
    }
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.real("ws").join(path)).ok()
    }
    pub(crate) fn ignored(&self, path: &str) -> Option<String> {
        self.workspace.resolve(path, PathAccess::Read).ignored
    }
    pub(crate) fn protected(&self, path: &str) -> Option<String> {
        self.workspace.resolve(path, PathAccess::Write).protected
    }
    pub(crate) fn image(&self, path: &str) -> FileState {
        self.workspace.path_image(&self.workspace.resolve(path, PathAccess::Delete)).unwrap()
    }
    /// A change of `path` from what is there now.
    pub(crate) fn change(&self, path: &str, after: FileState) -> PlannedChange {
        PlannedChange { path: path.to_owned(), before: self.image(path), after }
    }
    pub(crate) fn apply(
        &self,
        changes: &[PlannedChange],
        contents: &[(&str, &str)],
    ) -> Result<Vec<String>, FileError> {
        let contents: BTreeMap<String, Arc<[u8]>> = contents
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Arc::from(text.as_bytes())))
            .collect();
        self.workspace.apply_changes(changes, &contents)
    }
    /// Everything below `ws`, as the disk has it.
    pub(crate) fn tree(&self) -> Vec<String> {
        let mut found = Vec::new();
        let root = self.real("ws");
        let mut waiting = vec![root.clone()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                found.push(path.strip_prefix(&root).unwrap().to_string_lossy().into_owned());
                if path.is_dir() && !path.is_symlink() {
                    waiting.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

pub(crate) fn file_image(text: &str, mode: u32) -> FileState {
    FileState::File { sha256: sha256_hex(text.as_bytes()), bytes: text.len() as u64, mode }
}
