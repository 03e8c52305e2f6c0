//! Replaces a long result by a compact reference to the file that will hold it (X1).
//!
//! The file's name comes from tool and call number, its text is the redacted result; no time and
//! no chance enter, so a replay makes the same. What kind of text it is is told from its shape.

use std::fmt::Write as _;

use super::{Filter, FilterContext, ResultDraft, text_of};
use crate::message::MessageBlock;

mod found;

/// Most characters of a reference.
pub const REFERENCE_CHARS_MAX: usize = 1_500;
/// Characters of it kept free for the last lines.
const ROOM_FOR_END: usize = 260;
/// Longest line quoted in a reference.
const QUOTE_CHARS_MAX: usize = 160;

/// Where a reference begins.
const BEGINNING: &str = "Result of ";
/// Where its last sentence does.
const READ_MORE: &str = "Read more with read_file on ";
/// Before the first lines of a text, of a list, and the first matches of a search.
const FIRST_ONES: [&str; 3] = ["Its first lines:", "The first ones:", "The first matches:"];
/// Before the first line of a document.
const DOCUMENT_BEGINS: &str = "It begins: ";

pub(super) struct ExternalizeFilter;

impl Filter for ExternalizeFilter {
    fn name(&self) -> &'static str {
        "externalize"
    }
    fn clean_draft(&self, draft: &mut ResultDraft, context: &FilterContext<'_>) {
        let keeps = context.tool.is_some_and(|tool| tool.keeps_result);
        if context.externalize_over == 0 || keeps {
            return;
        }
        let texts: Vec<&str> = draft.blocks.iter().filter_map(text_of).collect();
        let chars: usize = texts.iter().map(|text| text.chars().count()).sum();
        if chars <= context.externalize_over {
            return;
        }
        let full = texts.join("\n");
        let name = context.tool.map_or("unknown", |tool| tool.name.as_str());
        let path = file_path(context.externalize_to, name, context.call.0);
        let mut blocks = vec![MessageBlock::text(reference_text(&full, &path))];
        blocks.extend(draft.blocks.iter().filter(|b| text_of(b).is_none()).cloned());
        draft.whole = Some(std::mem::replace(&mut draft.blocks, blocks));
        draft.file = Some((path, full));
    }
}

/// `<folder>/<tool>-<n>.md`, with nothing in the name that a path could trip over.
fn file_path(folder: &str, tool: &str, number: u32) -> String {
    let name: String = tool
        .chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    format!("{}/{name}-{number}.md", folder.trim_end_matches('/'))
}

/// What a reference shows of the text that it stands for, without the words that tell a model where
/// the rest is: for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultReference<'a> {
    /// Lines of the whole text.
    pub lines: usize,
    /// Its first ones, as far as they are there.
    pub first: Vec<&'a str>,
}

/// Reads a reference; `None`: the text is none.
pub fn parse_reference(text: &str) -> Option<ResultReference<'_>> {
    let (head, rest) = text.strip_prefix(BEGINNING)?.split_once('\n')?;
    let (_, count) = head.rsplit_once(" (")?;
    let lines = count.strip_suffix(" lines).")?.parse().ok()?;
    let rest = rest.get(..rest.rfind(READ_MORE)?)?;
    let title = rest.lines().next()?;
    let mut first: Vec<&str> = match title.strip_prefix(DOCUMENT_BEGINS) {
        // Below it stand headings and no lines.
        Some(begins) => vec![begins],
        // What is counted before them are words for the model.
        None => rest.lines().skip_while(|line| !FIRST_ONES.contains(line)).skip(1).collect(),
    };
    // "… and 12 more lines.", also of headings, matches or files.
    let is_count = |line: &&str| {
        let count = line.strip_prefix("… and ").and_then(|rest| rest.split_once(" more "));
        count.is_some_and(|(count, _)| count.parse::<usize>().is_ok())
    };
    first.pop_if(|last| is_count(last));
    Some(ResultReference { lines, first })
}

/// What kind of text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResultShape {
    /// What `search_files` says: `N matches in M files`, then each file with its lines below it.
    Search,
    /// `path:line:text`, one per line.
    Matches,
    /// One path or name per line.
    Listing,
    /// Markdown with headings.
    Document,
    /// Plain text of no known form.
    Text,
}

/// The compact text that stands in the history instead of the result.
fn reference_text(full: &str, path: &str) -> String {
    let chars = full.chars().count();
    let lines = full.lines().count();
    let mut out = format!("{BEGINNING}{chars} characters in {path} ({lines} lines).\n");
    match result_shape(full) {
        ResultShape::Search => found::describe_search(full, &mut out),
        ResultShape::Matches => describe_matches(full, &mut out),
        ResultShape::Listing => describe_listing(full, &mut out),
        ResultShape::Document => describe_document(full, &mut out),
        ResultShape::Text => {
            let _ = writeln!(out, "{}", FIRST_ONES[0]);
            push_quoted_lines(full.lines(), "lines", &mut out);
        }
    }
    let end = format!(
        "{READ_MORE}{path} (offset: the line to begin with, limit: how many lines), or search in \
         it.\n"
    );
    if out.chars().count() + end.chars().count() > REFERENCE_CHARS_MAX {
        // Only a very long path comes here: the path is what must stay.
        return format!("Result of {chars} characters in {path}; read it with read_file.\n")
            .chars()
            .take(REFERENCE_CHARS_MAX)
            .collect();
    }
    out.push_str(&end);
    out
}

