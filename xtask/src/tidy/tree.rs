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
pub(crate) struct Tree {
    pub(crate) texts: Vec<Text>,
    pub(crate) sources: Vec<Source>,
    /// Sources that are no Rust.
    pub(super) broken: Vec<Finding>,
}

/// One file.
pub(crate) struct Text {
    /// From the root of the project, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// One Rust source.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
    /// Name of its crate's folder.
    pub(crate) krate: String,
    /// In `tests/`, `benches/`, or a module that is only compiled for tests.
    pub(crate) for_tests: bool,
}

impl Source {
    /// The path inside the crate: `src/lib.rs`.
    pub(crate) fn inside(&self) -> &str {
        let crates = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        crates.split_once('/').map_or(crates, |(_, inside)| inside)
    }
}

impl Tree {
    /// Reads everything below `root`.
    ///
    /// # Errors
    /// A folder or file cannot be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Tree> {
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
        (self.sources, self.broken) = parse_below(&self.texts, &["crates/", "xtask/"]);
    }

    /// The sources of the fuzz targets, which stand outside of most laws.
    pub(crate) fn fuzz_sources(&self) -> Vec<Source> {
        parse_below(&self.texts, &["fuzz/"]).0
    }
}

/// The Rust sources in these folders, and what there is no Rust.
fn parse_below(texts: &[Text], folders: &[&str]) -> (Vec<Source>, Vec<Finding>) {
    let (mut sources, mut broken) = (Vec::new(), Vec::new());
    let mut test_modules = BTreeSet::new();
    let rust = |text: &&Text| {
        text.path.ends_with(".rs")
            && folders.iter().any(|folder| text.path.starts_with(folder))
            && !is_data(&text.path)
    };
    for Text { path, text } in texts.iter().filter(rust) {
        let syntax = match syn::parse_file(text) {
            Ok(syntax) => syntax,
            Err(error) => {
                let line = error.span().start().line;
                let what = format!("is no Rust that can be read: {error}");
                broken.push(Finding::new("parse", (path, line), what));
                continue;
            }
        };
        collect_test_modules(path, &syntax.items, &mut test_modules);
        let in_crates = path.strip_prefix("crates/").unwrap_or(path);
        sources.push(Source {
            path: path.clone(),
            text: text.clone(),
            syntax,
            krate: in_crates.split('/').next().unwrap_or_default().to_owned(),
            for_tests: false,
        });
    }
    for source in &mut sources {
        let folder = source.inside().split('/').next().unwrap_or_default();
        let module = test_modules.iter().any(|module| {
            source.path == format!("{module}.rs") || source.path.starts_with(&format!("{module}/"))
        });
        source.for_tests = module || matches!(folder, "tests" | "benches");
    }
    (sources, broken)
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
pub(crate) fn is_for_tests(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        if attr.path().is_ident("test") {
            return true;
        }
        let Ok(list) = attr.meta.require_list() else { return false };
        let condition = list.tokens.to_string();
        attr.path().is_ident("cfg") && (condition == "test" || condition.starts_with("all (test"))
    })
}

/// The attributes of an item, of whatever kind it is.
pub(crate) fn item_attrs(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        // Tokens that syn does not know have none that it could show.
        _ => &[],
    }
}

/// A tree of these sources, for tests of the rules.
#[cfg(test)]
pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.texts.push(Text { path: (*path).to_owned(), text: (*text).to_owned() });
    }
    tree.parse();
    tree
}
