//! Where a written path leads, and that it can be used nowhere else (Z6, G2).

use std::io::Read;

use weir_core::tool::{PathAccess, PathPlace};
use weir_engine::ports::FileContent;
use weir_engine::workspace::{EntryKind, FileError, Workspace, WorkspaceOptions};

use crate::world::World;

#[test]
fn g2_equal_paths_have_one_form() {
    let world = World::new();
    world.file("src/main.rs", "fn main() {}");
    world.link("code", "src");
    let whole = world.real("ws/src/main.rs").display().to_string();
    let forms = [
        "src/main.rs",
        "./src/main.rs",
        "src//main.rs",
        "src/../src/./main.rs",
        "missing/../src/main.rs",
        "code/main.rs",
        whole.as_str(),
    ];
    for form in forms {
        let effect = world.workspace.resolve(form, PathAccess::Read);
        assert_eq!(effect.path, "src/main.rs", "{form}");
        assert_eq!(effect.place, PathPlace::Inside, "{form}");
        assert_eq!(effect.ignored, None, "{form}");
    }
    for form in ["", ".", "./", "src/..", whole.trim_end_matches("/src/main.rs")] {
        assert_eq!(world.workspace.resolve(form, PathAccess::List).path, ".", "{form:?}");
    }
}

#[test]
fn g2_unicode_forms_are_one_path() {
    let world = World::new();
    let composed = "caf\u{e9}.md";
    let decomposed = "cafe\u{301}.md";
    world.file(decomposed, "on disk decomposed");
    for form in [composed, decomposed] {
        let effect = world.workspace.resolve(form, PathAccess::Read);
        assert_eq!(effect.path, composed);
        let mut text = String::new();
        world.workspace.open_file(&effect).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "on disk decomposed");
    }
    let new = world.workspace.resolve("e\u{301}t\u{e9}/x", PathAccess::Create);
    assert_eq!(new.path, "\u{e9}t\u{e9}/x");
}

#[test]
fn z6_every_way_out_is_named() {
    let world = World::new();
    world.elsewhere("out/secret.txt", "secret");
    world.link("up", world.real("out"));
    world.link("file", world.real("out/secret.txt"));
    world.link("dangling", world.real("out/new.txt"));
    world.link("twice", "up/secret.txt");
    let out = std::fs::canonicalize(world.real("out")).unwrap().display().to_string();
    let through_root = world.real("ws/../out/secret.txt").display().to_string();
    let cases = [
        ("../out/secret.txt", PathPlace::Outside, "secret.txt"),
        ("a/../../out/secret.txt", PathPlace::Outside, "secret.txt"),
        ("up/secret.txt", PathPlace::Escapes, "secret.txt"),
        ("file", PathPlace::Escapes, "secret.txt"),
        ("twice", PathPlace::Escapes, "secret.txt"),
        ("dangling", PathPlace::Escapes, "new.txt"),
        ("up/not/yet", PathPlace::Escapes, "not/yet"),
        ("up/../up/secret.txt", PathPlace::Escapes, ""),
        (through_root.as_str(), PathPlace::Outside, "secret.txt"),
        (&format!("{out}/secret.txt"), PathPlace::Outside, "secret.txt"),
        ("../../../../../../../../../../etc/hosts", PathPlace::Outside, ""),
    ];
    for (written, place, name) in cases {
        for access in [PathAccess::Read, PathAccess::Write, PathAccess::Create] {
            let effect = world.workspace.resolve(written, access);
            assert_eq!(effect.place, place, "{written}");
            if !name.is_empty() {
                assert_eq!(effect.path, format!("{out}/{name}"), "{written}");
            }
        }
    }
    assert_eq!(world.workspace.resolve("/etc/hosts", PathAccess::Read).place, PathPlace::Outside);
}

