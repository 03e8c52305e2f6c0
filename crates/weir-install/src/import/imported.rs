//! Imported sessions of other agents: listed, read and searched. They are foreign material beside
//! the journals: nobody resumes, forks or replays one, and no model is told of them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use weir_core::sorting::sort_stably;

use super::{HistoryLine, ImportedHistoryHead};
use crate::context::InstallationContext;
use crate::failure::usage;

/// Bytes of a first line, and of a whole file.
const HEAD_BYTES_MAX: u64 = 64 * 1024;
const FILE_BYTES_MAX: u64 = 256 << 20;
/// Sessions that are looked at, and characters around what was found.
const LISTED_MAX: usize = 10_000;
const AROUND_CHARS: usize = 60;

/// Where they are kept.
pub(super) fn imported_folder(state: &Path) -> PathBuf {
    state.join("imported")
}

/// All of them, the newest first.
pub fn list_imported_histories(cx: &InstallationContext) -> Vec<ImportedHistoryHead> {
    let mut heads: Vec<_> = all_files(cx).iter().filter_map(|path| read_head(path)).collect();
    sort_stably(&mut heads, |a, b| b.started.cmp(&a.started).then_with(|| a.id.cmp(&b.id)));
    heads
}

/// The one whose id begins so, and what was said in it. Two agents may have the same id: then it
/// is named as `AGENT/ID`.
///
/// # Errors
/// There is none, or there are several.
pub fn find_imported_history(
    cx: &InstallationContext,
    id: &str,
) -> anyhow::Result<(ImportedHistoryHead, Vec<HistoryLine>)> {
    let files = all_files(cx).into_iter();
    let mut fitting: Vec<(ImportedHistoryHead, PathBuf)> = files
        .filter_map(|path| Some((read_head(&path)?, path)))
        .filter(|(head, _)| head.id.starts_with(id) || full_id(head).starts_with(id))
        .collect();
    let is_exact = |head: &ImportedHistoryHead| head.id == id || full_id(head) == id;
    if fitting.iter().any(|(head, _)| is_exact(head)) {
        fitting.retain(|(head, _)| is_exact(head));
    }
    match fitting.as_slice() {
        [(head, path)] => Ok((head.clone(), read_lines(path))),
        [] => Err(usage(format!(
            "there is no imported session {id:?}; `weir sessions list --imported` lists them"
        ))),
        several => {
            let ids: Vec<String> = several.iter().take(5).map(|(head, _)| full_id(head)).collect();
            Err(usage(format!("{id:?} begins several imported sessions: {}", ids.join(", "))))
        }
    }
}

fn full_id(head: &ImportedHistoryHead) -> String {
    format!("{}/{}", head.agent, head.id)
}

/// Places that contain all of these words: the session, and the words with what stands around them.
pub fn search_imported_histories(
    cx: &InstallationContext,
    words: &[String],
    limit: usize,
) -> Vec<(ImportedHistoryHead, String)> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut hits = Vec::new();
    for path in all_files(cx) {
        let Some(head) = read_head(&path) else { continue };
        for line in read_lines(&path) {
            let text = line.text.to_lowercase();
            if !words.iter().all(|word| text.contains(word.as_str())) {
                continue;
            }
            let first = words.first().map_or("", String::as_str);
            hits.push((head.clone(), text_around(&line.text, first)));
            if hits.len() >= limit {
                return hits;
            }
        }
    }
    hits
}

/// What stands around a word.
fn text_around(text: &str, word: &str) -> String {
    let signs: Vec<char> = text.chars().collect();
    let lower: Vec<char> = signs.iter().flat_map(|sign| sign.to_lowercase().next()).collect();
    let wanted: Vec<char> = word.chars().collect();
    let at = lower.windows(wanted.len().max(1)).position(|part| part == wanted).unwrap_or(0);
    let from = at.saturating_sub(AROUND_CHARS);
    let to = (at + wanted.len() + AROUND_CHARS).min(signs.len());
    let around: String = signs[from..to].iter().collect();
    around.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn all_files(cx: &InstallationContext) -> Vec<PathBuf> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries(&imported_folder(&cx.dirs.state))
        .flat_map(|agent| entries(&agent.path()).collect::<Vec<_>>())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .take(LISTED_MAX)
        .collect();
    files.sort_unstable();
    files
}

fn read_head(path: &Path) -> Option<ImportedHistoryHead> {
    let file = std::fs::File::open(path).ok()?;
    let mut line = String::new();
    BufReader::new(file.take(HEAD_BYTES_MAX)).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

fn read_lines(path: &Path) -> Vec<HistoryLine> {
    let Ok(file) = std::fs::File::open(path) else { return Vec::new() };
    let lines = BufReader::new(file.take(FILE_BYTES_MAX)).lines();
    lines
        .skip(1)
        .map_while(Result::ok)
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}