fn result_shape(full: &str) -> ResultShape {
    const LOOKED_AT_MAX: usize = 2_000;
    if found::is_search(full) {
        return ResultShape::Search;
    }
    let mut said = 0;
    let (mut matches, mut names, mut headings) = (0, 0, 0);
    for line in full.lines().filter(|l| !l.trim().is_empty()).take(LOOKED_AT_MAX) {
        said += 1;
        matches += usize::from(match_place(line).is_some());
        names += usize::from(is_name(line));
        headings += usize::from(is_heading(line));
    }
    if said >= 3 && matches * 10 >= said * 6 {
        ResultShape::Matches
    } else if headings >= 2 {
        ResultShape::Document
    } else if said >= 3 && names * 10 >= said * 8 {
        ResultShape::Listing
    } else {
        ResultShape::Text
    }
}

/// The file in `path:12:text` or `path-12-text`.
fn match_place(line: &str) -> Option<&str> {
    let (path, rest) = line.split_once(':')?;
    let (number, _) = rest.split_once(':')?;
    let numbered = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (numbered && !path.is_empty() && path.len() < 300).then_some(path)
}

fn is_name(line: &str) -> bool {
    let line = line.trim();
    line.len() < 300 && !line.contains([' ', '\t', '{', '}', ';', '<', '>', '"'])
        || line.ends_with('/')
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level) && text.starts_with(' ')
}

fn describe_matches(full: &str, out: &mut String) {
    let mut files: Vec<(&str, usize)> = Vec::new();
    let mut matches = 0;
    for path in full.lines().filter_map(match_place) {
        matches += 1;
        match files.last_mut() {
            Some((last, count)) if *last == path => *count += 1,
            _ => files.push((path, 1)),
        }
    }
    let _ = writeln!(out, "{matches} matches in {} files.", files.len());
    repeat_notice(full, out);
    let _ = writeln!(out, "{}", FIRST_ONES[1]);
    push_quoted_lines(full.lines(), "lines", out);
}

fn describe_listing(full: &str, out: &mut String) {
    let entries = full.lines().filter(|line| !line.trim().is_empty() && !is_notice(line)).count();
    let _ = writeln!(out, "{entries} entries.");
    repeat_notice(full, out);
    let _ = writeln!(out, "{}", FIRST_ONES[1]);
    push_quoted_lines(full.lines(), "lines", out);
}

/// Whether a line is a tool's word about its own result: `[stopped after 100 matches; …]`.
fn is_notice(line: &str) -> bool {
    let inner = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|text| text.contains(' ') && text.starts_with(char::is_alphanumeric))
}

/// Says what the tool left out itself: that stands at the end, which nobody sees here.
fn repeat_notice(full: &str, out: &mut String) {
    if let Some(last) = full.lines().next_back().filter(|line| is_notice(line)) {
        let _ = writeln!(out, "{}", shorten_line(last));
    }
}

fn describe_document(full: &str, out: &mut String) {
    let mut fenced = false;
    let mut headings = Vec::new();
    for (number, line) in full.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && is_heading(line) {
            headings.push(format!("{} (line {})", line.trim_end(), number + 1));
        }
    }
    let first = full.lines().find(|line| !line.trim().is_empty() && !is_heading(line));
    if let Some(first) = first {
        let _ = writeln!(out, "{DOCUMENT_BEGINS}{}", shorten_line(first));
    }
    let _ = writeln!(out, "{} headings:", headings.len());
    push_quoted_lines(headings.iter().map(String::as_str), "headings", out);
}

/// Adds as many `lines` as there is room for, and says how many `of_these` were left.
fn push_quoted_lines<'a>(lines: impl Iterator<Item = &'a str>, of_these: &str, out: &mut String) {
    let room = REFERENCE_CHARS_MAX - ROOM_FOR_END;
    let mut used = out.chars().count();
    let mut left = 0;
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let line = shorten_line(line);
        let chars = line.chars().count() + 1;
        if left > 0 || used + chars > room {
            left += 1;
            continue;
        }
        used += chars;
        out.push_str(&line);
        out.push('\n');
    }
    if left > 0 {
        let _ = writeln!(out, "… and {left} more {of_these}.");
    }
}

fn shorten_line(line: &str) -> String {
    let line = line.trim_end();
    if line.chars().count() <= QUOTE_CHARS_MAX {
        return line.to_string();
    }
    let mut cut: String = line.chars().take(QUOTE_CHARS_MAX - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x1_what_a_reference_quotes_is_read_back_without_the_words_for_the_model() {
        let long: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
        let said: String = (1..=900).map(|n| format!("test number {n} ... ok\n")).collect();
        let guide = format!("# Head\n\nIt is a guide.\n\n## More\n\n{said}");
        for (full, lines, first) in [
            (long, 20_000, "1"),
            (said, 900, "test number 1 ... ok"),
            (guide, 906, "It is a guide."),
        ] {
            let text = reference_text(&full, "results/run_shell-1.md");
            let found = parse_reference(&text).expect("a reference");
            assert_eq!((found.lines, found.first[0]), (lines, first));
            let words = ["Result of", "Read more", "more lines.", "first lines", "first ones"];
            let told = found.first.iter().find(|line| words.iter().any(|w| line.contains(w)));
            assert_eq!(told, None, "{text}");
        }
        for text in
            ["", "Result of 3", "Result of 1 characters in x (2 lines).\nIts first lines:\na"]
        {
            assert_eq!(parse_reference(text), None, "{text:?}");
        }
    }
}
