//! Declared effects: equal calls declare equal effects, failing plans still declare their paths,
//! reading declares no change.

use serde_json::{Value, json};
use weir_core::governance::label::{self, Taint};
use weir_core::tool::{EffectClass, PathAccess, PathPlace};
use weir_engine::utf16::ByteOrder;

use super::world::{World, block_on, is_look, named, text};
use crate::built_in_tools;

#[test]
fn g2_equal_effects() {
    let world = World::new();
    world.write("src/a.txt", b"one\n");
    let both = |tool: &str, a: Value, b: Value| {
        let a = block_on(world.plan(tool, a));
        let b = block_on(world.plan(tool, b));
        assert_eq!(a.effects, b.effects, "{tool}");
        assert!(a.fails.is_none() && b.fails.is_none(), "{tool}: {:?}", a.fails);
    };
    let absolute = world.folder.path().join("src/a.txt").to_string_lossy().into_owned();
    both("read_file", json!({"path": "src/a.txt"}), json!({"path": "./src/../src//a.txt"}));
    both("read_file", json!({"path": "src/a.txt"}), json!({"path": absolute}));
    both(
        "edit_file",
        json!({"path": "src/a.txt", "old_text": "one", "new_text": "two"}),
        json!({"path": "src/./a.txt", "old_text": "one", "new_text": "two"}),
    );
    both(
        "write_file",
        json!({"path": "caf\u{e9}.txt", "content": "x"}),
        json!({"path": "cafe\u{301}.txt", "content": "x"}),
    );
    both("list_files", json!({}), json!({"path": "./"}));
    both("run_shell", json!({"command": "ls"}), json!({"command": "ls", "cwd": "src/.."}));
    both(
        "web_fetch",
        json!({"url": "https://EXAMPLE.org/a"}),
        json!({"url": "https://example.org:443/a"}),
    );
}

#[test]
fn g2_reads_declare_no_change() {
    let world = World::new();
    world.write("a.txt", b"one\n");
    for (tool, input) in [
        ("read_file", json!({"path": "a.txt"})),
        ("list_files", json!({"recursive": true})),
        ("glob", json!({"pattern": "*.txt"})),
        ("search_files", json!({"pattern": "one"})),
        ("list_checkpoints", json!({})),
        ("web_fetch", json!({"url": "https://example.org/"})),
        ("inspect_self", json!({})),
        ("read_shell_output", json!({"job": "j1"})),
    ] {
        let plan = block_on(world.plan(tool, input));
        assert!(is_look(&plan.effects), "{tool}");
        assert_eq!(plan.class, EffectClass::Read, "{tool}");
    }
}

#[test]
fn g2_a_plan_that_fails_still_declares_its_paths() {
    let world = World::new();
    world.write("a.txt", b"one\n");
    for (tool, input, access) in [
        ("read_file", json!({"path": "no.txt"}), PathAccess::Read),
        (
            "edit_file",
            json!({"path": "a.txt", "old_text": "x", "new_text": "y"}),
            PathAccess::Write,
        ),
        ("delete_file", json!({"path": "no.txt"}), PathAccess::Delete),
        ("move_file", json!({"from": "no.txt", "to": "b.txt"}), PathAccess::MoveFrom),
        (
            "apply_patch",
            json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n"}),
            PathAccess::Write,
        ),
    ] {
        let plan = block_on(world.plan(tool, input));
        assert!(plan.fails.is_some(), "{tool}");
        assert!(plan.effects.paths.iter().any(|at| at.access == access), "{tool}");
        assert!(plan.effects.changes.is_empty() && plan.contents.is_empty(), "{tool}");
    }
}

/// Words that stand in the file and in no call: a failure that shows them has read it.
const QUOTED: &str = "meet at the harbour";

#[test]
fn z1_a_plan_that_fails_and_quotes_a_file_is_a_reading_of_it() {
    let world = World::new();
    let text = format!("name = one\nplan = {QUOTED}\nlast = two\n");
    world.write("notes.txt", text.as_bytes());
    world.cx.workspace.mark(&["notes.txt".to_owned()], "evil.example");
    let hunk = "@@ -1,3 +1,3 @@\n name = one\n-plan = meet at the\n+plan = none\n last = two\n";
    let changes = format!("--- a/notes.txt\n+++ b/notes.txt\n{hunk}");
    let moves = format!("--- a/notes.txt\n+++ b/other.txt\n{hunk}");
    let gone = "@@ -1,3 +0,0 @@\n-name = one\n-plan = meet at the\n-last = two\n";
    let deletes = format!("--- a/notes.txt\n+++ /dev/null\n{gone}");
    let miss = json!({"path": "notes.txt", "old_text": "plan = meet at the", "new_text": ""});
    let near = json!({
        "path": "notes.txt",
        "old_text": "name = one\nplan = meet at harbour\nlast = two",
        "new_text": "",
    });
    for (tool, input, quotes) in [
        // What occurs is no miss, and is not shown.
        ("edit_file", miss, false),
        ("edit_file", near, true),
        ("apply_patch", json!({ "patch": changes }), true),
        ("apply_patch", json!({ "patch": moves }), true),
        ("apply_patch", json!({ "patch": deletes }), true),
    ] {
        let plan = block_on(world.plan(tool, input.clone()));
        let shown = plan.fails.unwrap_or_default();
        assert_eq!(shown.contains(QUOTED), quotes, "{tool} {input}: {shown}");
        if quotes {
            assert_eq!(label::of_failed_plan(&plan.effects).taint(), Taint::Both, "{tool} {input}");
        }
    }
}

