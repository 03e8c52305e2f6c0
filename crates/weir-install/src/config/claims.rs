//! What README and documents say of settings is held against the program: each block of settings is
//! one that it takes. Not here: what the settings do.

use std::path::{Path, PathBuf};

use super::file::ConfigLayer;
use super::{SettingOrigin, WorkspaceConfig};

/// The documents: README and the pages of docs, without generated ones.
fn documents() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages =
        vec![top.join("README.md"), top.join("CONTRIBUTING.md"), top.join("CHANGELOG.md")];
    let docs = std::fs::read_dir(top.join("docs")).expect("docs").flatten();
    let is_page = |path: &PathBuf| path.extension().is_some_and(|e| e == "md");
    pages.extend(docs.map(|entry| entry.path()).filter(is_page));
    pages.sort();
    pages
}

/// Blocks of TOML with the number of the line before each.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut in_block = false;
    for (at, line) in text.lines().enumerate() {
        match (in_block, line.trim()) {
            (false, "```toml") => {
                in_block = true;
                found.push((at + 1, String::new()));
            }
            (true, "```") => in_block = false,
            (true, _) => {
                let (_, block) = found.last_mut().expect("a block is open");
                block.push_str(line);
                block.push('\n');
            }
            (false, _) => {}
        }
    }
    found
}

/// A file of another kind begins with keys of its own (a recipe, a plugin, a profile) or is Cargo's; settings
/// begin with a section.
fn is_settings(block: &str) -> bool {
    let lines = block.lines().map(str::trim);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line.starts_with('[') && line != "[dependencies]")
}

/// What is wrong with a block; `None`: nothing.
fn wrong(block: &str) -> Option<String> {
    let layer = match ConfigLayer::parse(Path::new("a block"), block, SettingOrigin::User) {
        Ok(layer) => layer,
        Err(why) => return Some(why.clone()),
    };
    WorkspaceConfig::of_layer(layer).err().map(|why| format!("{why:#}"))
}

#[test]
fn c8_every_block_of_settings_in_a_document_is_one_that_the_program_takes() {
    let mut checked = 0;
    let mut found = Vec::new();
    for page in documents() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let name = page.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (line, block) in blocks(&text).iter().filter(|(_, block)| is_settings(block)) {
            checked += 1;
            found.extend(wrong(block).map(|why| format!("{name}:{line}: {why}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    assert!(checked > 12, "only {checked} blocks were found");
}

#[test]
fn c8_a_setting_that_does_not_exist_is_found() {
    assert!(is_settings("# A comment.\n[web]\n") && !is_settings("id = \"x\"\n[[steps]]\n"));
    assert_eq!(wrong("[memory]\naccept = false\n"), None);
    assert!(wrong("[memory]\naccepts = false\n").is_some());
    assert!(wrong("[memory]\naccept = \"maybe\"\n").is_some());
}
