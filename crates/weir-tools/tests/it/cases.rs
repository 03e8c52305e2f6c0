//! Golden cases: a folder before, a call, the folder after, what the model is told.
//!
//! A case is `tests/cases/<tool>/<case>/` with `before/`, `call.json`, `after/` (left out when
//! nothing changes) and `result.txt`. `UPDATE=1` writes the last two anew. A file called `x.bytes`
//! in `before` or `after` holds JSON: a list of texts and `{"hex": …}`, `{"repeat": [text, n]}`
//! parts that are joined to make the file `x`. The entries in `brain.json` stand in the person's brain
//! before; what stands there afterwards is written below the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use weir_core::brain::{BrainEntry, entry_markdown};

use super::brain::{BrainKnowledge, FakeBrain};
use super::world::{World, block_on, text};

/// Files by path; `None`: a folder.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

#[test]
fn t1_golden_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut failures = Vec::new();
    let mut count = 0;
    for tool in folders(&root) {
        for case in folders(&tool) {
            count += 1;
            if let Err(difference) = check(&tool, &case) {
                failures.push(format!("{}:\n{difference}", case.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}\n(UPDATE=1 accepts)", failures.join("\n\n"));
    assert!(count >= 44, "only {count} cases were found");
}

#[test]
fn t1_every_file_tool_has_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    for tool in [
        "read_file",
        "list_files",
        "glob",
        "search_files",
        "write_file",
        "edit_file",
        "apply_patch",
        "append_to_file",
        "create_folder",
        "move_file",
        "delete_file",
        "get_frontmatter",
        "update_frontmatter",
        "search_by_tag",
        "get_linked_notes",
        "get_daily_note",
        "rename_heading",
        "read_document",
        "create_docx",
        "plan_presentation",
        "create_pptx",
        "create_xlsx",
        "extract_zip",
        "ingest_document",
        "ingest_deep",
        "ingest_triage",
    ] {
        let count = folders(&root.join(tool)).len();
        assert!(count >= 4, "{tool} has {count} cases");
    }
}

fn check(tool: &Path, case: &Path) -> Result<(), String> {
    let call = std::fs::read_to_string(case.join("call.json")).map_err(|e| e.to_string())?;
    let call: Value = serde_json::from_str(&call).map_err(|e| e.to_string())?;
    let mut world = World::new();
    let brain = case_brain(case)?;
    if let Some(brain) = &brain {
        world.cx.knows = Arc::new(BrainKnowledge(brain.clone()));
    }
    // `vault` in the place of a folder: that of the crate of notes.
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../weir-notes/tests/vault");
    let own = case.join("before");
    let before = case_tree(if own.exists() { &own } else { &shared });
    for (path, content) in &before {
        match content {
            Some(bytes) => world.write(path, bytes),
            None => std::fs::create_dir_all(world.folder.path().join(path)).expect("a folder"),
        }
    }
    let tool = tool.file_name().expect("a name").to_string_lossy().into_owned();
    let raw = block_on(world.call(&tool, call));
    let mut result = format!("{}\n{}\n", if raw.ok { "ok" } else { "error" }, text(&raw));
    for entry in brain.iter().flat_map(|brain| brain.all()) {
        result.push_str("\nin the brain:\n");
        result.push_str(&entry_markdown(&entry));
    }
    let after = disk_tree(world.folder.path());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(case.join("result.txt"), &result).map_err(|e| e.to_string())?;
        return write_after(case, &before, &after);
    }
    let expected = std::fs::read_to_string(case.join("result.txt")).map_err(|e| e.to_string())?;
    if result != expected {
        return Err(format!("result is\n{result}\nexpected\n{expected}"));
    }
    let kept = case.join("after");
    let expected = if kept.exists() { case_tree(&kept) } else { before };
    match differences(&expected, &after).as_slice() {
        [] => Ok(()),
        paths => Err(format!("the folder differs at {paths:?}")),
    }
}

/// The brain of a case, where it has one.
fn case_brain(case: &Path) -> Result<Option<Arc<FakeBrain>>, String> {
    let Ok(text) = std::fs::read_to_string(case.join("brain.json")) else { return Ok(None) };
    let entries: Vec<BrainEntry> = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok(Some(FakeBrain::holding(entries)))
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root)
        .map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
        .unwrap_or_default();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

fn disk_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy();
            if path.is_dir() {
                tree.insert(name.into_owned(), None);
                waiting.push(path);
            } else {
                tree.insert(name.into_owned(), std::fs::read(&path).ok());
            }
        }
    }
    tree
}