#[test]
fn z11_a_way_that_climbs_out_asks_whatever_it_begins_with() {
    let world = World::new();
    world.elsewhere("out/secret.txt", "secret");
    let asks = |path: &str| world.workspace.resolve(path, PathAccess::Read).sensitive.is_some();
    for climbing in
        ["../out/secret.txt", "a/../../out/x", "~x/../../out/secret.txt", "~../../../out/x"]
    {
        assert!(asks(climbing), "{climbing}");
    }
    let named = world.real("out/secret.txt").display().to_string();
    for other in [named.as_str(), "a/../b.txt", "~x/a"] {
        assert!(!asks(other), "{other}");
    }
}

#[test]
fn z6_removing_acts_on_the_link_itself() {
    let world = World::new();
    world.link("up", world.real("out"));
    for access in [PathAccess::Delete, PathAccess::MoveFrom, PathAccess::MoveTo] {
        let effect = world.workspace.resolve("up", access);
        assert_eq!((effect.path.as_str(), effect.place), ("up", PathPlace::Inside));
    }
}

#[test]
fn z10_unusable_paths_are_refused_not_fatal() {
    let world = World::new();
    world.link("loop", "loop");
    world.link("a", "b");
    world.link("b", "a");
    let long_name = "x".repeat(300);
    let long_path = "y/".repeat(3000);
    for path in ["a\0b", "loop", "a/x", &long_name, &long_path] {
        let effect = world.workspace.resolve(path, PathAccess::Write);
        assert!(effect.ignored.is_some(), "{path:?}");
        assert!(effect.protected.is_some(), "{path:?}");
        assert!(world.workspace.read(&effect, 10).is_err(), "{path:?}");
    }
    let backslash = world.workspace.resolve("a\\..\\..\\b", PathAccess::Create);
    assert_eq!((backslash.path.as_str(), backslash.place), ("a\\..\\..\\b", PathPlace::Inside));
}

#[test]
fn z6_a_forged_or_stale_effect_leads_nowhere() {
    let world = World::new();
    world.elsewhere("out/secret.txt", "secret");
    world.file("dir/a.txt", "a");
    let honest = world.workspace.resolve("dir/a.txt", PathAccess::Read);
    for path in ["../out/secret.txt", "dir/../../out/secret.txt", "/etc/hosts"] {
        let mut forged = honest.clone();
        forged.path = path.to_owned();
        let error = world.workspace.read(&forged, 1000).unwrap_err();
        assert!(matches!(error, FileError::Refused { .. }), "{path}: {error}");
    }
    // The folder becomes a link after the path was judged.
    std::fs::remove_dir_all(world.real("ws/dir")).unwrap();
    world.elsewhere("out/a.txt", "outside");
    world.link("dir", world.real("out"));
    let error = world.workspace.read(&honest, 1000).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert!(world.workspace.open_file(&honest).is_err());
    assert!(world.workspace.path_image(&honest).is_err());
}

#[test]
fn z6_what_a_person_allowed_outside_can_be_read() {
    let world = World::new();
    world.elsewhere("out/notes.txt", "notes");
    let path = world.real("out/notes.txt").display().to_string();
    let effect = world.workspace.resolve(&path, PathAccess::Read);
    let FileContent::File { bytes, .. } = world.workspace.read(&effect, 100).unwrap() else {
        panic!("a file")
    };
    assert_eq!(&*bytes, b"notes");
}

