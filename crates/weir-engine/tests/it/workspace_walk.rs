//! Walks: order, bounds, links, `.gitignore`, large trees (G6, Z10).

use std::time::Instant;

use weir_core::tool::PathAccess;
use weir_engine::workspace::{EntryKind, FileError, WalkOptions};

use crate::world::{ALL, World};

fn paths(world: &World, start: &str, options: WalkOptions) -> (Vec<String>, bool) {
    let at = world.workspace.resolve(start, PathAccess::List);
    let walk = world.workspace.walk(&at, options).unwrap();
    (walk.entries.into_iter().map(|e| e.path).collect(), walk.truncated)
}

fn tree() -> World {
    let world = World::new();
    for path in ["b/x", "b-c", "a/deep/1", "a/deep/2", ".hidden/h", "z", "target/out", "keep.log"] {
        world.file(path, path);
    }
    world.file(".gitignore", "target/\n*.log\n!keep.log\n");
    world.link("loop", ".");
    world
}

#[test]
fn walk_order_is_stable_and_links_are_not_followed() {
    let world = tree();
    let (all, cut) = paths(&world, ".", ALL);
    let expected = [
        ".gitignore",
        ".hidden",
        ".hidden/h",
        "a",
        "a/deep",
        "a/deep/1",
        "a/deep/2",
        "b",
        "b/x",
        "b-c",
        "keep.log",
        "loop",
        "target",
        "target/out",
        "z",
    ];
    assert_eq!(all, expected);
    assert!(!cut);
    let at = world.workspace.resolve(".", PathAccess::List);
    let walk = world.workspace.walk(&at, ALL).unwrap();
    let kind = |path: &str| walk.entries.iter().find(|e| e.path == path).unwrap().kind;
    assert_eq!(kind("loop"), EntryKind::Link);
    assert_eq!((kind("a"), kind("z")), (EntryKind::Folder, EntryKind::File));
}

#[test]
fn walk_options_narrow() {
    let world = tree();
    let flat = WalkOptions { recursive: false, hidden: false, ..ALL };
    assert_eq!(paths(&world, ".", flat).0, ["a", "b", "b-c", "keep.log", "loop", "target", "z"]);
    let git = WalkOptions { respect_gitignore: true, hidden: false, ..ALL };
    assert_eq!(
        paths(&world, ".", git).0,
        ["a", "a/deep", "a/deep/1", "a/deep/2", "b", "b/x", "b-c", "keep.log", "loop", "z"]
    );
    // What is asked for by name is shown although the list names its folder.
    assert_eq!(paths(&world, "target", git).0, ["target/out"]);
    let few = WalkOptions { max_entries: 4, ..ALL };
    assert_eq!(
        paths(&world, ".", few),
        ([".gitignore", ".hidden", ".hidden/h", "a"].map(str::to_owned).into(), true)
    );
    let exact = WalkOptions { max_entries: 15, ..ALL };
    assert!(!paths(&world, ".", exact).1);
}

#[test]
fn x1_results_are_kept_from_git_and_from_nobody_else() {
    let world = tree();
    world.workspace.write_own(".weir/tmp/s1/run_shell-1.md", "found").unwrap();
    let git = WalkOptions { respect_gitignore: true, ..ALL };
    let results = [".weir/tmp/s1/.gitignore", ".weir/tmp/s1/run_shell-1.md"];
    assert_eq!(paths(&world, ".weir/tmp/s1", git).0, results);
    let all = paths(&world, ".", git).0;
    assert!(results.iter().all(|path| all.iter().any(|met| met == path)), "{all:?}");
}

#[test]
fn q24_a_walk_on_a_way_looks_at_nothing_beside_it() {
    let world = tree();
    let at = world.workspace.resolve(".", PathAccess::List);
    let on_way = |way: &[&str], options: WalkOptions| {
        let walk = world.workspace.walk_towards(&at, way, options).unwrap();
        (walk.entries.into_iter().map(|e| e.path).collect::<Vec<_>>(), walk.truncated)
    };
    // What comes before it by name does not count to what may be looked at.
    let few = WalkOptions { max_entries: 4, ..ALL };
    let expected = ["a", "a/deep", "a/deep/1", "a/deep/2"].map(str::to_owned).into();
    assert_eq!(on_way(&["a", "deep"], few), (expected, false));
    assert_eq!(on_way(&["a"], few).0.len(), 4);
    // Lists hold as for the whole: this is no folder that was asked for by itself.
    let git = WalkOptions { respect_gitignore: true, ..ALL };
    assert_eq!(on_way(&["target"], git).0, Vec::<String>::new());
    for way in ["nope", "z", "loop", "A"] {
        let met = on_way(&[way, "deep"], ALL).0;
        assert!(met.iter().all(|path| path == way), "{met:?}");
    }
}

#[test]
fn walk_of_what_is_no_folder_says_so() {
    let world = tree();
    for (path, expected) in [("z", "z is a file, not a folder"), ("nope", "nope does not exist")] {
        let at = world.workspace.resolve(path, PathAccess::List);
        let error = world.workspace.walk(&at, ALL).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let out = world.real("out").display().to_string();
    let mut at = world.workspace.resolve(&out, PathAccess::List);
    assert!(world.workspace.walk(&at, ALL).is_ok());
    at.place = weir_core::tool::PathPlace::Inside;
    assert!(matches!(world.workspace.walk(&at, ALL), Err(FileError::Refused { .. })));
}

#[test]
fn z10_names_that_are_not_utf8_are_shown_and_harmless() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let name = std::ffi::OsStr::from_bytes(b"bad-\xff-name");
    std::fs::write(world.real("ws").join(name), "x").unwrap();
    let (all, _) = paths(&world, ".", ALL);
    assert_eq!(all, ["bad-\u{fffd}-name"]);
    let effect = world.workspace.resolve(&all[0], PathAccess::Read);
    assert!(world.workspace.open_file(&effect).is_err());
}

#[test]
fn z10_large_trees_are_quick_and_bounded() {
    let world = World::new();
    for folder in 0..40 {
        let folder = world.real("ws").join(format!("d{folder:02}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..250 {
            std::fs::write(folder.join(format!("f{file:03}.txt")), "").unwrap();
        }
    }
    let options = WalkOptions { max_entries: 1_000_000, respect_gitignore: true, ..ALL };
    let begun = Instant::now();
    let (all, cut) = paths(&world, ".", options);
    let whole = begun.elapsed();
    assert_eq!((all.len(), cut), (40 * 251, false));
    // The quickest counts, because a machine that is busy is slow too.
    let quick = |_| {
        let begun = Instant::now();
        let (some, cut) = paths(&world, ".", WalkOptions { max_entries: 100, ..options });
        let took = begun.elapsed();
        assert_eq!((some.len(), cut), (100, true));
        took
    };
    let part = (0..5).map(quick).min().expect("five of them");
    assert!(part < whole, "a bounded walk looks at less: {part:?} of {whole:?}");
}
