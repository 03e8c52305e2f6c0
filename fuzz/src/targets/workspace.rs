//! What the workspace reads: ignore lists, paths as models write them; and final answers against a
//! schema.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use weir_core::tool::{PathAccess, PathEffect, PathPlace};
use weir_engine::workspace::{Workspace, WorkspaceOptions};

use crate::input::{join, parts, text};
use crate::seeds;

pub(super) const IGNORE_WORDS: &[&str] = &[
    "\x1e",
    "*",
    "**",
    "**/",
    "/**",
    "/",
    "!",
    "#",
    "\\",
    "[a-z]",
    "[!",
    "[^",
    "]",
    "{a,b}",
    "{",
    "}",
    "?",
    "\n",
    "\r\n",
    " ",
    "\\ ",
    "src",
    ".env",
    "a",
    "a/b",
    "b",
    ".weirignore",
    "node_modules/",
    "e\u{301}",
    "\u{e9}",
    "[[:alpha:]]",
    "-",
    ",",
];

pub(super) const PATH_WORDS: &[&str] = &[
    "/",
    "..",
    "../",
    ".",
    "./",
    "//",
    "~",
    "~/",
    "src",
    "up",
    "round",
    "in",
    "file.txt",
    "deep/er",
    ".git",
    ".GIT",
    ".weir/config.toml",
    ".env",
    ".weirignore",
    "/etc/passwd",
    "/proc/self/root",
    "e\u{301}",
    "\u{e9}",
    "\u{fb01}",
    "COM1",
    "a:b",
    "\\",
    "%2e%2e/",
    "\u{2024}\u{2024}/",
];

// ------------------------------------------------------------ a world

/// A workspace with links in it, and something outside.
struct World {
    folder: TempDir,
}

thread_local! {
    static WORLD: World = World::new();
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let world = World { folder };
        let root = world.root();
        for place in ["src", "deep/er", "a/b"] {
            fs::create_dir_all(root.join(place)).expect("a folder");
        }
        fs::create_dir(world.folder.path().join("out")).expect("a folder");
        for (place, link) in [("../out", "up"), ("src", "in"), ("round", "round"), ("/", "top")] {
            symlink(place, root.join(link)).expect("a link");
        }
        for file in ["src/main.rs", "file.txt", ".env", "e\u{301}.md", "deep/er/x", "../out/secret"]
        {
            fs::write(root.join(file), file).expect("a file");
        }
        world
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// Opened anew: nothing is remembered of another input.
    fn workspace(&self) -> Workspace {
        let root = self.root();
        let options =
            WorkspaceOptions { root, extra_roots: Vec::new(), own_folders: vec!["/own".into()] };
        Workspace::open(options).expect("a workspace").with_home(self.folder.path().join("out"))
    }
}

// ------------------------------------------------------------ lists

/// What a list says of a folder it says of everything below; a list that cannot be read closes; a
/// path has one verdict, however it is written.
pub(super) fn ignore_list(data: &[u8]) {
    let [list, path] = parts::<2>(data);
    let path = text(path);
    WORLD.with(|world| {
        fs::write(world.root().join(".weirignore"), list).expect("the list is written");
        let workspace = world.workspace();
        let at = |path: &str| workspace.resolve(path, PathAccess::Read);
        for path in [path.as_str(), "src", "a/b", "file.txt", "new"] {
            let verdict = at(path);
            let is_plain = !path.is_empty() && !path.contains(['\0']) && path.len() < 200;
            if verdict.place != PathPlace::Inside || !is_plain {
                continue;
            }
            let again = at(&format!("./{path}"));
            assert_eq!(again.ignored, verdict.ignored, "{path:?} with ./ before it");
            if verdict.ignored.is_some() && verdict.path != "." {
                let below = at(&format!("{}/below", verdict.path));
                assert!(below.ignored.is_some(), "{path:?} is invisible, what is below is not");
            }
        }
        for folder in ["src", "a/b", "deep"] {
            let with_slash = at(&format!("{folder}/"));
            assert_eq!(with_slash.ignored, at(folder).ignored, "{folder} with / at its end");
        }
        fs::remove_file(world.root().join(".weirignore")).expect("the list was there");
    });
}

