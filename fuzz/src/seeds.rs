//! Seeds from the repository's own cases, read where they lie; nothing is copied.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Most bytes of one seed: mutations of small inputs reach further.
const SEED_BYTES_MAX: usize = 12 * 1024;
/// Deepest folder that is looked into.
const DEPTH_MAX: usize = 6;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every file below `folder` whose name ends with `ending`.
///
/// # Panics
/// There is none: a target without seeds tests little.
pub fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    gather(&root().join(folder), ending, 0, &mut paths);
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().filter_map(|path| read(path)).collect();
    assert!(!seeds.is_empty(), "{folder} has no file that ends with {ending:?}");
    seeds
}

fn gather(folder: &Path, ending: &str, depth: usize, paths: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() && depth < DEPTH_MAX {
            gather(&path, ending, depth + 1, paths);
        } else if path.is_file() && path.to_string_lossy().ends_with(ending) {
            paths.push(path);
        }
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    bytes.truncate(SEED_BYTES_MAX);
    Some(bytes)
}

/// The texts of a field of every JSON file called `name` below `folder`.
pub fn fields(folder: &str, name: &str, field: &str) -> Vec<Vec<u8>> {
    let values = files(folder, name).into_iter();
    let values = values.filter_map(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    values.filter_map(|value| Some(value.get(field)?.as_str()?.as_bytes().to_vec())).collect()
}

/// What stands in the fenced blocks called `kind` of every Markdown file below `folder`.
pub fn blocks(folder: &str, kind: &str) -> Vec<Vec<u8>> {
    let fence = format!("```{kind}\n");
    let mut found = Vec::new();
    for bytes in files(folder, ".md") {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for after in text.split(&fence).skip(1) {
            let block = after.split("\n```").next().unwrap_or(after);
            found.push(block.as_bytes().to_vec());
        }
    }
    assert!(!found.is_empty(), "{folder} has no block {kind:?}");
    found
}

/// Texts as seeds.
pub fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
