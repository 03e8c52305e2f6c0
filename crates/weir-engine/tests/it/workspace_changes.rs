//! Changes: all or none, atomic, mode kept, taken back on failure (Z6, G7, D4).

use std::os::unix::fs::PermissionsExt;

use weir_core::tool::{FileState, PathAccess, PlannedChange};
use weir_engine::workspace::{FileError, Workspace, WorkspaceOptions};

use crate::world::{World, file_image};

fn chmod(world: &World, path: &str, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(world.real("ws").join(path), permissions).unwrap();
}

fn mode(world: &World, path: &str) -> u32 {
    std::fs::metadata(world.real("ws").join(path)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn z6_write_create_and_delete_in_one_step() {
    let world = World::new();
    world.file("run.sh", "old");
    world.file("gone.txt", "bye");
    chmod(&world, "run.sh", 0o755);
    let changes = [
        world.change("run.sh", file_image("new", 0o755)),
        world.change("deep/er/new.txt", file_image("made", 0o600)),
        world.change("gone.txt", FileState::Absent),
    ];
    let contents = [("run.sh", "new"), ("deep/er/new.txt", "made")];
    let changed = world.apply(&changes, &contents).unwrap();
    assert_eq!(changed, ["run.sh", "deep/er/new.txt", "gone.txt"]);
    assert_eq!(world.tree(), ["deep", "deep/er", "deep/er/new.txt", "run.sh"]);
    assert_eq!(world.text("run.sh").as_deref(), Some("new"));
    assert_eq!((mode(&world, "run.sh"), mode(&world, "deep/er/new.txt")), (0o755, 0o600));
    let trashed = world.real("state/trash/restored/gone.txt");
    assert_eq!(std::fs::read_to_string(trashed).unwrap(), "bye");
    for change in &changes {
        assert_eq!(world.image(&change.path), change.after);
    }
}

#[test]
fn d4_a_second_application_is_refused() {
    let world = World::new();
    let change = world.change("a.txt", file_image("a", 0o644));
    world.apply(std::slice::from_ref(&change), &[("a.txt", "a")]).unwrap();
    let error = world.apply(&[change], &[("a.txt", "a")]).unwrap_err();
    assert_eq!(error, FileError::Changed { path: "a.txt".to_owned() });
}

#[test]
fn z6_nothing_changes_when_one_check_fails() {
    let world = World::new();
    world.file("a.txt", "a");
    world.file("b.txt", "b");
    let a = world.change("a.txt", file_image("A", 0o644));
    let mut b = world.change("b.txt", file_image("B", 0o644));
    b.before = file_image("what it was once", 0o644);
    let error = world.apply(&[a.clone(), b], &[("a.txt", "A"), ("b.txt", "B")]).unwrap_err();
    assert_eq!(error, FileError::Changed { path: "b.txt".to_owned() });
    // Content that is not what was judged.
    let error = world.apply(std::slice::from_ref(&a), &[("a.txt", "X")]).unwrap_err();
    assert!(matches!(error, FileError::Refused { .. }), "{error}");
    let error = world.apply(std::slice::from_ref(&a), &[]).unwrap_err();
    assert!(matches!(error, FileError::Refused { .. }), "{error}");
    let error = world.apply(&[a.clone(), a], &[("a.txt", "A")]).unwrap_err();
    assert!(error.to_string().contains("twice"), "{error}");
    assert_eq!(world.text("a.txt").as_deref(), Some("a"));
    assert_eq!(world.tree(), ["a.txt", "b.txt"]);
}

#[test]
fn z6_what_was_done_is_put_back_when_a_later_step_fails() {
    let world = World::new();
    world.file("a.txt", "a");
    world.file("b.txt", "b");
    world.file("from.txt", "moved");
    world.file("full/kept.txt", "kept");
    world.link("link", "a.txt");
    chmod(&world, "a.txt", 0o640);
    let before: Vec<(String, FileState)> = ["a.txt", "b.txt", "from.txt", "link", "full/kept.txt"]
        .map(|path| (path.to_owned(), world.image(path)))
        .into();
    let tree = world.tree();
    let changes = [
        world.change("a.txt", file_image("A", 0o755)),
        world.change("b.txt", FileState::Absent),
        world.change("new/deep/c.txt", file_image("C", 0o644)),
        world.change("from.txt", FileState::Absent),
        world.change("to/here.txt", file_image("moved", 0o644)),
        world.change("link", FileState::Link { target: "b.txt".to_owned() }),
        // Cannot be removed: it holds a file that no change names. Removals come last.
        world.change("full", FileState::Absent),
    ];
    let error = world.apply(&changes, &[("a.txt", "A"), ("new/deep/c.txt", "C")]).unwrap_err();
    assert!(error.to_string().contains("holds entries"), "{error}");
    assert_eq!(world.tree(), tree);
    for (path, image) in before {
        assert_eq!(world.image(&path), image, "{path}");
    }
    assert!(!world.real("state/trash").exists());
}

#[test]
fn z6_folders_are_made_and_removed_in_the_right_order() {
    let world = World::new();
    for path in ["old/a/x.txt", "old/a/y.txt", "old/b/z.txt", "old/top.txt"] {
        world.file(path, path);
    }
    // Given in a useless order on purpose.
    let mut changes = vec![world.change("old", FileState::Absent)];
    for path in ["old/a", "old/a/x.txt", "old/top.txt", "old/b/z.txt", "old/b", "old/a/y.txt"] {
        changes.push(world.change(path, FileState::Absent));
        let moved = path.replacen("old", "new", 1);
        changes.push(PlannedChange {
            path: moved,
            before: FileState::Absent,
            after: world.image(path),
        });
    }
    changes.push(world.change("new", FileState::Folder));
    // A move: the files keep their identity and no content is needed.
    world.apply(&changes, &[]).unwrap();
    assert_eq!(
        world.tree(),
        ["new", "new/a", "new/a/x.txt", "new/a/y.txt", "new/b", "new/b/z.txt", "new/top.txt"]
    );
    assert_eq!(world.text("new/b/z.txt").as_deref(), Some("old/b/z.txt"));
    let gone: Vec<PlannedChange> =
        world.tree().iter().map(|path| world.change(path, FileState::Absent)).collect();
    world.apply(&gone, &[]).unwrap();
    assert_eq!(world.tree(), Vec::<String>::new());
    assert!(world.real("state/trash/restored/new/a/x.txt").is_file());
}

#[test]
fn z6_a_file_becomes_a_folder_and_back() {
    let world = World::new();
    world.file("x", "file");
    let forth = [
        world.change("x", FileState::Folder),
        PlannedChange {
            path: "x/y".to_owned(),
            before: FileState::Absent,
            after: file_image("inner", 0o644),
        },
    ];
    world.apply(&forth, &[("x/y", "inner")]).unwrap();
    assert_eq!(world.text("x/y").as_deref(), Some("inner"));
    let back: Vec<PlannedChange> = forth
        .iter()
        .map(|c| PlannedChange {
            path: c.path.clone(),
            before: c.after.clone(),
            after: c.before.clone(),
        })
        .collect();
    let restored =
        [PlannedChange { after: file_image("file", 0o644), ..back[0].clone() }, back[1].clone()];
    world.apply(&restored, &[("x", "file")]).unwrap();
    assert_eq!(world.text("x").as_deref(), Some("file"));
}

#[test]
fn z6_links_are_links_and_hard_links_do_not_lead_out() {
    let world = World::new();
    world.elsewhere("out/precious", "precious");
    let link = world.change("l", FileState::Link { target: "../out/precious".to_owned() });
    world.apply(&[link], &[]).unwrap();
    assert_eq!(world.image("l"), FileState::Link { target: "../out/precious".to_owned() });
    let removed = world.change("l", FileState::Absent);
    world.apply(&[removed], &[]).unwrap();
    assert!(!world.real("ws/l").is_symlink());
    std::fs::hard_link(world.real("out/precious"), world.real("ws/twin")).unwrap();
    let write = world.change("twin", file_image("mine", 0o644));
    world.apply(&[write], &[("twin", "mine")]).unwrap();
    assert_eq!(std::fs::read_to_string(world.real("out/precious")).unwrap(), "precious");
    assert_eq!(world.text("twin").as_deref(), Some("mine"));
}

#[test]
fn z6_mode_alone_changes_and_set_id_bits_are_never_given() {
    let world = World::new();
    world.file("tool", "#!/bin/sh");
    chmod(&world, "tool", 0o644);
    let change = world.change("tool", file_image("#!/bin/sh", 0o755));
    world.apply(&[change], &[]).unwrap();
    assert_eq!(mode(&world, "tool"), 0o755);
    let change = world.change("tool", file_image("new", 0o6755));
    world.apply(&[change], &[("tool", "new")]).unwrap();
    assert_eq!(mode(&world, "tool"), 0o755);
}

#[test]
fn z6_the_root_and_places_behind_files_cannot_be_changed() {
    let world = World::new();
    world.file("f", "");
    let root =
        PlannedChange { path: ".".to_owned(), before: FileState::Folder, after: FileState::Absent };
    assert!(matches!(world.apply(&[root], &[]), Err(FileError::Refused { .. })));
    let behind = PlannedChange {
        path: "f/x".to_owned(),
        before: FileState::Absent,
        after: file_image("x", 0o644),
    };
    let error = world.apply(&[behind], &[("f/x", "x")]).unwrap_err();
    assert!(error.to_string().contains("f/x"), "{error}");
    assert_eq!(world.tree(), ["f"]);
}

#[test]
fn z6_without_a_trash_files_are_removed() {
    let world = World::new();
    let options =
        WorkspaceOptions { root: world.real("ws"), extra_roots: vec![], own_folders: vec![] };
    let workspace = Workspace::open(options).unwrap();
    world.file("a", "a");
    let change = world.change("a", FileState::Absent);
    workspace.apply_changes(&[change], &Default::default()).unwrap();
    assert_eq!(world.tree(), Vec::<String>::new());
}

#[test]
fn z6_files_of_a_killed_process_are_swept_and_never_shown() {
    let world = World::new();
    // No process has this id: it is above the largest that Linux gives.
    world.file(".weir-tmp-5000000-1", "half a file");
    let own = format!(".weir-tmp-{}-999999999", std::process::id());
    world.file(&own, "of a write under way");
    assert!(world.ignored(".weir-tmp-5000000-1").is_some());
    let change = world.change("a", file_image("a", 0o644));
    world.apply(&[change], &[("a", "a")]).unwrap();
    assert_eq!(world.tree(), [own.as_str(), "a"]);
}

#[test]
fn x1_own_files_go_below_their_folder_only() {
    let world = World::new();
    let ws = &world.workspace;
    ws.write_own(".weir/tmp/s1/search_files-3.md", "found").unwrap();
    ws.write_own(".weir/tmp/s1/search_files-3.md", "found again").unwrap();
    assert_eq!(world.text(".weir/tmp/s1/search_files-3.md").as_deref(), Some("found again"));
    // Else the next `git add -A` would commit it.
    assert_eq!(world.text(".weir/tmp/s1/.gitignore").as_deref(), Some("*\n"));
    let effect = ws.resolve(".weir/tmp/s1/search_files-3.md", PathAccess::Read);
    assert!(ws.read(&effect, 100).is_ok());
    for path in ["src/x", "../.weir/x", ".weir", ".weir/../x", "/etc/x", ".weirx/y"] {
        assert!(ws.write_own(path, "").is_err(), "{path}");
    }
    for path in [".weir/config.toml", ".weir/tmp", ".weir", ".", ".weir/tmp/../config.toml"] {
        assert!(ws.remove_own(path).is_err(), "{path}");
    }
    ws.remove_own(".weir/tmp/s1").unwrap();
    ws.remove_own(".weir/tmp/s1").unwrap();
    assert_eq!(world.tree(), Vec::<String>::new());
    // A link in the way leads nowhere.
    world.file("victim/keep", "");
    world.file(".weir/config.toml", "");
    world.link(".weir/tmp", world.real("ws/victim"));
    assert!(ws.write_own(".weir/tmp/keep", "x").is_err());
    assert!(ws.remove_own(".weir/tmp/keep").is_err());
    assert_eq!(world.text("victim/keep").as_deref(), Some(""));
}
