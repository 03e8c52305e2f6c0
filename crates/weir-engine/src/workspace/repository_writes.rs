//! Writes of file tools that make a repository of git of a folder, or reach into one that has another name
//! than `.git` (A1): whoever uses git there runs what its settings and hooks name. All that one call
//! writes counts together, with what is on the disk. Not here: what commands make (`repositories`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use weir_core::tool::{Effects, FileState, PathAccess};

use super::Workspace;

/// Pieces of a repository that are files.
const FILES: [&str; 6] =
    ["HEAD", "config", "config.worktree", "commondir", "gitdir", "packed-refs"];
/// Pieces that are folders: what lies in them counts as well.
const FOLDERS: [&str; 4] = ["objects", "refs", "hooks", "info"];
/// What git takes programs from.
const SETTINGS: [&str; 3] = ["config", "config.worktree", "hooks"];

/// Pieces of one folder.
type PieceNames = BTreeSet<&'static str>;

/// What a call writes into one folder.
#[derive(Debug, Default)]
struct WrittenPieces {
    pieces: PieceNames,
    /// The paths of it, as effects have them.
    paths: BTreeSet<String>,
}

impl Workspace {
    /// Those written paths of a call that are pieces of a repository which is there, or which the call
    /// makes: with its settings, as soon as only one piece of the repository is missing.
    pub(super) fn repository_writes(&self, effects: &Effects) -> BTreeSet<String> {
        let mut folders: BTreeMap<PathBuf, WrittenPieces> = BTreeMap::new();
        let roots: Vec<&Path> = self.guard.roots.iter().map(|root| root.real.as_path()).collect();
        for path in written_paths(effects) {
            for (folder, piece) in pieces_of(&self.absolute_path(path), &roots) {
                let written = folders.entry(folder).or_default();
                written.pieces.insert(piece);
                written.paths.insert(path.to_owned());
            }
        }
        let arming = folders
            .into_iter()
            .filter(|(folder, written)| makes_repository(&pieces_there(folder), &written.pieces));
        arming.flat_map(|(_, written)| written.paths).collect()
    }
}

/// The paths at which something is after the call: what is taken away makes no repository.
fn written_paths(effects: &Effects) -> impl Iterator<Item = &str> {
    let stays = |access: PathAccess| match access {
        PathAccess::Write | PathAccess::Create | PathAccess::MoveTo => true,
        PathAccess::Read | PathAccess::List | PathAccess::MoveFrom | PathAccess::Delete => false,
    };
    let paths = effects.paths.iter().filter(move |path| stays(path.access));
    let changes = effects.changes.iter().filter(|change| change.after != FileState::Absent);
    paths.map(|path| path.path.as_str()).chain(changes.map(|change| change.path.as_str()))
}

/// As which piece of which folder a path counts: by its own name and by those of the folders that it
/// lies in, up to the root. What lies in a `.git` is closed, and not looked at here.
fn pieces_of(path: &Path, roots: &[&Path]) -> Vec<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for at in path.ancestors().take_while(|at| !roots.contains(at)) {
        let (Some(name), Some(folder)) = (at.file_name(), at.parent()) else { break };
        if name.eq_ignore_ascii_case(".git") {
            return Vec::new();
        }
        let is_named = |piece: &&str| name.eq_ignore_ascii_case(piece);
        let file = FILES.iter().copied().find(is_named).filter(|_| at == path);
        if let Some(piece) = file.or_else(|| FOLDERS.iter().copied().find(is_named)) {
            found.push((folder.to_path_buf(), piece));
        }
    }
    found
}

fn pieces_there(folder: &Path) -> PieceNames {
    let is_there = |name: &&&str| folder.join(name).symlink_metadata().is_ok();
    FILES.iter().chain(&FOLDERS).filter(is_there).copied().collect()
}

/// Whether a folder with these pieces is a repository once the `written` ones are there too, or lacks one
/// of them and gets settings.
fn makes_repository(there: &PieceNames, written: &PieceNames) -> bool {
    let has = |name: &str| there.contains(name) || written.contains(name);
    let (objects, refs) = (has("objects"), has("refs"));
    let gets_settings = SETTINGS.iter().any(|name| written.contains(name));
    has("HEAD") && (has("commondir") || (objects && refs) || (gets_settings && (objects || refs)))
}

#[cfg(test)]
mod tests {
    use weir_core::tool::{PathEffect, PathPlace, PlannedChange};

    use super::*;
    use crate::workspace::WorkspaceOptions;

    /// An empty workspace and its root, as long as the folder is held.
    fn workspace() -> (tempfile::TempDir, PathBuf, Workspace) {
        let top = tempfile::tempdir().expect("a folder");
        let root = top.path().canonicalize().expect("it is there");
        let options = WorkspaceOptions {
            root: root.clone(),
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        };
        let workspace = Workspace::open(options).expect("a workspace");
        (top, root, workspace)
    }

