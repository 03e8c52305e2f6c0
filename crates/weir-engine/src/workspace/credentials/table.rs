//! A table of credential files, matched line by line: the part of gitignore syntax that the tables
//! use, read without building an automaton, which every start of the program would pay for (Q1).
//!
//! A line is plain letters and `/`, `*` (any letters but `/`) and `[0-9]`; `**/` may stand at its
//! beginning alone. A test holds every table to that, and its answers to those of the general matcher.
//! Lists that a person writes go to that one (`lists`), never here.

/// Most last parts of a path that a line is compared with.
const PARTS_MAX: usize = 4;

/// A table, ready to match. Letters of paths are expected in lower case; those of lines are taken so.
pub(in crate::workspace) struct CredentialTable {
    lines: Vec<TableLine>,
}

struct TableLine {
    /// As the table has it.
    text: &'static str,
    /// What a path is compared with.
    pattern: &'static str,
    shape: Shape,
    /// How many last parts of the path are compared; `None`: all of it.
    parts: Option<usize>,
    /// A file of that name is not meant.
    folders_only: bool,
    /// It takes back what lines above it name.
    is_exception: bool,
}

/// How a pattern is compared.
#[derive(Clone, Copy)]
enum Shape {
    /// Letter by letter.
    Plain,
    /// `*` and then plain letters.
    Ending,
    /// Anything else.
    Wild,
}

impl CredentialTable {
    /// Reads a table; empty lines and those that begin with `#` say nothing.
    pub(super) fn read_table(table: &'static str) -> CredentialTable {
        let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        CredentialTable { lines: lines.map(TableLine::read_line).collect() }
    }

    /// The line that names `path` itself, which is in lower case: the last that matches decides.
    pub(super) fn line_of(&self, path: &str, is_folder: bool) -> Option<&'static str> {
        let path = path.strip_prefix("./").unwrap_or(path);
        let tails = tails_of(path);
        let matches = |line: &&TableLine| {
            let compared = match line.parts {
                Some(parts) => tails.get(parts - 1).copied().flatten(),
                None => Some(path),
            };
            (is_folder || !line.folders_only) && compared.is_some_and(|text| line.names_entry(text))
        };
        let line = self.lines.iter().rev().find(matches)?;
        (!line.is_exception).then_some(line.text)
    }
}

impl TableLine {
    fn read_line(text: &'static str) -> TableLine {
        let (is_exception, rest) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (folders_only, rest) = match rest.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        // One without a stroke is meant wherever it lies; one with a stroke lies at the top.
        let (pattern, is_anywhere) = match rest.strip_prefix("**/") {
            Some(below) => (below, true),
            None => (rest.strip_prefix('/').unwrap_or(rest), !rest.contains('/')),
        };
        let parts = is_anywhere.then(|| pattern.split('/').count());
        let shape = match pattern.find(['*', '[']) {
            None => Shape::Plain,
            Some(0) if parts == Some(1) && !pattern[1..].contains(['*', '[']) => Shape::Ending,
            Some(_) => Shape::Wild,
        };
        TableLine { text, pattern, shape, parts, folders_only, is_exception }
    }

    fn names_entry(&self, text: &str) -> bool {
        match self.shape {
            Shape::Plain => text.eq_ignore_ascii_case(self.pattern),
            Shape::Ending => {
                let (ending, text) = (&self.pattern.as_bytes()[1..], text.as_bytes());
                let before = text.len().checked_sub(ending.len());
                before.is_some_and(|before| text[before..].eq_ignore_ascii_case(ending))
            }
            Shape::Wild => matches_wild(self.pattern.as_bytes(), text.as_bytes()),
        }
    }
}

/// The last part of a path, the last two, … as far as it has them.
fn tails_of(path: &str) -> [Option<&str>; PARTS_MAX] {
    let strokes = path.bytes().enumerate().rev().filter(|(_, letter)| *letter == b'/');
    let mut begins = strokes.map(|(at, _)| at + 1).chain(std::iter::once(0));
    std::array::from_fn(|_| begins.next().map(|at| &path[at..]))
}

