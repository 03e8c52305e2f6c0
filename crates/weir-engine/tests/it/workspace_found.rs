//! Files that a walk found: many are opened at one look at their folder, and each is judged as it would be by
//! itself (G6, Z6, C3, Q24).

use std::io::Read as _;
use std::sync::Arc;

use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::tool::PathAccess;
use weir_engine::workspace::{EntryKind, FileError, FoundFile, Workspace, WorkspaceEntry};

use crate::world::{ALL, World};

/// Files that are opened at one look at their folder.
const FILES_PER_LOOK: usize = 100;

fn entry(path: &str) -> WorkspaceEntry {
    let path = path.to_owned();
    WorkspaceEntry { path, kind: EntryKind::File, bytes: 0, modified: 0, changed_ns: 0 }
}

/// What became of a file: its text, or why it has none.
fn said(opened: Result<FoundFile, FileError>) -> String {
    match opened {
        Ok(FoundFile::Open(mut file)) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            text
        }
        Ok(FoundFile::Hidden) => "hidden".to_owned(),
        Ok(FoundFile::AsksFirst) => "asks first".to_owned(),
        Err(why) => why.to_string(),
    }
}

/// The same of a file that is judged by itself.
fn said_alone(workspace: &Workspace, entry: &WorkspaceEntry) -> String {
    let at = workspace.effect_of_entry(entry);
    if at.ignored.is_some() {
        return said(Ok(FoundFile::Hidden));
    }
    if at.sensitive.is_some() {
        return said(Ok(FoundFile::AsksFirst));
    }
    said(workspace.open_file(&at).map(FoundFile::Open))
}

/// A workspace with something of everything that closes a file. Each has its path as its text.
fn world_of_closed_files() -> World {
    let world = World::new();
    for path in [
        "a.txt",
        "a.tmp",
        ".env",
        "k.pem",
        "gr\u{fc}n.txt",
        "sub/b.txt",
        "sub/keep.tmp",
        "sub/.env",
        "sub/id_rsa",
        "sub/deep/c.txt",
        "tests/k.pem",
        "hidden/x.txt",
        ".git/config",
        ".ssh/config",
        ".weir-tmp-1-1",
        "~/x.txt",
        "folder/x.txt",
    ] {
        world.file(path, path);
    }
    world.file(".weirignore", "hidden/\n*.tmp\n");
    world.file("sub/.weirignore", "!keep.tmp\n");
    world.elsewhere("out/o.txt", "outside");
    world.elsewhere("state/s.txt", "own");
    world.elsewhere("home/.ssh/id_rsa", "key");
    world.link("way.txt", "a.txt");
    world.link("way", "sub");
    world.link("out", world.real("out"));
    let linked = |from: &str, to: &str| {
        std::fs::hard_link(world.real(from), world.real("ws").join(to)).unwrap();
    };
    linked("home/.ssh/id_rsa", "twin.txt");
    linked("ws/sub/b.txt", "other.txt");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
    rustix::fs::mknodat(rustix::fs::CWD, world.real("ws/pipe.txt"), kind, mode, 0).unwrap();
    world
}

#[test]
fn g6_a_file_that_was_found_is_judged_as_one_that_is_named() {
    let world = world_of_closed_files();
    let outside = world.real("out/o.txt").display().to_string();
    let own = world.real("state/s.txt").display().to_string();
    let mut found = world.workspace.found_files();
    for (path, expected) in [
        ("a.txt", "a.txt"),
        (".env", "asks first"),
        ("k.pem", "hidden"),
        ("a.tmp", ".weirignore:2: *.tmp"),
        ("gr\u{fc}n.txt", "gr\u{fc}n.txt"),
        ("sub/b.txt", "sub/b.txt"),
        ("sub/keep.tmp", "sub/keep.tmp"),
        ("sub/.env", "asks first"),
        ("sub/id_rsa", "hidden"),
        ("sub/deep/c.txt", "sub/deep/c.txt"),
        ("tests/k.pem", "asks first"),
        ("hidden/x.txt", ".weirignore:1: hidden/"),
        (".git/config", "hidden"),
        (".ssh/config", "hidden"),
        (".weir-tmp-1-1", "hidden"),
        ("./~/x.txt", "~/x.txt"),
        ("folder", "is a folder, not a file"),
        ("none.txt", "does not exist"),
        ("sub/none.txt", "does not exist"),
        ("none/none.txt", "does not exist"),
        ("way.txt", "symbolic link"),
        ("way/b.txt", "symbolic link"),
        ("out/o.txt", "symbolic link"),
        ("../out/o.txt", "cannot be used"),
        ("sub/../../out/o.txt", "cannot be used"),
        ("twin.txt", "hard link to a key file"),
        ("other.txt", "sub/b.txt"),
        ("pipe.txt", "is a named pipe, not a file"),
        (outside.as_str(), "outside"),
        (own.as_str(), "hidden"),
    ] {
        let entry = entry(path);
        let told = said(found.open_entry(&entry));
        assert!(told.contains(expected), "{path}: {told}");
        assert_eq!(told, said_alone(&world.workspace, &entry), "{path}");
    }
}

