//! The index as lines of a file: one for each file of the vault, the last for a path counts. So a
//! change is a line more, and a line that was cut by a crash is one that is not there. Not here:
//! writing the file.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{FileStamp, IndexedFile};
use crate::note::NoteFacts;

/// What lines mean; a file of another version is made anew.
pub const INDEX_VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct VersionLine {
    version: u32,
}

#[derive(Serialize)]
struct WrittenRecord<'a> {
    path: &'a str,
    stamp: &'a FileStamp,
    hash: &'a str,
    facts: Option<&'a NoteFacts>,
}

#[derive(Deserialize)]
struct ReadRecord {
    path: String,
    #[serde(default)]
    stamp: FileStamp,
    #[serde(default)]
    hash: String,
    #[serde(default)]
    facts: Option<Box<NoteFacts>>,
    #[serde(default)]
    gone: bool,
}

/// The first line of an index.
pub fn version_line() -> String {
    json_line(&VersionLine { version: INDEX_VERSION })
}

/// A file as a line.
pub fn record_line(file: &IndexedFile) -> String {
    let IndexedFile { path, stamp, hash, facts } = file;
    json_line(&WrittenRecord { path, stamp, hash, facts: facts.as_deref() })
}

/// That a file is gone, as a line.
pub fn removal_line(path: &str) -> String {
    json_line(&serde_json::json!({ "path": path, "gone": true }))
}

fn json_line(value: &impl Serialize) -> String {
    // A value of our own types is always JSON.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The files that an index had, and how many lines it has. Lines that cannot be read are as if they were
/// not there; `None`: it is of another version.
pub fn read_records(text: &str) -> Option<(HashMap<String, IndexedFile>, usize)> {
    let mut lines = text.lines();
    let version: VersionLine = serde_json::from_str(lines.next()?).ok()?;
    if version.version != INDEX_VERSION {
        return None;
    }
    let mut files = HashMap::new();
    let mut count = 0;
    for line in lines {
        count += 1;
        let Ok(record) = serde_json::from_str::<ReadRecord>(line) else { continue };
        if record.gone {
            files.remove(&record.path);
            continue;
        }
        let ReadRecord { path, stamp, hash, facts, .. } = record;
        files.insert(path.clone(), IndexedFile { path, stamp, hash, facts });
    }
    Some((files, count))
}
