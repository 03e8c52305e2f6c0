//! Ignore and protect lists, built-in rules, and what `explain` says (G6, G5, Z3).

use weir_core::tool::PathAccess;
use weir_engine::utf16::ByteOrder;
use weir_engine::workspace::FileError;

use crate::world::{ALL, World, file_image};

#[test]
fn g6_full_syntax_with_place_of_the_line() {
    let world = World::new();
    world.file(
        ".weirignore",
        "# comment\n\n*.secret\n!open.secret\n/only-top\nbuild/\ndocs/**/draft.md\n\\#odd\nsp ace\n",
    );
    let cases = [
        ("a.secret", Some(".weirignore:3: *.secret")),
        ("x/y/a.secret", Some(".weirignore:3: *.secret")),
        ("open.secret", None),
        ("only-top", Some(".weirignore:5: /only-top")),
        ("x/only-top", None),
        ("build/out.o", Some(".weirignore:6: build/")),
        ("x/build/deep/out.o", Some(".weirignore:6: build/")),
        ("docs/a/b/draft.md", Some(".weirignore:7: docs/**/draft.md")),
        ("docs/a.md", None),
        ("#odd", Some(".weirignore:8: \\#odd")),
        ("sp ace", Some(".weirignore:9: sp ace")),
    ];
    for (path, said) in cases {
        assert_eq!(world.ignored(path).as_deref(), said, "{path}");
    }
    world.file("building", "");
    assert_eq!(world.ignored("building"), None);
}

#[test]
fn g6_nested_lists_decide_last_and_cannot_open_a_closed_folder() {
    let world = World::new();
    world.file(".weirignore", "*.log\nclosed/\n");
    world.file("sub/.weirignore", "!keep.log\n*.tmp\n");
    world.file("closed/.weirignore", "!*\n");
    assert_eq!(world.ignored("sub/a.log").as_deref(), Some(".weirignore:1: *.log"));
    assert_eq!(world.ignored("sub/keep.log"), None);
    assert_eq!(world.ignored("keep.log").as_deref(), Some(".weirignore:1: *.log"));
    assert_eq!(world.ignored("sub/deep/a.tmp").as_deref(), Some("sub/.weirignore:2: *.tmp"));
    assert_eq!(world.ignored("closed/a").as_deref(), Some(".weirignore:2: closed/"));
}

#[test]
fn g6_a_change_of_a_list_counts_at_once() {
    let world = World::new();
    world.file("a.txt", "a");
    let judged_open = world.workspace.resolve("a.txt", PathAccess::Read);
    assert_eq!(judged_open.ignored, None);
    for round in 0..50 {
        world.file(".weirignore", "a.txt\n");
        assert!(world.ignored("a.txt").is_some(), "round {round}");
        world.file(".weirignore", "b.txt\n");
        assert_eq!(world.ignored("a.txt"), None, "round {round}");
    }
    // Also for an effect that was judged before the list changed.
    world.file(".weirignore", "a.*\n");
    let error = world.workspace.read(&judged_open, 10).unwrap_err();
    assert_eq!(error.to_string(), "a.txt cannot be used: .weirignore:1: a.*");
}

#[test]
fn g6_a_broken_list_closes_and_says_where() {
    let world = World::new();
    world.file("sub/a", "");
    world.file(".weirignore", "fine\n[z-a]\n");
    let why = world.ignored("sub/a").unwrap();
    assert!(why.starts_with(".weirignore:2: [z-a] is not a valid pattern"), "{why}");
    std::fs::remove_file(world.real("ws/.weirignore")).unwrap();
    std::fs::create_dir(world.real("ws/.weirignore")).unwrap();
    let why = world.ignored("sub/a").unwrap();
    assert_eq!(why, ".weirignore: the list cannot be read: it is not a file");
}

#[test]
fn g6_a_list_in_utf_16_counts_and_one_that_is_no_text_closes() {
    let world = World::new();
    for name in ["sub/a", "sub/b"] {
        world.file(name, "");
    }
    for order in [ByteOrder::Little, ByteOrder::Big] {
        world.file(".weirignore", order.encode(&format!("# {order:?}\r\n/sub/a\r\n")));
        assert_eq!(world.ignored("sub/a").as_deref(), Some(".weirignore:2: /sub/a"));
        assert_eq!(world.ignored("sub/b"), None);
    }
    for broken in [&b"\xff\xfea\0b"[..], b"/\0s\0u\0b\0"] {
        world.file(".weirignore", broken);
        let why = world.ignored("sub/b").unwrap();
        assert!(why.starts_with(".weirignore: the list cannot be read: it"), "{why}");
    }
}

