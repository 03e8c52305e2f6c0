//! `cargo xtask requirements`: writes the page that says what the ids mean which comments, tests and
//! scenarios cite, and finds ids without a sentence. Not here: whether a proof proves anything.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;

use crate::programs::bytes_of_git;

mod cited;
mod page;
mod table;

use cited::{Cited, TrackedFile};
use table::Table;

/// The sentences, written by hand.
const SENTENCES: &str = "docs/requirements.toml";
/// The page that is made of them.
const PAGE: &str = "docs/requirements.md";
/// A larger file is data.
const FILE_BYTES_MAX: u64 = 2_000_000;

/// What is wrong with ids, sentences or the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// Writes the page anew.
///
/// # Errors
/// The sentences or the project cannot be read, or the page cannot be written.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let table = Table::parse(&read(root, SENTENCES)?).context(SENTENCES)?;
    let page = page::render(&table, &Cited::of(&tracked(root)?));
    fs::write(root.join(PAGE), page).context(PAGE)
}

/// What must be changed until sentences, citations and page agree.
///
/// # Errors
/// The sentences or the project cannot be read.
pub(crate) fn problems(root: &Path) -> anyhow::Result<Vec<Problem>> {
    let sentences = read(root, SENTENCES)?;
    let table = Table::parse(&sentences).context(SENTENCES)?;
    let cited = Cited::of(&tracked(root)?);
    let mut found = unknown(&table, &cited);
    found.extend(unused(&table, &cited, &sentences));
    let kept = fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    found.extend(stale(&kept, &page::render(&table, &cited)));
    Ok(found)
}

/// Ids that are cited and have no sentence. Those of a letter without a group are other words.
fn unknown(table: &Table, cited: &Cited) -> Vec<Problem> {
    let strange = cited.deliberate.iter().filter(|(id, _)| {
        table.groups.iter().any(|group| group.letter == id.letter) && table.sentence(*id).is_none()
    });
    let problem = |(id, place): &(table::Id, cited::Place)| Problem {
        path: place.path.clone(),
        line: place.line,
        what: format!(
            "{id} has no sentence: give it one in {SENTENCES} and run `cargo xtask requirements`"
        ),
    };
    strange.map(problem).collect()
}

/// Sentences whose id nothing cites.
fn unused(table: &Table, cited: &Cited, sentences: &str) -> Vec<Problem> {
    let ids = table.groups.iter().flat_map(|group| group.sentences.keys());
    let unused = ids.filter(|id| !cited.has(**id)).map(|id| {
        let start = format!("{id} =");
        let line = sentences.lines().position(|line| line.starts_with(&start));
        Problem {
            path: SENTENCES.to_owned(),
            line: line.map_or(1, |index| index + 1),
            what: format!(
                "nothing cites {id}: name a test after it, or remove it and run `cargo xtask \
                 requirements`"
            ),
        }
    });
    unused.collect()
}

/// Where the kept page differs from what it would be now.
fn stale(kept: &str, now: &str) -> Option<Problem> {
    if kept == now {
        return None;
    }
    let same = kept.lines().zip(now.lines()).take_while(|(kept, now)| kept == now).count();
    Some(Problem {
        path: PAGE.to_owned(),
        line: same + 1,
        what: "is out of date: run `cargo xtask requirements`".to_owned(),
    })
}

fn read(root: &Path, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(root.join(path)).context(path.to_owned())
}

/// The tracked files in which ids are looked for.
fn tracked(root: &Path) -> anyhow::Result<Vec<TrackedFile>> {
    let listed = bytes_of_git(root, &["ls-files", "-z"])?;
    let mut files = Vec::new();
    for path in listed.split(|byte| *byte == 0) {
        let Ok(path) = std::str::from_utf8(path) else { continue };
        if !cited::is_searched(path) {
            continue;
        }
        let place = root.join(path);
        let small = fs::metadata(&place).is_ok_and(|found| found.len() <= FILE_BYTES_MAX);
        match fs::read_to_string(&place) {
            Ok(text) if small => files.push(TrackedFile { path: path.to_owned(), text }),
            Ok(_) => {}
            // Taken away and not committed yet, or a test's input that is no text.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => {}
            Err(error) => return Err(error).context(path.to_owned()),
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "[[group]]\nletter = \"L\"\nheading = \"Loop\"\n[group.ids]\nL1 = \"One.\"\nL2 = \"Two.\"\n";

    fn cited(path: &str, text: &str) -> Cited {
        Cited::of(&[TrackedFile { path: path.to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn ids_without_a_sentence_and_sentences_without_a_citation_are_found() {
        let table = Table::parse(TABLE).expect("a table");
        let cited = cited("crates/a/src/b.rs", "// One (L1).\n// Nine (L9), (A4), L8.\n");
        let unknown = unknown(&table, &cited);
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert_eq!((unknown[0].line, unknown[0].path.as_str()), (2, "crates/a/src/b.rs"));
        assert!(unknown[0].what.starts_with("L9 has no sentence"), "{unknown:?}");
        let unused = unused(&table, &cited, TABLE);
        assert_eq!(unused.len(), 1, "{unused:?}");
        assert_eq!(unused[0].line, 6);
        assert!(unused[0].what.starts_with("nothing cites L2"), "{unused:?}");
    }

    #[test]
    fn a_page_that_differs_is_found_where_it_does() {
        assert_eq!(stale("a\nb\n", "a\nb\n"), None);
        assert_eq!(stale("a\nb\n", "a\nc\n").map(|problem| problem.line), Some(2));
        assert_eq!(stale("", "a\n").map(|problem| problem.line), Some(1));
        assert!(stale("a\n", "a\nb\n").is_some(), "a line that is missing at the end");
    }
}
