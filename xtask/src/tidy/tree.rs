//! The project's texts, read once, and which of them are only for tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use syn::{Attribute, Item, ItemMod};

use super::Finding;

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &["target", "node_modules", "__pycache__"];
/// Hidden folders that do.
const HIDDEN: &[&str] = &[".ci", ".cargo", ".github"];
/// Ends of names of the texts that are read.
const TEXTS: &[&str] = &[
    "rs", "md", "toml", "sh", "py", "sql", "json", "jsonl", "sse", "script", "yml", "yaml", "txt",
];
/// A larger text is data, not something that people wrote.
const TEXT_BYTES_MAX: u64 = 2_000_000;

/// All texts.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) texts: Vec<Text>,
    pub(super) sources: Vec<Source>,
    /// Sources that are no Rust.
    pub(super) broken: Vec<Finding>,
}

/// One file.
pub(super) struct Text {
    /// From the root of the project, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

/// One Rust source.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) syntax: syn::File,
    /// Name of its crate's folder.
    pub(super) krate: String,
    /// In `tests/`, `benches/`, or a module that is only compiled for tests.
    pub(super) for_tests: bool,
}

impl Source {
    /// The path inside the crate: `src/lib.rs`.
    pub(super) fn inside(&self) -> &str {
        let crates = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        crates.split_once('/').map_or(crates, |(_, inside)| inside)
    }
}

impl Tree {
    /// Reads everything below `root`.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub(super) fn read(root: &Path) -> anyhow::Result<Tree> {
        let mut tree = Tree::default();
        tree.gather(root, "")?;
        tree.texts.sort_by(|a, b| a.path.cmp(&b.path));
        tree.parse();
        Ok(tree)
    }

    fn gather(&mut self, root: &Path, folder: &str) -> anyhow::Result<()> {
        let place = root.join(folder);
        let entries = fs::read_dir(&place).with_context(|| place.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type()?;
            let hidden = name.starts_with('.') && !HIDDEN.contains(&name.as_str());
            if kind.is_dir() && !hidden && !SKIPPED.contains(&name.as_str()) {
                self.gather(root, &path)?;
            }
            let end = name.rsplit_once('.').map_or("", |(_, end)| end);
            let wanted = TEXTS.contains(&end) || folder == ".ci";
            let small = entry.metadata().is_ok_and(|metadata| metadata.len() <= TEXT_BYTES_MAX);
            if kind.is_file() && wanted && small {
                let bytes = fs::read(entry.path()).with_context(|| path.clone())?;
                // What is no text is a test's input.
                if let Ok(text) = String::from_utf8(bytes) {
                    self.texts.push(Text { path, text });
                }
            }
        }
        Ok(())
    }

    fn parse(&mut self) {
        let mut test_modules = BTreeSet::new();
        let rust = |text: &&Text| {
            text.path.ends_with(".rs")
                && (text.path.starts_with("crates/") || text.path.starts_with("xtask/"))
                && !is_data(&text.path)
        };
        for Text { path, text } in self.texts.iter().filter(rust) {
            let syntax = match syn::parse_file(text) {
                Ok(syntax) => syntax,
                Err(error) => {
                    let line = error.span().start().line;
                    let what = format!("is no Rust that can be read: {error}");
                    self.broken.push(Finding::new("parse", (path, line), what));
                    continue;
                }
            };
            collect_test_modules(path, &syntax.items, &mut test_modules);
            let krate = match path.strip_prefix("crates/") {
                Some(rest) => rest.split('/').next().unwrap_or_default(),
                None => "xtask",
            };
            self.sources.push(Source {
                path: path.clone(),
                text: text.clone(),
                syntax,
                krate: krate.to_owned(),
                for_tests: false,
            });
        }
        for source in &mut self.sources {
            let folder = source.inside().split('/').next().unwrap_or_default();
            let module = test_modules.iter().any(|module| {
                source.path == format!("{module}.rs")
                    || source.path.starts_with(&format!("{module}/"))
            });
            source.for_tests = module || matches!(folder, "tests" | "benches");
        }
    }
}

/// What a test reads or changes is data, even where it looks like a source.
fn is_data(path: &str) -> bool {
    let Some((_, inside)) = path.split_once("/tests/") else { return false };
    inside.contains('/') && !inside.starts_with("it/")
}

/// Paths, without `.rs`, of the modules that `path` declares for tests alone.
fn collect_test_modules(path: &str, items: &[Item], out: &mut BTreeSet<String>) {
    let base = path.strip_suffix(".rs").unwrap_or(path);
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_root = ["/lib", "/main", "/mod"].iter().any(|end| base.ends_with(end));
    let below = if is_root { folder } else { base };
    for item in items {
        let Item::Mod(ItemMod { attrs, ident, content: None, .. }) = item else { continue };
        if is_for_tests(attrs) {
            out.insert(format!("{below}/{ident}"));
        }
    }
}

/// Whether an item exists only in tests.
pub(super) fn is_for_tests(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        if attr.path().is_ident("test") {
            return true;
        }
        let Ok(list) = attr.meta.require_list() else { return false };
        let condition = list.tokens.to_string();
        attr.path().is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
    })
}

/// A tree of these sources, for tests of the rules.
#[cfg(test)]
pub(super) fn of(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.texts.push(Text { path: (*path).to_owned(), text: (*text).to_owned() });
    }
    tree.parse();
    tree
}