#[test]
fn g6_a_private_key_under_any_name_asks_before_it_is_read() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    for (path, text, asks) in [("notes.txt", key.as_str(), true), ("plain.txt", "one\n", false)] {
        world.write(path, text.as_bytes());
        for (tool, input) in [
            ("read_file", json!({ "path": path })),
            ("search_files", json!({ "path": path, "pattern": "one" })),
        ] {
            let plan = block_on(world.plan(tool, input));
            assert_eq!(plan.effects.paths[0].sensitive.is_some(), asks, "{tool} {path}");
        }
    }
}

#[test]
fn g6_a_command_that_names_a_private_key_asks_as_reading_it_does() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    world.write("deploy.txt", key.as_bytes());
    world.write("plain.txt", b"one\n");
    for (tool, input, asks) in [
        ("run_shell", json!({"command": "sed -n 2p deploy.txt"}), true),
        ("run_shell", json!({"command": "base64 -d deploy.txt", "background": true}), true),
        ("run_shell", json!({"command": "make", "reads": ["deploy.txt"]}), true),
        ("run_shell", json!({"command": "cat plain.txt", "reads": ["plain.txt"]}), false),
        ("run_shell", json!({"command": "cat deploy.txt.orig"}), false),
        ("run_shell", json!({"command": "ls -l deploy.txt && git add deploy.txt"}), false),
        ("write_shell_input", json!({"job": "j1", "text": "ls -l deploy.txt\n"}), true),
        ("write_shell_input", json!({"job": "j1", "text": "cut -c2- deploy.txt\n"}), true),
        ("write_shell_input", json!({"job": "j1", "text": "cat plain.txt\n"}), false),
    ] {
        let plan = block_on(world.plan(tool, input.clone()));
        let asked: Vec<&str> = plan
            .effects
            .paths
            .iter()
            .filter(|at| at.sensitive.is_some())
            .map(|at| at.path.as_str())
            .collect();
        assert_eq!(asked, if asks { vec!["deploy.txt"] } else { Vec::new() }, "{tool} {input}");
    }
}

/// What is searched with a folder shows no line of a key, and tells nothing by what it leaves out.
#[test]
fn g6_a_search_shows_no_line_of_a_private_key_and_none_can_be_guessed() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    world.write("notes.txt", format!("one\n{key}last\n").as_bytes());
    world.write("plain.txt", b"one\nlast\n");
    let search = |pattern: &str| {
        let input = json!({ "pattern": pattern, "context": 2 });
        text(&block_on(world.call("search_files", input)))
    };
    let shown = search("MII|one|last");
    assert!(!shown.contains("MII") && shown.contains("plain.txt\n1:one"), "{shown}");
    assert!(shown.contains("notes.txt\n1:one\n5:last"), "{shown}");
    assert!(search("BEGIN PRIVATE").contains("notes.txt\n2:"), "who looks for keys finds them");
    assert_eq!(search("^MIIE"), search("^MIIF"), "a line that is right and one that is not");
    assert_eq!(search("^(MIIE|one)"), search("^(MIIF|one)"));
}

/// What is decoded for a search is decoded for whoever looks for keys.
#[test]
fn g4_what_is_shown_of_a_new_text_is_what_is_written_in_the_form_of_the_old_one() {
    let world = World::new();
    world.write("w.txt", b"\xef\xbb\xbfone\r\ntwo\r\n");
    let input = json!({"path": "w.txt", "content": "one\nthree\n"});
    let plan = block_on(world.plan("write_file", input.clone()));
    let written = b"\xef\xbb\xbfone\r\nthree\r\n";
    assert_eq!(&plan.contents["w.txt"][..], written);
    let lines = "Stored as UTF-8 with BOM, CRLF\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+three\r\n";
    assert_eq!(plan.diff, Some(format!("--- a/w.txt\n+++ b/w.txt\n{lines}")));
    block_on(world.call("write_file", input.clone()));
    assert_eq!(world.read("w.txt").as_deref(), Some(&written[..]));
    // Once more, it is read alone; and whoever wants the bytes as they stand deletes the file first.
    let plan = block_on(world.plan("write_file", input.clone()));
    assert!(is_look(&plan.effects) && plan.contents.is_empty(), "{:?}", plan.effects);
    block_on(world.call("delete_file", json!({"path": "w.txt"})));
    block_on(world.call("write_file", input));
    assert_eq!(world.read("w.txt").as_deref(), Some(&b"one\nthree\n"[..]));
}