#[test]
fn z10_pipes_sockets_and_devices_neither_block_nor_open() {
    let world = World::new();
    let pipe = world.real("ws/pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.real("ws/socket")).unwrap();
    for (path, found) in
        [("pipe", "a named pipe"), ("socket", "a socket"), ("/dev/null", "a device")]
    {
        let effect = world.workspace.resolve(path, PathAccess::Read);
        let error = world.workspace.read(&effect, 10).unwrap_err();
        assert!(error.to_string().contains(found), "{error}");
        assert!(world.workspace.open_file(&effect).is_err());
    }
}

#[test]
fn z10_bounds_and_kinds_are_said() {
    let world = World::new();
    world.file("big", "0123456789");
    let big = world.workspace.resolve("big", PathAccess::Read);
    let error = world.workspace.read(&big, 9).unwrap_err();
    assert_eq!(error.to_string(), "big has 10 bytes; at most 9 can be handled here");
    assert!(world.workspace.read(&big, 10).is_ok());
    let here = world.workspace.resolve(".", PathAccess::Read);
    let error = world.workspace.open_file(&here).unwrap_err();
    assert_eq!(error.to_string(), ". is a folder, not a file");
    assert_eq!(world.workspace.stat_entry(&here).unwrap().kind, EntryKind::Folder);
    assert_eq!(world.workspace.stat_entry(&big).unwrap().bytes, 10);
    let below_file = world.workspace.resolve("big/x", PathAccess::Read);
    assert_eq!(world.workspace.read(&below_file, 9).unwrap(), FileContent::Absent);
    assert!(matches!(world.workspace.stat_entry(&below_file), Err(FileError::NotFound { .. })));
}

#[test]
fn a_missing_file_names_the_nearest() {
    let world = World::new();
    world.file("src/main.rs", "");
    world.file("src/secret.txt", "");
    world.file(".weirignore", "src/secret.txt\n");
    let hint = |path: &str| {
        let effect = world.workspace.resolve(path, PathAccess::Read);
        world.workspace.stat_entry(&effect).unwrap_err().to_string()
    };
    assert_eq!(hint("src/mian.rs"), "src/mian.rs does not exist; did you mean src/main.rs?");
    assert_eq!(hint("scr/main.rs"), "scr/main.rs does not exist; did you mean src/main.rs?");
    assert_eq!(hint("docs/a/b.md"), "docs/a/b.md does not exist; the folder docs does not exist");
    assert_eq!(hint("src/secre.txt"), "src/secre.txt does not exist");
}

#[test]
fn home_and_extra_roots() {
    let world = World::new();
    world.elsewhere("home/todo.txt", "");
    let effect = world.workspace.resolve("~/todo.txt", PathAccess::Read);
    assert_eq!(effect.place, PathPlace::Outside);
    assert!(effect.path.ends_with("/home/todo.txt"), "{}", effect.path);
    let options = WorkspaceOptions {
        root: world.real("ws"),
        extra_roots: vec![world.real("out")],
        own_folders: vec![],
    };
    let workspace = Workspace::open(options).unwrap();
    world.elsewhere("out/a/b.txt", "extra");
    world.elsewhere("out/.weirignore", "hidden\n");
    let path = world.real("out/a/b.txt").display().to_string();
    let effect = workspace.resolve(&path, PathAccess::Read);
    assert_eq!(effect.place, PathPlace::Inside);
    assert!(workspace.read(&effect, 100).is_ok());
    assert!(workspace.resolve("../out/hidden", PathAccess::Read).ignored.is_some());
}

#[test]
fn z6_a_folder_called_tilde_is_not_the_home() {
    let world = World::new();
    world.file("~/a.txt", "inside");
    let effect = world.workspace.resolve("./~/a.txt", PathAccess::Read);
    assert_eq!((effect.path.as_str(), effect.place.clone()), ("./~/a.txt", PathPlace::Inside));
    // What a journal names leads to the same place when it is resolved again.
    assert_eq!(world.workspace.resolve(&effect.path, PathAccess::Read), effect);
    assert!(world.workspace.read(&effect, 100).is_ok());
}

#[test]
fn a_workspace_that_cannot_be_used_says_why() {
    let world = World::new();
    world.elsewhere("out/file", "");
    for (path, why) in [("none", "create it"), ("out/file", "not the file in it")] {
        let options =
            WorkspaceOptions { root: world.real(path), extra_roots: vec![], own_folders: vec![] };
        let error = Workspace::open(options).unwrap_err();
        assert!(error.contains(path) && error.contains("cannot be used"), "{error}");
        assert!(error.contains(why) || path != "none", "{error}");
    }
}