    fn put(root: &Path, paths: &[&str]) {
        for path in paths {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, "x").expect("a file");
        }
    }

    /// A call that touches each of these paths in this way.
    fn call(access: PathAccess, paths: &[&str]) -> Effects {
        let at = |path: &&str| PathEffect::new(*path, access, PathPlace::Inside);
        Effects { paths: paths.iter().map(at).collect(), ..Effects::default() }
    }

    #[test]
    fn a1_a_path_counts_as_a_piece_of_the_folders_that_it_lies_in() {
        let root = Path::new("/ws");
        for (path, expected) in [
            ("/ws/docs/HEAD", vec![("/ws/docs", "HEAD")]),
            ("/ws/docs/Config", vec![("/ws/docs", "config")]),
            ("/ws/docs/objects", vec![("/ws/docs", "objects")]),
            ("/ws/hooks/lib/a", vec![("/ws", "hooks")]),
            ("/ws/a/refs/b/HEAD", vec![("/ws/a/refs/b", "HEAD"), ("/ws/a", "refs")]),
            ("/srv/objects/x", vec![("/srv", "objects")]),
            ("/ws/config/app.toml", vec![]),
            ("/ws/sub/.git/config", vec![]),
            ("/ws", vec![]),
        ] {
            let expected: Vec<_> =
                expected.into_iter().map(|(at, piece)| (PathBuf::from(at), piece)).collect();
            assert_eq!(pieces_of(Path::new(path), &[root]), expected, "{path}");
        }
        // Whatever lies above the root, what is in the root is no piece of it.
        let inner = Path::new("/x/refs/ws");
        assert_eq!(pieces_of(Path::new("/x/refs/ws/a.md"), &[inner]), []);
    }

    #[test]
    fn a1_a_repository_is_told_by_what_is_there_and_what_is_written() {
        for (there, written, expected) in [
            ("HEAD objects refs", "config", true),
            ("HEAD objects refs", "hooks", true),
            ("HEAD objects refs", "refs", true),
            ("HEAD objects config", "refs", true),
            ("config objects refs", "HEAD", true),
            ("", "HEAD config objects refs", true),
            ("HEAD objects", "config", true),
            ("HEAD refs", "hooks", true),
            ("HEAD", "commondir", true),
            ("HEAD", "config", false),
            ("objects refs", "hooks", false),
            ("config", "HEAD", false),
            ("config HEAD", "objects", false),
            ("", "config", false),
            ("", "HEAD", false),
            ("", "hooks", false),
            ("", "objects refs", false),
        ] {
            let names = |text: &'static str| text.split_whitespace().collect::<PieceNames>();
            let made = makes_repository(&names(there), &names(written));
            assert_eq!(made, expected, "{there} + {written}");
        }
    }

    #[test]
    fn a1_file_tools_do_not_arm_a_repository_unasked() {
        let (_top, root, workspace) = workspace();
        put(&root, &["docs/HEAD", "docs/config", "docs/objects/k", "a/b.txt"]);
        put(&root, &["mirror.git/HEAD", "mirror.git/objects/k", "mirror.git/refs/k"]);
        let marked = |effects: &Effects| workspace.run_by_git(effects);
        for access in [PathAccess::Create, PathAccess::Write, PathAccess::MoveTo] {
            for path in ["docs/refs/k", "mirror.git/config", "mirror.git/hooks/post-update"] {
                assert_eq!(marked(&call(access, &[path])), [path], "{path}");
            }
            for path in [
                "app/config",
                "src/HEAD",
                "sub/docs/refs/x.md",
                "hooks/useState.ts",
                "docs/guide.md",
                "mirror.git/description",
                "a/refs",
            ] {
                assert_eq!(marked(&call(access, &[path])), Vec::<String>::new(), "{path}");
            }
        }
        for access in [PathAccess::Read, PathAccess::Delete, PathAccess::MoveFrom] {
            assert_eq!(marked(&call(access, &["mirror.git/config"])), Vec::<String>::new());
        }
    }

    #[test]
    fn a1_all_that_one_call_writes_is_judged_together() {
        let (_top, root, workspace) = workspace();
        put(&root, &["mirror.git/HEAD", "mirror.git/objects/k", "mirror.git/refs/k"]);
        let archive = ["d/HEAD", "d/config", "d/objects/k", "d/readme.md", "d/refs/k"];
        let found = workspace.run_by_git(&call(PathAccess::Create, &archive));
        assert_eq!(found, ["d/HEAD", "d/config", "d/objects/k", "d/refs/k"]);
        let harmless = ["d/HEAD", "d/config", "e/objects/k", "e/refs/k", "hooks/a.ts"];
        let found = workspace.run_by_git(&call(PathAccess::Create, &harmless));
        assert_eq!(found, Vec::<String>::new());
        // What is known as a change alone counts as well, and what goes away does not.
        let change = |path: &str, after: FileState| PlannedChange {
            path: path.into(),
            before: FileState::Absent,
            after,
        };
        let changes = vec![
            change("mirror.git/info/attributes", FileState::Folder),
            change("mirror.git/config", FileState::Absent),
        ];
        let found = workspace.run_by_git(&Effects { changes, ..Effects::default() });
        assert_eq!(found, ["mirror.git/info/attributes"]);
    }
}