#[test]
fn z10_braces_in_braces_end_no_stack() {
    let world = World::new();
    world.file("sub/a", "");
    let deep = format!("# {}\n{}{}\n", "{".repeat(9_000), "{a,".repeat(9_000), "}".repeat(9_000));
    world.file(".weirignore", &deep);
    let why = world.ignored("sub/a").unwrap();
    assert!(why.starts_with(".weirignore:2: it has more than 64 braces"), "{why}");
    world.file(".weirignore", "{x,{y,z}}.log\n");
    assert!(world.ignored("z.log").is_some());
    assert_eq!(world.ignored("sub/a"), None);
}

#[test]
fn g6_protected_paths_are_read_but_not_written() {
    let world = World::new();
    world.file("LICENSE", "text");
    world.file(".weirprotected", "LICENSE\nvendor/\n!vendor/\n");
    assert_eq!(world.protected("LICENSE").as_deref(), Some(".weirprotected:1: LICENSE"));
    assert_eq!(world.ignored("LICENSE"), None);
    assert_eq!(world.protected("vendor/x"), None);
    let change = world.change("LICENSE", file_image("new", 0o644));
    let error = world.apply(&[change], &[("LICENSE", "new")]).unwrap_err();
    assert!(matches!(error, FileError::Refused { .. }), "{error}");
    assert_eq!(world.text("LICENSE").as_deref(), Some("text"));
}

#[test]
fn g6_built_in_rules_no_list_lifts() {
    let world = World::new();
    world.file(".weirignore", "!.git/\n!*.pem\n!.git/**\n");
    world.file(".weirprotected", "!.weir/\n!.weirignore\n");
    for path in [".git/config", ".GIT/hooks/pre-commit", "sub/.git/HEAD", "deploy.pem", ".git"] {
        assert!(world.ignored(path).is_some(), "{path}");
        assert!(world.protected(path).is_some(), "{path}");
    }
    for path in [
        ".weir/config.toml",
        ".WEIR/config.toml",
        ".weir/tmp/s/r-1.md",
        ".weirignore",
        "sub/.weirprotected",
    ] {
        assert_eq!(world.ignored(path), None, "{path}");
        assert!(world.protected(path).is_some(), "{path}");
    }
    for path in [".gitignore", ".github/workflows/ci.yml", "AGENTS.md", "gitconfig", "weir/x"] {
        assert_eq!(world.ignored(path), None, "{path}");
        assert_eq!(world.protected(path), None, "{path}");
    }
}

#[test]
fn g5_own_state_is_closed_however_it_is_reached() {
    let world = World::new();
    world.elsewhere("state/weir.db", "x");
    world.link("link", world.real("state"));
    let whole = world.real("state/weir.db").display().to_string();
    for path in [whole.as_str(), "../state/weir.db", "link/weir.db", "../state"] {
        assert!(world.ignored(path).is_some(), "{path}");
        assert!(world.protected(path).is_some(), "{path}");
        let effect = world.workspace.resolve(path, PathAccess::Read);
        assert!(world.workspace.read(&effect, 10).is_err(), "{path}");
    }
    let sibling = world.real("statement").display().to_string();
    assert_eq!(world.ignored(&sibling), None);
}

#[test]
fn z3_credentials_are_closed_and_env_files_ask() {
    let world = World::new();
    world.elsewhere("home/.ssh/id_ed25519", "key");
    world.elsewhere("home/.npmrc", "token");
    world.file("config/.env.local", "KEY=1");
    for path in ["~/.ssh/id_ed25519", "~/.ssh/config", "~/.npmrc", "~/.aws/credentials"] {
        assert!(world.ignored(path).unwrap().starts_with("key or credential file"), "{path}");
    }
    assert!(world.ignored("/proc/self/environ").is_some());
    assert!(world.ignored("/etc/shadow").is_some());
    let env = world.workspace.resolve("config/.env.local", PathAccess::Read);
    assert_eq!((env.ignored, env.protected), (None, None));
    assert_eq!(env.sensitive.as_deref(), Some("it may hold secrets (.env*)"));
    world.link("innocent", world.real("home/.ssh"));
    assert!(world.ignored("innocent/id_ed25519").is_some());
}

