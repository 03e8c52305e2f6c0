//! The parsers of this crate that take what others wrote, without a session, a file or a permit
//! around them: for fuzzing. No tool is built on this.

use std::io::BufReader;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{built, diff, edit_file, html, pager, patch};

/// What a patch makes of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct PatchedFile {
    /// Path before; `None`: the file is new.
    pub old: Option<String>,
    /// Path after; `None`: the file is deleted.
    pub new: Option<String>,
    /// Content afterwards, or why the change does not fit.
    pub result: Result<Vec<u8>, String>,
}

/// Reads a unified diff and applies each of its files to the same `bytes`.
///
/// # Errors
/// It is no unified diff.
pub fn apply_patch(text: &str, bytes: &[u8]) -> Result<Vec<PatchedFile>, String> {
    let apply = |file: patch::FilePatch| {
        let result = patch::apply_hunks("file", bytes, &file.hunks);
        PatchedFile { old: file.old, new: file.new, result }
    };
    Ok(patch::parse_patch(text)?.into_iter().map(apply).collect())
}

/// The difference of two files as a unified diff; empty when they are equal.
pub fn unified_difference(path: &str, old: &[u8], new: &[u8]) -> String {
    diff::unified_diff(path, Some(old), Some(new))
}

/// `bytes` with the one place of `old` replaced.
///
/// # Errors
/// Why it is not replaced.
pub fn replace_text(bytes: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
    let input = json!({"path": "file", "old_text": old, "new_text": new});
    edit_file::replace_exact(bytes, &built::parse_input(&input)?, "file")
}

/// Whether a glob, as tools take it, matches a path.
///
/// # Errors
/// It is no glob.
pub fn glob_matches(pattern: &str, path: &str) -> Result<bool, String> {
    crate::glob::PathPattern::new(pattern).map(|glob| glob.matches(path))
}

/// A page of a file as `read_file` shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct FilePage {
    /// Its lines, each with its number.
    pub text: String,
    /// How many lines of the file.
    pub lines: usize,
    /// Lines of the whole, where they could be counted.
    pub total: Option<usize>,
    /// The line to go on with.
    pub next: Option<usize>,
}

/// At most `limit` lines of `bytes` from line `offset` on, read in pieces of `piece` bytes.
///
/// # Errors
/// The sentence that the model is given instead.
pub fn read_file_page(
    bytes: &[u8],
    piece: usize,
    offset: usize,
    limit: usize,
) -> Result<FilePage, String> {
    let mut reader = BufReader::with_capacity(piece, bytes);
    let page = pager::read_stored_page(&mut reader, offset, limit, &CancellationToken::new())
        .map_err(|why| why.to_string())?;
    let text = pager::render_page(&page, "file", bytes.len() as u64, offset)?;
    let lines = if page.first == 0 { 0 } else { page.last + 1 - page.first };
    let next = page.more.then_some(page.last + 1);
    Ok(FilePage { text, lines, total: page.total, next })
}

/// A page of the web for the model.
#[derive(Debug, PartialEq, Eq)]
pub struct HtmlPage {
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Markdown, or plain text where the page was out of measure.
    pub text: String,
}

/// A page of the web as text. Panics where a parser of HTML does, as the tool's own work may.
pub fn page_of_html(html: &str, url: &str) -> HtmlPage {
    let html::ConvertedPage { title, text, .. } = html::convert_page(html, url);
    HtmlPage { title, text }
}