#[test]
fn z6_a_link_in_the_place_of_a_folder_or_file_leads_nowhere() {
    let world = World::new();
    for path in ["dir/a.txt", "dir/b.txt", "files/a.txt", "files/b.txt"] {
        world.file(path, path);
    }
    world.elsewhere("out/b.txt", "outside");
    let mut found = world.workspace.found_files();
    // Its folder was looked at, and is another one now.
    assert_eq!(said(found.open_entry(&entry("dir/a.txt"))), "dir/a.txt");
    std::fs::remove_dir_all(world.real("ws/dir")).unwrap();
    world.link("dir", world.real("out"));
    let told = said(found.open_entry(&entry("dir/b.txt")));
    assert!(told.contains("symbolic link"), "{told}");
    assert_eq!(said(found.open_entry(&entry("files/a.txt"))), "files/a.txt");
    std::fs::remove_file(world.real("ws/files/b.txt")).unwrap();
    world.link("files/b.txt", world.real("out/b.txt"));
    let told = said(found.open_entry(&entry("files/b.txt")));
    assert!(told.contains("symbolic link"), "{told}");
}

#[test]
fn c3_a_rule_counts_from_the_next_file_on() {
    let world = World::new();
    for path in ["plans/a.md", "plans/b.md", "plans/c.md"] {
        world.file(path, path);
    }
    let mut found = world.workspace.found_files();
    assert_eq!(said(found.open_entry(&entry("plans/a.md"))), "plans/a.md");
    let mut rules = RuleSet::new(RuleContext {
        workspace: world.real("ws").display().to_string(),
        home: None,
        own_folders: Vec::new(),
        ..RuleContext::default()
    });
    let rule = rules.parse_rule(RuleAction::Deny, "Read(plans/b.md)", RuleOrigin::new("test"));
    rules.add(rule.expect("a rule"));
    world.workspace.hold_rules(Arc::new(rules));
    assert_eq!(said(found.open_entry(&entry("plans/b.md"))), "asks first");
    assert_eq!(said(found.open_entry(&entry("plans/c.md"))), "plans/c.md");
}

#[test]
fn q24_a_folder_is_looked_at_once_for_many_of_its_files_and_then_anew() {
    let world = World::new();
    for number in 0..2 * FILES_PER_LOOK {
        world.file(&format!("many/{number:03}.txt"), "x");
    }
    let many = world.workspace.resolve("many", PathAccess::List);
    let walk = world.workspace.walk(&many, ALL).unwrap();
    assert_eq!(walk.entries.len(), 2 * FILES_PER_LOOK);
    let mut found = world.workspace.found_files();
    let (first, others) = walk.entries.split_first().unwrap();
    assert_eq!(said(found.open_entry(first)), "x");
    world.file("many/.weirignore", "*.txt\n");
    let open = |entry: &&WorkspaceEntry| matches!(found.open_entry(entry), Ok(FoundFile::Open(_)));
    assert_eq!(1 + others.iter().take_while(open).count(), FILES_PER_LOOK);
    let told = said(found.open_entry(first));
    assert!(told.contains(".weirignore:1: *.txt"), "{told}");
}
