//! Patterns of the shell, as far as they name files that are looked at for private keys (G6). What is not told
//! apart here is taken for more than the shell would: nothing is run by it. Not here: what is done with the files,
//! braces, and words that the shell computes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// Files to which one pattern is followed, in the order of their names.
const FILES_MAX: usize = 200;
/// Entries of folders that are looked at for one line.
const ENTRIES_MAX: usize = 1_000_000;
/// Folders that are looked through for one line: a pattern may lead from many to one, again and again.
const FOLDERS_MAX: usize = 2_000;
/// Whether a word has signs of a pattern in it.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// What may still be looked at for one line.
pub(super) struct PatternSearch {
    entries_left: usize,
    folders_left: usize,
}

impl Default for PatternSearch {
    fn default() -> PatternSearch {
        PatternSearch { entries_left: ENTRIES_MAX, folders_left: FOLDERS_MAX }
    }
}

impl PatternSearch {
    /// The files that a pattern of the shell fits in `folder`.
    pub(super) fn files_of_pattern(&mut self, folder: &Path, pattern: &str) -> Vec<PathBuf> {
        let first = if pattern.starts_with('/') { Path::new("/") } else { folder };
        let mut found = vec![first.to_path_buf()];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            if found.is_empty() || self.folders_left == 0 {
                return Vec::new();
            }
            found = match matcher_of(part) {
                Some(matcher) => self.entries_in(&found, part, &matcher),
                None => found.iter().map(|at| at.join(part)).collect(),
            };
        }
        found
    }

    /// The entries of these folders that a part of a pattern fits.
    fn entries_in(
        &mut self,
        folders: &[PathBuf],
        part: &str,
        matcher: &GlobMatcher,
    ) -> Vec<PathBuf> {
        let mut found: BTreeSet<PathBuf> = BTreeSet::new();
        for folder in folders {
            if found.len() >= FILES_MAX || self.folders_left == 0 {
                break;
            }
            self.folders_left -= 1;
            found.extend(self.fitting_entries(folder, part, matcher));
        }
        found.into_iter().take(FILES_MAX).collect()
    }

    /// Entries of a folder that a part of a pattern fits. Those with a dot only where it begins with one, as in
    /// a shell.
    fn fitting_entries(
        &mut self,
        folder: &Path,
        part: &str,
        matcher: &GlobMatcher,
    ) -> Vec<PathBuf> {
        let Ok(listed) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut names: Vec<OsString> = Vec::new();
        for entry in listed.take(self.entries_left).flatten() {
            self.entries_left -= 1;
            let name = entry.file_name();
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if is_hidden == part.starts_with('.') && matcher.is_match(Path::new(&name)) {
                names.push(name);
            }
        }
        names.sort();
        names.truncate(FILES_MAX);
        names.into_iter().map(|name| folder.join(name)).collect()
    }
}

/// What tells which names a part of a pattern fits; `None`: it is a name itself.
fn matcher_of(part: &str) -> Option<GlobMatcher> {
    if !is_pattern(part) {
        return None;
    }
    GlobBuilder::new(&loosened_part(part)).build().ok().map(|glob| glob.compile_matcher())
}

/// A part of a pattern in which a set of letters (`[a-z]`, `[[:alpha:]]`) is any letter: what stands in one is
/// written in several ways.
fn loosened_part(part: &str) -> String {
    let mut loose = String::new();
    let mut rest = part;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '*' | '?' => loose.push(letter),
            '[' => match set_end(rest) {
                Some(end) => {
                    loose.push('?');
                    rest = &rest[end..];
                }
                None => loose.push('?'),
            },
            letter if letter.is_alphanumeric() || "._- ".contains(letter) => loose.push(letter),
            // It may mean something to who matches.
            _ => loose.push('?'),
        }
    }
    loose
}

/// Where a set of letters ends whose beginning stands before `text`: behind its bracket.
fn set_end(text: &str) -> Option<usize> {
    let negated = usize::from(text.starts_with(['!', '^']));
    // A bracket that stands first is one of the letters.
    let mut at = negated + usize::from(text[negated..].starts_with(']'));
    loop {
        let next = at + text.get(at..)?.find(['[', ']'])?;
        let class = &text[next..];
        if class.starts_with(']') {
            return Some(next + 1);
        }
        // `[:alpha:]`, `[.x.]`, `[=x=]`.
        let end = [(":", ":]"), (".", ".]"), ("=", "=]")].into_iter().find_map(|(begin, end)| {
            class[1..].strip_prefix(begin)?.find(end).map(|found| next + 2 + found + end.len())
        });
        at = end.unwrap_or(next + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g6_a_set_of_letters_is_any_letter() {
        for (part, expected) in [
            ("a[bc]d", "a?d"),
            ("[!a]b", "?b"),
            ("[]a]b", "?b"),
            ("[[:alpha:]]b", "?b"),
            ("[^[:alpha:]0-9]b", "?b"),
            ("[[.x.][=y=]]*", "?*"),
            ("a[b", "a?b"),
            ("\u{e9}[\u{e9}]{x}", "\u{e9}??x?"),
        ] {
            assert_eq!(loosened_part(part), expected, "{part}");
        }
    }
}
