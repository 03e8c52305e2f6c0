//! What `search_files` found, made short: how much, what the search left out, how much in which file,
//! and the first matches with their places. Not here: other results (the parent).

use std::fmt::Write as _;

use super::{FIRST_ONES, push_quoted_lines, shorten_line};

/// Files that are named with their number of matches.
const FILES_NAMED_MAX: usize = 12;
/// Characters of these names together: they must leave room for matches.
const NAMES_CHARS_MAX: usize = 360;
/// Lines about what was left out that are repeated.
const NOTICES_MAX: usize = 4;

/// One file, and its lines as the tool shows them: `12:text`, and `13-text` around a match.
struct MatchedFile<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
}

/// Whether a text is in the form of `search_files`.
pub(super) fn is_search(full: &str) -> bool {
    let mut lines = full.lines();
    let begins = lines.next().is_some_and(is_head) && lines.next() == Some("");
    begins && lines.next().is_some() && lines.next().and_then(line_number_sign).is_some()
}

/// Adds the short form.
pub(super) fn describe_search(full: &str, out: &mut String) {
    let (files, notices) = split_search_result(full);
    let head = full.lines().next().unwrap_or_default();
    let _ = writeln!(out, "{head}.");
    for notice in notices.iter().take(NOTICES_MAX) {
        let _ = writeln!(out, "{}", shorten_line(notice));
    }
    let matches = |file: &MatchedFile<'_>| file.lines.iter().filter(|line| is_match(line)).count();
    if files.len() > 1 {
        let mut names = String::new();
        let mut named = 0;
        for file in files.iter().take(FILES_NAMED_MAX) {
            let one = format!("{} ({})", shorten_line(file.path), matches(file));
            if named > 0 && names.chars().count() + one.chars().count() > NAMES_CHARS_MAX {
                break;
            }
            names.push_str(if named > 0 { ", " } else { "" });
            names.push_str(&one);
            named += 1;
        }
        let more = match files.len() - named {
            0 => String::new(),
            more => format!(", and {more} more files"),
        };
        let _ = writeln!(out, "By file: {names}{more}.");
    }
    let _ = writeln!(out, "{}", FIRST_ONES[2]);
    let places: Vec<String> = files
        .iter()
        .flat_map(|file| file.lines.iter().filter(|line| is_match(line)).map(move |l| (file, l)))
        .map(|(file, line)| format!("{}:{line}", file.path))
        .collect();
    push_quoted_lines(places.iter().map(String::as_str), "matches", out);
}

/// The files with their lines, and what the tool says of its own work at the end.
fn split_search_result(full: &str) -> (Vec<MatchedFile<'_>>, Vec<&str>) {
    let (mut files, mut notices): (Vec<MatchedFile<'_>>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut lines = full.lines().skip(2).peekable();
    let mut after_gap = true;
    while let Some(line) = lines.next() {
        if line.is_empty() {
            after_gap = true;
            continue;
        }
        // A path has lines below it; brackets alone say nothing, paths have them too.
        let begins = after_gap && lines.peek().is_some_and(|next| line_number_sign(next).is_some());
        after_gap = false;
        if begins && notices.is_empty() {
            files.push(MatchedFile { path: line, lines: Vec::new() });
        } else if let Some(file) = files.last_mut().filter(|_| notices.is_empty())
            && (line_number_sign(line).is_some() || line == "--")
        {
            file.lines.push(line);
        } else {
            notices.push(line);
        }
    }
    (files, notices)
}

/// `3 matches in 2 files`, `1 match in 1 file`.
fn is_head(line: &str) -> bool {
    let mut words = line.split(' ');
    let number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
    number(words.next())
        && words.next().is_some_and(|word| word == "match" || word == "matches")
        && words.next() == Some("in")
        && number(words.next())
        && words.next().is_some_and(|word| word == "file" || word == "files")
        && words.next().is_none()
}

/// The sign behind the number of a line: `:` of a match, `-` of one around it.
fn line_number_sign(line: &str) -> Option<char> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let sign = rest.chars().next().filter(|sign| matches!(sign, ':' | '-'))?;
    (rest.len() < line.len()).then_some(sign)
}

fn is_match(line: &str) -> bool {
    line_number_sign(line) == Some(':')
}
