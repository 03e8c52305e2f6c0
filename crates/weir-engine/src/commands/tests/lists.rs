//! Lists of what git ignores that change while a session works: what was held stays held.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::replaced::{take_back, tree};
use super::{World, brief, put};

#[test]
fn g7_what_a_list_takes_out_of_view_can_still_be_undone() {
    let mut world =
        World::new(&[("thesis.md", "years of work"), ("src/a", "a"), ("src/deep/b", "b")]);
    put(&world.top, ".gitignore", "*\n");
    let delta = world.end();
    assert_eq!(delta.changed_paths(), [".gitignore"]);
    assert_eq!(delta.left_view, ["src", "thesis.md"]);
    world.base.accept_changes(delta).unwrap();
    world.begin();
    let before = tree(world.top.path());
    fs::remove_dir_all(world.at("src")).unwrap();
    fs::write(world.at("thesis.md"), "gone").unwrap();
    let delta = world.end();
    assert_eq!(delta.changed_paths(), ["src", "src/a", "src/deep", "src/deep/b", "thesis.md"]);
    assert_eq!(delta.left_view, Vec::<String>::new());
    take_back(&world, &delta.entries);
    assert_eq!(tree(world.top.path()), before);
}

#[test]
fn g7_what_is_out_of_view_and_changed_by_a_person_between_commands_is_theirs() {
    let mut world = World::new(&[("src/a", "a"), ("src/b", "b"), ("seen", "x")]);
    // By a file tool, or a person.
    put(&world.top, ".gitignore", "src\n");
    world.begin();
    put(&world.top, "src/a", "by a person");
    fs::remove_file(world.at("src/b")).unwrap();
    world.begin();
    put(&world.top, "src/new", "not held");
    put(&world.top, "src/a", "by a command");
    let delta = world.end();
    assert_eq!(delta.changed_paths(), ["src/a"]);
    assert_eq!(brief(&delta.entries[0].before), "by a person:644");
    assert_eq!(delta.left_view, ["src"]);
    world.base.accept_changes(delta).unwrap();
    // What comes into view again is only looked at.
    fs::remove_file(world.at(".gitignore")).unwrap();
    world.begin();
    assert_eq!(world.end().changed_paths(), Vec::<String>::new());
    assert!(world.base.held.contains_key("src/new"));
}

#[test]
fn g7_what_a_list_of_a_persons_closes_is_not_held_any_more() {
    let mut world = World::new(&[("notes", "x"), ("seen", "x")]);
    put(&world.top, ".gitignore", "notes\n");
    put(&world.top, ".weirignore", "notes\n");
    world.begin();
    assert!(!world.base.held.contains_key("notes"));
}

#[test]
fn g7_what_git_tracks_is_held_although_a_list_names_it() {
    let mut world = World::new(&[("out/kept", "x"), ("out/other", "x"), (".env", "KEY=1")]);
    for arguments in [vec!["init", "-q", "."], vec!["add", "-f", "out/kept", ".env"]] {
        let done = Command::new("git").current_dir(world.top.path()).args(arguments).status();
        assert!(done.unwrap().success());
    }
    let fresh = World::new(&[]);
    for path in [".git", "out", ".env"] {
        fs::rename(world.at(path), fresh.at(path)).unwrap();
    }
    put(&fresh.top, ".gitignore", "out\n.env\n");
    world = fresh;
    put(&world.top, "out/kept", "uncommitted work");
    world.begin();
    fs::remove_dir_all(world.at("out")).unwrap();
    let delta = world.end();
    let changed: Vec<&str> = delta.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(changed, ["out/kept"]);
    assert_eq!(brief(&delta.entries[0].before), "uncommitted work:644");
    take_back(&world, &delta.entries);
    assert_eq!(fs::read_to_string(world.at("out/kept")).unwrap(), "uncommitted work");
}

#[test]
fn g7_what_has_a_name_that_is_no_text_is_said_to_be_lost() {
    let mut world = World::new(&[("a", "a")]);
    let odd = world.top.path().join(OsStr::from_bytes(b"caf\xe9.txt"));
    fs::write(&odd, "x").unwrap();
    world.begin();
    assert_eq!(world.base.left_out().as_deref(), Some("1 with names that are not UTF-8"));
    fs::remove_file(odd).unwrap();
    assert_eq!(world.unsaved(), ["caf\u{fffd}.txt: removed; its name is not UTF-8"]);
    assert_eq!(world.unsaved(), Vec::<String>::new());
}