/// Whether all of `text` is as `pattern` says. At most `pattern` × `text` steps.
fn matches_wild(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut in_text) = (0, 0);
    // Where to go on when what follows the last star does not fit: one letter more is the star's.
    let mut star: Option<(usize, usize)> = None;
    while in_text < text.len() || at < pattern.len() {
        let letter = text.get(in_text).copied();
        match (&pattern[at..], letter) {
            ([b'*', ..], _) => {
                star = Some((at + 1, in_text));
                at += 1;
                continue;
            }
            ([b'[', b'0', b'-', b'9', b']', ..], Some(b'0'..=b'9')) => {
                (at, in_text) = (at + 5, in_text + 1);
                continue;
            }
            ([plain, ..], Some(letter))
                if *plain != b'[' && plain.eq_ignore_ascii_case(&letter) =>
            {
                (at, in_text) = (at + 1, in_text + 1);
                continue;
            }
            _ => {}
        }
        match star {
            Some((after, taken)) if text.get(taken).is_some_and(|letter| *letter != b'/') => {
                star = Some((after, taken + 1));
                (at, in_text) = (after, taken + 1);
            }
            Some(_) | None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use ignore::Match;
    use ignore::gitignore::{Gitignore, GitignoreBuilder};
    use proptest::prelude::*;

    use super::*;
    use crate::workspace::credentials::{HIDDEN, HIDDEN_AT_HOME, HIDDEN_ON_MACHINE, SENSITIVE};

    const TABLES: [&str; 4] = [HIDDEN, HIDDEN_AT_HOME, HIDDEN_ON_MACHINE, SENSITIVE];
    /// Lines of which no table has one: how what is around them is read must not depend on the tables.
    const OTHERS: &str =
        "a*b*c\n*x*\n!axb*\n/*.key\ndir/*/c\n**/d*/[0-9]*.q/\n!/d/9.q\n[0-9][0-9]*z\n";

    /// The same table, read by those who know all of the syntax.
    fn general(table: &str) -> Gitignore {
        let mut builder = GitignoreBuilder::new(".");
        for line in table.to_lowercase().lines() {
            builder.add_line(None, line).expect("a line of a table");
        }
        builder.build().expect("a table")
    }

    /// Each table as it is read here, and as the general matcher reads it.
    static MATCHERS: LazyLock<Vec<(CredentialTable, Gitignore)>> = LazyLock::new(|| {
        let all = TABLES.into_iter().chain([OTHERS]);
        all.map(|table| (CredentialTable::read_table(table), general(table))).collect()
    });

    fn check_same(ours: &CredentialTable, general: &Gitignore, path: &str) {
        let path = path.to_lowercase();
        for is_folder in [false, true] {
            let named = match general.matched(&path, is_folder) {
                Match::Ignore(glob) => Some(glob.original().to_owned()),
                Match::None | Match::Whitelist(_) => None,
            };
            let line = ours.line_of(&path, is_folder).map(str::to_lowercase);
            assert_eq!(line, named, "{path:?}, a folder: {is_folder}");
        }
    }

    /// Words of a table: parts of its lines, with something for each `*` and `[0-9]`.
    fn words(table: &str) -> BTreeSet<String> {
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        let parts = lines.flat_map(|line| line.trim_start_matches('!').split('/'));
        let fillings = [("", "7"), ("x", "0"), (".", "x"), ("a.b", ""), ("**", "12"), ("é\n", "9")];
        parts
            .flat_map(|part| {
                fillings.map(|(star, digit)| part.replace("[0-9]", digit).replace('*', star))
            })
            .collect()
    }

    /// Paths near every line: what it names, and what differs from that by a little.
    fn neighbours(table: &str) -> BTreeSet<String> {
        let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut paths = BTreeSet::new();
        for line in lines {
            let bare = line.trim_start_matches('!').trim_start_matches("**/");
            let bare = bare.trim_start_matches('/').trim_end_matches('/');
            for (star, digit) in [("", "1"), ("x", "23"), ("a/b", "x"), (".", ""), ("*", "[0-9]")] {
                let named = bare.replace("[0-9]", digit).replace('*', star);
                for before in ["", "/", "./", "././", "//", "a/", "a/b/", "../", "x", ".", "A/É/"]
                {
                    for behind in ["", "/", "//", "/c", "x", ".", "~", ".bak", " ", "\n", "/.."] {
                        paths.insert(format!("{before}{named}{behind}"));
                    }
                }
                paths.insert(named.to_uppercase());
                paths.insert(format!("A/{}", named.replace('k', "\u{212a}")));
                for (at, _) in named.char_indices() {
                    paths.insert(format!("{}{}", &named[..at], named.get(at + 1..).unwrap_or("")));
                    paths.insert(format!("{}/{}", &named[..at], &named[at..]));
                    paths.insert(format!("d/{}", &named[..at]));
                }
            }
        }
        paths
    }

    #[test]
    fn z3_tables_use_nothing_that_is_read_otherwise_than_in_gitignore() {
        for table in TABLES.into_iter().chain([OTHERS]) {
            let read = CredentialTable::read_table(table);
            assert!(!read.lines.is_empty());
            for line in &read.lines {
                let text = line.text;
                assert!(text.is_ascii() && text.trim() == text, "{text:?}");
                assert!(!line.pattern.contains(['?', '\\', '{', '}', '!', '#']), "{text:?}");
                assert!(!line.pattern.contains("**") && !line.pattern.is_empty(), "{text:?}");
                assert!(line.pattern.split('/').all(|part| !part.is_empty()), "{text:?}");
                let without_digits = line.pattern.replace("[0-9]", "");
                assert!(!without_digits.contains(['[', ']']), "{text:?}");
                assert!(line.parts.is_none_or(|parts| parts <= PARTS_MAX), "{text:?}");
            }
        }
    }

    #[test]
    fn z3_tables_name_the_same_paths_as_the_general_matcher() {
        let tables = TABLES.into_iter().chain([OTHERS]);
        for (table, (ours, general)) in tables.zip(MATCHERS.iter()) {
            let mut named = BTreeSet::new();
            for path in neighbours(table) {
                check_same(ours, general, &path);
                named.extend(ours.line_of(&path.to_lowercase(), true));
            }
            let lines = ours.lines.iter().filter(|line| !line.is_exception);
            let silent: Vec<&str> =
                lines.map(|line| line.text).filter(|text| !named.contains(text)).collect();
            assert!(silent.is_empty(), "nothing was named by {silent:?}");
        }
    }

    /// Paths of a few words of the tables with a few strokes between them.
    fn paths() -> impl Strategy<Value = String> {
        let all: BTreeSet<String> =
            TABLES.into_iter().chain([OTHERS]).flat_map(words).filter(|w| !w.is_empty()).collect();
        let word = prop_oneof![
            4 => prop::sample::select(all.into_iter().collect::<Vec<String>>()),
            1 => "[ -~]{0,6}",
            1 => "\\PC{0,4}",
        ];
        let between = prop::sample::select(vec!["/", "/", "/", "/", "//", "", "."]);
        let ends = prop::sample::select(vec!["", "", "", "/", "./", "."]);
        (ends.clone(), prop::collection::vec((word, between), 1..6), ends).prop_map(
            |(before, parts, behind)| {
                let mut path = before.to_owned();
                for (at, (word, between)) in parts.iter().enumerate() {
                    path.push_str(if at == 0 { "" } else { between });
                    path.push_str(word);
                }
                path + behind
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

        #[test]
        fn z3_tables_judge_any_path_as_the_general_matcher(path in paths()) {
            for (ours, general) in MATCHERS.iter() {
                check_same(ours, general, &path);
            }
        }
    }
}
