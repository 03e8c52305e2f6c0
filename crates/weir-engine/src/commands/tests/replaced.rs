//! Folders that a command replaced by links or files: all of it is in the checkpoint, and an undo brings it
//! back without following a link.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::{World, brief, put};
use crate::ports::{FileContent, SnapshotEntry};
use crate::undo::{RestorePlan, compare_with_disk};

/// Everything below a folder, with content and mode; no link is followed.
pub(super) fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(inner) = waiting.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let content = if meta.is_symlink() {
                let target = fs::read_link(&path).unwrap().to_string_lossy().into_owned();
                FileContent::Link { target }
            } else if meta.is_dir() {
                waiting.push(path.clone());
                FileContent::Folder
            } else {
                let mode = meta.permissions().mode() & 0o7777;
                FileContent::File { bytes: fs::read(&path).unwrap().into(), mode }
            };
            let path = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            found.insert(path, brief(&content));
        }
    }
    found
}

/// What taking back these changes means, the oldest first.
fn plan(world: &World, changes: &[SnapshotEntry]) -> RestorePlan {
    let mut paths: BTreeMap<String, (FileContent, FileContent)> = BTreeMap::new();
    for entry in changes.iter().cloned() {
        let after = entry.after.clone();
        let first = paths.entry(entry.path).or_insert((entry.before, after));
        first.1 = entry.after;
    }
    compare_with_disk(&world.workspace, paths).unwrap()
}

/// Takes them back, and returns the changes that this was.
pub(super) fn take_back(world: &World, changes: &[SnapshotEntry]) -> Vec<SnapshotEntry> {
    let plan = plan(world, changes);
    assert_eq!(plan.conflicts, []);
    let contents = plan.entries.iter().filter_map(|entry| match &entry.after {
        FileContent::File { bytes, .. } => Some((entry.path.clone(), bytes.clone())),
        FileContent::Absent | FileContent::Folder | FileContent::Link { .. } => None,
    });
    world.workspace.apply_changes(&plan.disk_changes(), &contents.collect()).unwrap();
    plan.entries
}

fn filled() -> World {
    let mut world = World::new(&[
        ("d/a", "text of a"),
        ("d/sub/b", "text of b"),
        ("d/sub/deep/c", "text of c"),
        ("o/a", "text of a"),
        ("o/other", "other"),
    ]);
    fs::set_permissions(world.at("d/sub/b"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", world.at("d/link")).unwrap();
    world.begin();
    world
}

#[test]
fn g7_a_folder_that_became_a_link_or_a_file_comes_back_with_all_that_lay_in_it() {
    let outside = TempDir::new().unwrap();
    put(&outside, "a", "not yours");
    put(&outside, "sub/b", "not yours");
    let there = outside.path().to_string_lossy().into_owned();
    for target in [Some("nowhere"), Some("o"), Some("."), Some("d"), Some(there.as_str()), None] {
        let mut world = filled();
        let before = tree(world.top.path());
        fs::remove_dir_all(world.at("d")).unwrap();
        match target {
            Some(target) => symlink(target, world.at("d")).unwrap(),
            None => fs::write(world.at("d"), "a file").unwrap(),
        }
        let after = tree(world.top.path());
        let delta = world.end();
        assert_eq!(delta.unsaved, BTreeMap::new(), "{target:?}");
        let undone = take_back(&world, &delta.entries);
        assert_eq!(tree(world.top.path()), before, "{target:?}");
        let redone = take_back(&world, &undone);
        assert_eq!(tree(world.top.path()), after, "{target:?}");
        take_back(&world, &redone);
        assert_eq!(tree(world.top.path()), before, "{target:?}");
    }
    let expected = [("a", "not yours:644"), ("sub", "folder"), ("sub/b", "not yours:644")];
    let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert_eq!(tree(outside.path()), BTreeMap::from(expected));
}

#[test]
fn g7_a_folder_that_was_moved_and_linked_to_is_taken_back_with_what_was_written_before() {
    let mut world = World::new(&[("imp.md", "old")]);
    let before = tree(world.top.path());
    put(&world.top, "imp.md", "new");
    put(&world.top, "d/n.md", "note");
    let written = world.end();
    let mut changes = written.entries.clone();
    world.base.accept_changes(written).unwrap();
    world.begin();
    fs::rename(world.at("d"), world.at("d2")).unwrap();
    symlink("d2", world.at("d")).unwrap();
    let moved = world.end();
    // Of a checkpoint that does not tell of what lay in the folder.
    let mut partly = changes.clone();
    partly.extend(moved.entries.iter().filter(|entry| entry.path != "d/n.md").cloned());
    assert_eq!(plan(&world, &partly).already, ["d/n.md"]);
    let after = tree(world.top.path());
    changes.extend(moved.entries);
    let undone = take_back(&world, &changes);
    assert_eq!(tree(world.top.path()), before);
    take_back(&world, &undone);
    assert_eq!(tree(world.top.path()), after);
}

#[test]
fn g7_where_somebody_put_a_link_nothing_is_put_back_behind_it() {
    let mut world = filled();
    fs::remove_file(world.at("d/a")).unwrap();
    fs::write(world.at("o/other"), "changed").unwrap();
    let delta = world.end();
    fs::remove_dir_all(world.at("d")).unwrap();
    symlink("o", world.at("d")).unwrap();
    fs::remove_file(world.at("o/a")).unwrap();
    let plan = plan(&world, &delta.entries);
    let conflicts: Vec<&str> = plan.conflicts.iter().map(|found| found.path.as_str()).collect();
    let entries: Vec<&str> = plan.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!((conflicts, entries), (vec!["d/a"], vec!["o/other"]));
}