pub(super) fn ignore_seeds() -> Vec<Vec<u8>> {
    let lists = seeds::files("crates/weir-tools/tests/cases", ".weirignore");
    let mut seeds: Vec<Vec<u8>> = lists.iter().map(|list| join(&[list, b"src/main.rs"])).collect();
    seeds.extend([
        join(&[b"*.log\n!keep.log\n/target/\n**/secret*\n", b"a/b/secret.txt"]),
        join(&[b"# comment\n\\#file\nsrc/**/[a-m]*.rs\n*\n!src/\n", b"src/main.rs"]),
        join(&["\u{feff}caf\u{e9}\ne\u{301}.md\ntrailing\\ \n".as_bytes(), "\u{e9}.md".as_bytes()]),
    ]);
    seeds
}

// ------------------------------------------------------------ paths

/// The form of a path is its own form; it is inside only when the disk says so too; nothing in it
/// climbs.
pub(super) fn path(data: &[u8]) {
    let text = text(data);
    WORLD.with(|world| {
        let workspace = world.workspace();
        let root = fs::canonicalize(world.root()).expect("the root is there");
        for access in [PathAccess::Read, PathAccess::Create, PathAccess::Delete] {
            let found = workspace.resolve(&text, access);
            assert!(!found.path.is_empty() && !found.path.contains('\0'), "{:?}", found.path);
            if access == PathAccess::Create && found.ignored.is_some() {
                assert!(found.protected.is_some(), "invisible and yet writable: {:?}", found.path);
            }
            if found.ignored.is_none() {
                one_form(&workspace, &found);
                on_disk(&root, &found);
            }
        }
    });
}

fn one_form(workspace: &Workspace, found: &PathEffect) {
    let again = workspace.resolve(&found.path, found.access);
    assert_eq!(again.path, found.path, "its form has another form");
    assert!(!found.path.split('/').any(|part| part == ".."), "{:?} climbs", found.path);
    let inside = found.place == PathPlace::Inside;
    assert_eq!(inside, again.place == PathPlace::Inside, "{:?} is elsewhere", found.path);
    assert_eq!(inside, !found.path.starts_with('/'), "{:?} is {:?}", found.path, found.place);
}

fn on_disk(root: &Path, found: &PathEffect) {
    if found.place != PathPlace::Inside || found.access != PathAccess::Read {
        return;
    }
    if let Ok(real) = fs::canonicalize(root.join(&found.path)) {
        assert!(real.starts_with(root), "{:?} is {}", found.path, real.display());
    }
}

pub(super) fn path_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        "src/main.rs",
        "./src/../file.txt",
        "up/secret",
        "in/main.rs",
        "~/x",
        "/etc/passwd",
        "top/etc",
        "../out/secret",
        "deep//er/./x",
        ".git/config",
        "\u{e9}.md",
        "new/folder/file",
        "round/x",
        ".",
    ])
}

// ------------------------------------------------------------ answers

/// An answer that fits a schema still fits when it is written out again; a misfit is told in words.
pub(super) fn answer(data: &[u8]) {
    let [schema, said] = parts::<2>(data);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else { return };
    match weir_engine::output::verify_output(&text(said), &schema) {
        Ok(value) => {
            let again = weir_engine::output::verify_output(&value.to_string(), &schema);
            assert_eq!(again, Ok(value), "written out again");
        }
        Err(why) => assert!(why.ends_with('.'), "{why:?}"),
    }
}

pub(super) fn answer_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = seeds::files("examples", ".schema.json")
        .iter()
        .map(|schema| join(&[schema, b"```json\n{\"answer\": \"x\", \"n\": 1}\n```"]))
        .collect();
    seeds.push(join(&[
        b"{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}",
        b"{\"n\": 1}",
    ]));
    seeds.push(join(&[
        b"{\"$defs\":{\"t\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/t\"}}},\"$ref\":\"#/$defs/t\"}",
        b"[[],[[]]]",
    ]));
    seeds
}