#[test]
fn z6_a_second_name_of_a_key_file_is_closed_too() {
    let world = World::new();
    world.elsewhere("home/.ssh/id_ed25519", "key");
    world.elsewhere("state/weir.db", "journal");
    world.elsewhere("out/plain", "plain");
    for (from, to) in
        [("home/.ssh/id_ed25519", "a.txt"), ("state/weir.db", "b.txt"), ("out/plain", "c.txt")]
    {
        std::fs::hard_link(world.real(from), world.real("ws").join(to)).unwrap();
    }
    let read = |path: &str| {
        let at = world.workspace.resolve(path, PathAccess::Read);
        world.workspace.read(&at, 100).and(world.workspace.open_file(&at)).map(|_| ())
    };
    for path in ["a.txt", "b.txt"] {
        assert!(read(path).unwrap_err().to_string().contains("hard link to a key file"));
    }
    assert_eq!(read("c.txt"), Ok(()));
}

#[test]
fn g6_an_ignored_name_of_a_link_stays_ignored() {
    let world = World::new();
    world.file("open.txt", "x");
    world.link("hidden", "open.txt");
    world.file(".weirignore", "hidden\n");
    assert_eq!(world.ignored("hidden").as_deref(), Some(".weirignore:1: hidden"));
    assert_eq!(world.ignored("open.txt"), None);
}

#[test]
fn g6_a_folder_is_as_closed_as_what_it_holds() {
    let world = World::new();
    world.file("a/b/c.txt", "");
    world.file("a/b/keep.lock", "");
    world.file("plain/x", "");
    world.file(".weirprotected", "*.lock\n");
    let whole = world.workspace.resolve_tree("a", PathAccess::Delete);
    assert!(whole.recursive);
    assert_eq!(
        whole.protected.as_deref(),
        Some("it holds a/b/keep.lock: .weirprotected:1: *.lock")
    );
    assert_eq!(world.workspace.resolve("a", PathAccess::Delete).protected, None);
    let plain = world.workspace.resolve_tree("plain", PathAccess::MoveFrom);
    assert_eq!((plain.ignored, plain.protected), (None, None));
    world.file("clone/.git/HEAD", "ref");
    assert!(world.workspace.resolve_tree("clone", PathAccess::Delete).ignored.is_some());
    let listed = world.workspace.resolve_tree("clone", PathAccess::List);
    assert_eq!((listed.recursive, listed.ignored), (true, None));
}

#[test]
fn g6_explain_names_list_line_and_pattern() {
    let world = World::new();
    world.file(".weirignore", "a\n*.key2\n");
    world.file(".weirprotected", "Cargo.lock\n");
    let explain = |path: &str, access| world.workspace.explain(path, access);
    assert_eq!(
        explain("x/k.key2", PathAccess::Read),
        "x/k.key2 (in the workspace): ignored, so never used: .weirignore:2: *.key2"
    );
    assert_eq!(
        explain("Cargo.lock", PathAccess::Write),
        "Cargo.lock (in the workspace): protected, so never written: .weirprotected:1: Cargo.lock"
    );
    assert_eq!(
        explain("Cargo.lock", PathAccess::Read),
        "Cargo.lock (in the workspace): may be read; protected from writes: \
         .weirprotected:1: Cargo.lock"
    );
    assert_eq!(
        explain("src/a.rs", PathAccess::Write),
        "src/a.rs (in the workspace): no list names it; rules and mode decide"
    );
    assert!(explain(".env", PathAccess::Read).contains("asks a person"));
}

#[test]
fn g6_walk_and_found_agree_with_the_lists() {
    let world = World::new();
    world.file(".weirignore", "hidden/\n*.tmp\n");
    world.file("sub/.weirignore", "!keep.tmp\n");
    for path in ["hidden/x", "a.tmp", "sub/keep.tmp", "sub/b.tmp", "k.pem", ".git/config", ".env"] {
        world.file(path, "");
    }
    let here = world.workspace.resolve(".", PathAccess::List);
    let walk = world.workspace.walk(&here, ALL).unwrap();
    let paths: Vec<&str> = walk.entries.iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, [".env", ".weirignore", "sub", "sub/.weirignore", "sub/keep.tmp"]);
    for entry in &walk.entries {
        let found = world.workspace.effect_of_entry(entry);
        let resolved = world.workspace.resolve(&entry.path, PathAccess::Read);
        assert_eq!(found.sensitive, resolved.sensitive, "{}", entry.path);
        assert_eq!(found.path, resolved.path);
        assert_eq!(found.ignored, None);
    }
    let hidden = world.workspace.resolve("hidden", PathAccess::List);
    assert!(world.workspace.walk(&hidden, ALL).is_err());
}