#[test]
fn g6_a_private_key_in_utf_16_is_shown_by_no_search_and_asks_before_it_is_read() {
    let world = World::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    let key = format!("-----BEGIN PRIVATE KEY-----\r\n{body}\r\n-----END PRIVATE KEY-----\r\n");
    for (path, order) in [("be.txt", ByteOrder::Big), ("le.txt", ByteOrder::Little)] {
        world.write(path, &order.encode(&format!("one\r\n{key}last\r\n")));
        let plan = block_on(world.plan("read_file", json!({ "path": path })));
        assert!(plan.effects.paths[0].sensitive.is_some(), "{path}");
    }
    let shown = text(&block_on(world.call("search_files", json!({"pattern": "MII|one|last"}))));
    assert!(!shown.contains("MII"), "{shown}");
    assert!(shown.contains("be.txt\n1:one\n5:last\n\nle.txt\n1:one\n5:last"), "{shown}");
}

#[test]
fn g2_paths_outside_are_declared_as_such() {
    let world = World::new();
    for (tool, input) in [
        ("read_file", json!({"path": "../outside.txt"})),
        ("write_file", json!({"path": "../outside.txt", "content": "x"})),
        ("run_shell", json!({"command": "ls", "cwd": ".."})),
        ("list_files", json!({"path": "/"})),
    ] {
        let plan = block_on(world.plan(tool, input));
        assert!(plan.effects.paths.iter().all(|at| at.place != PathPlace::Inside), "{tool}");
        assert!(!plan.effects.paths.is_empty(), "{tool}");
    }
}

#[test]
fn g7_changes_hold_images_and_new_contents() {
    let world = World::new();
    world.write("a/b.txt", b"one\n");
    let input = json!({"path": "a/b.txt", "old_text": "one", "new_text": "two"});
    let plan = block_on(world.plan("edit_file", input));
    assert_eq!(plan.class, EffectClass::File);
    assert_eq!(plan.effects.changes.len(), 1);
    assert_eq!(plan.contents.get("a/b.txt").map(AsRef::as_ref), Some(&b"two\n"[..]));
    let diff = plan.diff.expect("a diff");
    assert_eq!(diff, "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1 +1 @@\n-one\n+two\n");
    assert_eq!(world.read("a/b.txt").as_deref(), Some(&b"one\n"[..]), "planning changes nothing");
}

#[test]
fn g4_what_a_file_has_already_is_read_and_not_written() {
    let world = World::new();
    world.write("a.txt", b"one\n");
    let same = json!({"path": "./a.txt", "content": "one\n"});
    let plan = block_on(world.plan("write_file", same));
    assert_eq!((plan.class, plan.fails), (EffectClass::Read, None));
    let paths: Vec<(&str, PathAccess)> =
        plan.effects.paths.iter().map(|at| (at.path.as_str(), at.access)).collect();
    assert_eq!(paths, [("a.txt", PathAccess::Read)]);
    assert!(plan.effects.changes.is_empty() && plan.contents.is_empty());
    let other = json!({"path": "a.txt", "content": "one"});
    let plan = block_on(world.plan("write_file", other));
    assert_eq!((plan.class, plan.effects.paths[0].access), (EffectClass::File, PathAccess::Write));
}

#[test]
fn g7_deleting_a_folder_declares_every_path() {
    let world = World::new();
    world.write("d/x.txt", b"x");
    world.write("d/e/y.txt", b"y");
    let plan = block_on(world.plan("delete_file", json!({"path": "d", "recursive": true})));
    let mut paths: Vec<&str> = plan.effects.changes.iter().map(|c| c.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["d", "d/e", "d/e/y.txt", "d/x.txt"]);
    let top = plan.effects.paths.iter().find(|at| at.path == "d").expect("the folder");
    assert!(top.recursive && top.access == PathAccess::Delete);
}

#[test]
fn l6_searches_name_their_words() {
    let world = World::new();
    let plan = block_on(world.plan("search_files", json!({"pattern": "foo bar"})));
    assert_eq!(plan.effects.searches, ["foo bar"]);
}

#[test]
fn t6_arguments_that_no_struct_has_are_named() {
    let world = World::new();
    for tool in built_in_tools() {
        let plan = block_on(named(&tool.spec().name).plan_call(&json!({"no_such": 1}), &world.cx));
        let message = plan.fails.unwrap_or_default();
        assert!(message.contains("no_such") || message.contains("missing field"), "{message}");
    }
}
