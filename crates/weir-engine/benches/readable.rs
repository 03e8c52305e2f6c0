//! T9: what a question about a whole workspace of 10,000 files takes before it is answered: the look at
//! everything, the look where nothing happened, the look after one change.

use std::path::Path;

use weir_engine::workspace::{ReadableTree, Workspace, WorkspaceOptions};

const FILES: usize = 10_000;

fn main() {
    divan::main();
}

fn workspace_of_files(root: &Path) -> Workspace {
    for at in 0..FILES {
        let folder = root.join(format!("Folder {}", at % 100));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(format!("Note {at}.md")), "x").expect("a file");
    }
    let options = WorkspaceOptions {
        root: root.to_path_buf(),
        extra_roots: Vec::new(),
        own_folders: Vec::new(),
    };
    // A folder whose names are younger than a tick of the clock is read anew.
    std::thread::sleep(std::time::Duration::from_millis(100));
    Workspace::open(options).expect("a workspace")
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn look_at_everything(bencher: divan::Bencher<'_, '_>) {
    let top = tempfile::tempdir().expect("a folder");
    let workspace = workspace_of_files(top.path());
    bencher.bench_local(|| {
        let mut tree = ReadableTree::default();
        workspace.readable_changes(&mut tree, FILES * 2).expect("it can be read")
    });
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn look_where_nothing_happened(bencher: divan::Bencher<'_, '_>) {
    let top = tempfile::tempdir().expect("a folder");
    let workspace = workspace_of_files(top.path());
    let mut tree = ReadableTree::default();
    for _ in 0..2 {
        workspace.readable_changes(&mut tree, FILES * 2).expect("it can be read");
    }
    bencher
        .bench_local(|| workspace.readable_changes(&mut tree, FILES * 2).expect("it can be read"));
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn look_after_one_change(bencher: divan::Bencher<'_, '_>) {
    let top = tempfile::tempdir().expect("a folder");
    let workspace = workspace_of_files(top.path());
    let mut tree = ReadableTree::default();
    for _ in 0..2 {
        workspace.readable_changes(&mut tree, FILES * 2).expect("it can be read");
    }
    bencher.bench_local(|| {
        std::fs::write(top.path().join("Folder 7/Note 7.md"), "y").expect("a file");
        workspace.readable_changes(&mut tree, FILES * 2).expect("it can be read")
    });
}