/// A folder of a case: `x.bytes` becomes `x`; `.keep` files only hold empty folders.
fn case_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    for (path, content) in disk_tree(root) {
        if path.ends_with(".keep") {
            continue;
        }
        match (path.strip_suffix(".bytes"), content) {
            (Some(name), Some(parts)) => tree.insert(name.to_owned(), Some(joined(&parts))),
            (_, content) => tree.insert(path, content),
        };
    }
    tree
}

fn joined(parts: &[u8]) -> Vec<u8> {
    let parts: Vec<Value> = serde_json::from_slice(parts).expect("a list of parts");
    let mut bytes = Vec::new();
    for part in parts {
        if let Some(text) = part.as_str() {
            bytes.extend_from_slice(text.as_bytes());
        } else if let Some(hex) = part["hex"].as_str() {
            let digits = hex.as_bytes().chunks(2);
            bytes.extend(digits.map(|pair| {
                let pair = std::str::from_utf8(pair).expect("two digits");
                u8::from_str_radix(pair, 16).expect("two digits")
            }));
        } else {
            let count = part["repeat"][1].as_u64().expect("how often");
            let text = part["repeat"][0].as_str().expect("a text").as_bytes();
            (0..count).for_each(|_| bytes.extend_from_slice(text));
        }
    }
    bytes
}

fn differences(expected: &Tree, found: &Tree) -> Vec<String> {
    let all = expected.keys().chain(found.keys());
    let mut paths: Vec<String> =
        all.filter(|path| expected.get(*path) != found.get(*path)).cloned().collect();
    paths.sort();
    paths.dedup();
    paths
}

fn write_after(case: &Path, before: &Tree, after: &Tree) -> Result<(), String> {
    let folder = case.join("after");
    let _ = std::fs::remove_dir_all(&folder);
    if differences(before, after).is_empty() {
        return Ok(());
    }
    for (path, content) in after {
        let target = folder.join(path);
        let parent = target.parent().expect("a parent").to_path_buf();
        std::fs::create_dir_all(parent).map_err(|e| e.to_string())?;
        match content {
            None => {
                std::fs::create_dir_all(&target).map_err(|e| e.to_string())?;
                let is_empty = !after.keys().any(|other| other.starts_with(&format!("{path}/")));
                if is_empty {
                    std::fs::write(target.join(".keep"), b"").map_err(|e| e.to_string())?;
                }
            }
            Some(bytes) => write_case_file(&target, bytes)?,
        }
    }
    Ok(())
}

/// Text as it is; what an editor or git could change (CRLF, broken UTF-8, NUL), and lists that git
/// itself would obey, as parts.
fn write_case_file(target: &Path, bytes: &[u8]) -> Result<(), String> {
    let plain = std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(['\r', '\0']));
    if plain && !target.ends_with(".gitignore") {
        return std::fs::write(target, bytes).map_err(|e| e.to_string());
    }
    let parts = match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::json!([text]),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            serde_json::json!([{ "hex": hex }])
        }
    };
    let mut name = target.as_os_str().to_owned();
    name.push(".bytes");
    std::fs::write(PathBuf::from(name), parts.to_string() + "\n").map_err(|e| e.to_string())
}
