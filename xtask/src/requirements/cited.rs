//! Where ids are cited: in comments, in titles and names of scenarios, in names of tests. Pure: files
//! come as texts. Lines are read one by one, so a mark of a comment inside of a string counts too.

use std::collections::{BTreeMap, BTreeSet};

use super::table::Id;

/// What begins a comment, by the end of the file's name.
const COMMENTS: &[(&str, &str)] = &[
    ("rs", "//"),
    ("mjs", "//"),
    ("js", "//"),
    ("css", "/*"),
    ("sql", "--"),
    ("py", "#"),
    ("sh", "#"),
    ("toml", "#"),
    ("yml", "#"),
];
/// Not searched: what tests of tools read and change, and the examples in this module's own tests.
const LEFT_OUT: &[&str] = &["/tests/cases/", "xtask/src/requirements"];
/// What may stand between two ids of one list.
const BETWEEN: &[&str] = &[", ", " and ", " to "];

/// A file of the project.
pub(super) struct TrackedFile {
    /// From the root of the project, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) line: usize,
}

/// What proves a requirement, as far as names and comments tell. In the order of the page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    /// A scenario that is named after it.
    Scenario { path: String },
    /// A test or benchmark that is named after it.
    Test { path: String, name: String },
    /// A file of tests, benchmarks or laws, or a scenario's title, that cites it.
    File { path: String },
}

impl Proof {
    pub(super) fn path(&self) -> &str {
        match self {
            Proof::Scenario { path } | Proof::Test { path, .. } | Proof::File { path } => path,
        }
    }
}

/// All that the files cite.
#[derive(Debug, Default)]
pub(super) struct Cited {
    pub(super) proofs: BTreeMap<Id, BTreeSet<Proof>>,
    /// Paths of other files whose comments cite it.
    pub(super) code: BTreeMap<Id, BTreeSet<String>>,
    /// Citations that cannot be meant otherwise: names, and lists of ids in brackets or before a
    /// colon. A word such as `S3` in the middle of a sentence may be something else.
    pub(super) deliberate: Vec<(Id, Place)>,
}

impl Cited {
    /// Reads all files.
    pub(super) fn of(files: &[TrackedFile]) -> Cited {
        let mut cited = Cited::default();
        for file in files {
            cited.scenario(file);
            cited.tests(file);
            cited.comments(file);
        }
        cited
    }

    /// Whether anything cites `id`.
    pub(super) fn has(&self, id: Id) -> bool {
        self.proofs.contains_key(&id) || self.code.contains_key(&id)
    }

    fn scenario(&mut self, TrackedFile { path, text }: &TrackedFile) {
        if !is_scenario(path) {
            return;
        }
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        for id in ids_of_name(name) {
            self.proofs.entry(id).or_default().insert(Proof::Scenario { path: path.clone() });
            self.deliberate.push((id, Place { path: path.clone(), line: 1 }));
        }
        let title = text.lines().next().unwrap_or_default();
        let place = Place { path: path.clone(), line: 1 };
        self.comment(&place, title.trim_start_matches(['#', ' ']));
    }

    fn tests(&mut self, TrackedFile { path, text }: &TrackedFile) {
        if !path.ends_with(".rs") {
            return;
        }
        for (index, line) in text.lines().enumerate() {
            let Some(name) = test_name(line) else { continue };
            for id in ids_of_name(name) {
                let proof = Proof::Test { path: path.clone(), name: name.to_owned() };
                self.proofs.entry(id).or_default().insert(proof);
                self.deliberate.push((id, Place { path: path.clone(), line: index + 1 }));
            }
        }
    }

    fn comments(&mut self, TrackedFile { path, text }: &TrackedFile) {
        let Some(mark) = comment_mark(path) else { return };
        for (index, line) in text.lines().enumerate() {
            if let Some(comment) = comment_in(line, mark) {
                self.comment(&Place { path: path.clone(), line: index + 1 }, comment);
            }
        }
    }

    fn comment(&mut self, place: &Place, comment: &str) {
        let path = &place.path;
        for (id, deliberate) in ids_in(comment) {
            if deliberate {
                self.deliberate.push((id, place.clone()));
            }
            let proofs = self.proofs.get(&id);
            let is_named = proofs.is_some_and(|all| all.iter().any(|proof| proof.path() == path));
            if !is_named && is_for_proofs(path) {
                let proof = Proof::File { path: path.clone() };
                self.proofs.entry(id).or_default().insert(proof);
            } else if !is_named {
                self.code.entry(id).or_default().insert(path.clone());
            }
        }
    }
}

/// Whether ids are looked for in a file of this path.
pub(super) fn is_searched(path: &str) -> bool {
    let left_out = LEFT_OUT.iter().any(|part| path.contains(part));
    is_scenario(path) || (comment_mark(path).is_some() && !left_out)
}

fn is_scenario(path: &str) -> bool {
    path.starts_with("scenarios/") && path.ends_with(".md") && !path.ends_with("/README.md")
}

/// Whether a file holds nothing but scenarios, tests, benchmarks or laws.
fn is_for_proofs(path: &str) -> bool {
    let folders =
        ["scenarios/", "tests/", "fuzz/", "xtask/src/bench", "xtask/src/kill", "xtask/src/tidy/"];
    folders.iter().any(|folder| path.starts_with(folder))
        || path.contains("/tests/")
        || path.contains("/benches/")
}

fn comment_mark(path: &str) -> Option<&'static str> {
    let (_, end) = path.rsplit_once('.')?;
    COMMENTS.iter().find(|(known, _)| *known == end).map(|(_, mark)| *mark)
}

/// The words of a comment that begins in `line`, by itself or behind code.
fn comment_in<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let begins = |(at, _): &(usize, &str)| line[..*at].chars().next_back().is_none_or(|c| c == ' ');
    let (at, _) = line.match_indices(mark).find(begins)?;
    Some(line[at..].trim_start_matches(['/', '!', '*', '#', '-']).trim())
}

/// The name of the test that a line of Rust begins: behind `fn`, or in a list of a macro that makes
/// tests, before the key of what is tested.
fn test_name(line: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let line = line.trim();
    if line.starts_with("//") {
        return None;
    }
    let behind = line.strip_prefix("fn ");
    if let Some(rest) = behind.or_else(|| line.split_once(" fn ").map(|(_, rest)| rest)) {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        return Some(&rest[..end]);
    }
    let (name, key) = line.trim_end_matches(',').split_once(' ')?;
    (name.chars().all(is_part) && key.chars().all(is_part)).then_some(name)
}

/// The ids with which a name begins: `d2_d05_a_session` has two.
fn ids_of_name(name: &str) -> Vec<Id> {
    let mut found = Vec::new();
    let mut rest = name;
    while let Some((word, behind)) = rest.split_once('_') {
        let Some(id) = id_of_word(word) else { break };
        found.push(id);
        rest = behind;
    }
    found
}

/// As in a name: a small letter, and a number that may have a nought before it.
fn id_of_word(word: &str) -> Option<Id> {
    let mut chars = word.chars();
    let letter = chars.next().filter(char::is_ascii_lowercase)?;
    let digits = chars.as_str();
    let number = if digits.len() == 2 { digits.trim_start_matches('0') } else { digits };
    Id::parse(&format!("{}{number}", letter.to_ascii_uppercase()))
}

/// An id as a word of a text.
struct Mention {
    id: Id,
    start: usize,
    end: usize,
}

/// The ids in a comment, and whether each is deliberate: in a list that begins with a bracket, or
/// that opens the comment and ends with a colon.
fn ids_in(comment: &str) -> Vec<(Id, bool)> {
    let mut lists: Vec<Vec<Mention>> = Vec::new();
    for mention in mentions(comment) {
        let goes_on = lists
            .last()
            .and_then(|list| list.last())
            .is_some_and(|before| BETWEEN.contains(&&comment[before.end..mention.start]));
        match lists.last_mut() {
            Some(list) if goes_on => list.push(mention),
            _ => lists.push(vec![mention]),
        }
    }
    let mut found = Vec::new();
    for list in &lists {
        let (Some(first), Some(last)) = (list.first(), list.last()) else { continue };
        let in_brackets = comment[..first.start].ends_with('(');
        let opens = first.start == 0 && comment[last.end..].starts_with(':');
        found.extend(list.iter().map(|mention| (mention.id, in_brackets || opens)));
    }
    found
}

/// Ids that stand by themselves: no parts of words, numbers, codes or paths.
fn mentions(comment: &str) -> Vec<Mention> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(offset) = comment[start..].find(is_part) {
        start += offset;
        let length = comment[start..].find(|c| !is_part(c)).unwrap_or(comment.len() - start);
        let end = start + length;
        let before = comment[..start].chars().next_back();
        let after = comment[end..].chars().next();
        let alone = before.is_none_or(|c| matches!(c, ' ' | '('))
            && after.is_none_or(|c| matches!(c, ' ' | ',' | ')' | ':' | ';' | '.' | '\''))
            && !comment[end..].starts_with("::");
        if let (Some(id), true) = (Id::parse(&comment[start..end]), alone) {
            found.push(Mention { id, start, end });
        }
        start = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: &[(Id, bool)]) -> String {
        let words = found.iter().map(|(id, sure)| format!("{id}{}", if *sure { "!" } else { "" }));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ids_of_comments_are_told_from_other_words() {
        for (comment, expected) in [
            ("Ends within a second (L14).", "L14!"),
            ("Kept (F4, Z8), and (M5, L16 and P7).", "F4! Z8! M5! L16! P7!"),
            ("The sections (P1 sections 10 to 16).", "P1!"),
            ("Served (S1 to S17).", "S1! S17!"),
            ("L2: it follows.", "L2!"),
            ("T11, Z5: requests.", "T11! Z5!"),
            ("Q8 allows that, as P1: does.", "Q8 P1"),
            ("Not `F2`, [A-Z0-9], X11x, UTF-8, 4T5, %C3%A9, V4::x, IP_V4, $A1 or a.B2", ""),
            ("Z10's", "Z10"),
        ] {
            assert_eq!(shown(&ids_in(comment)), expected, "{comment}");
        }
    }

    #[test]
    fn names_begin_with_ids() {
        let ids =
            |name: &str| -> Vec<String> { ids_of_name(name).iter().map(Id::to_string).collect() };
        assert_eq!(ids("l14_cancel_in_a_tool.md"), ["L14"]);
        assert_eq!(ids("d2_d05_one_writer"), ["D2", "D5"]);
        assert_eq!(ids("z01_marks"), ["Z1"]);
        for name in ["utf8_is_read", "l14", "a_b1_c", "v_1", "p256_x", "l00_x", "e_x"] {
            assert!(ids(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn tests_are_found_by_name_in_functions_and_lists() {
        for (line, expected) in [
            ("    fn a1_x() {", Some("a1_x")),
            ("async fn d2_y(store: &dyn Store) {", Some("d2_y")),
            ("pub(crate) fn made() {", Some("made")),
            ("    z11_dns dns", Some("z11_dns")),
            ("    z10_fuzz_sse sse,", Some("z10_fuzz_sse")),
            ("// fn a1_x()", None),
            ("    let a1_x = 1;", None),
        ] {
            assert_eq!(test_name(line), expected, "{line}");
        }
    }

    #[test]
    fn comments_begin_at_their_mark() {
        assert_eq!(comment_in("    //! Kept (D1).", "//"), Some("Kept (D1)."));
        assert_eq!(comment_in("let a = 1; // (L6)", "//"), Some("(L6)"));
        assert_eq!(comment_in("let a = \"http://a/D1\";", "//"), None);
        assert_eq!(comment_in("echo $# ${a#b}", "#"), None);
        assert_eq!(comment_mark("a/b.sql"), Some("--"));
        assert_eq!(comment_mark("a/b.png"), None);
    }

    #[test]
    fn a_file_that_names_a_test_is_not_named_again() {
        let file = |path: &str, text: &str| TrackedFile { path: path.into(), text: text.into() };
        let files = [
            file("crates/a/src/x.rs", "// Kept (L1).\n#[test]\nfn l2_y() {}\n"),
            file("crates/a/tests/it/x.rs", "//! Kept (L1, L2).\nfn l1_z() {}\n"),
            file("scenarios/loop/l1_x.md", "# L1, L3: it holds\nL4: no title\n"),
        ];
        let cited = Cited::of(&files);
        let proofs = |number| -> Vec<&str> {
            let found = cited.proofs.get(&Id { letter: 'L', number });
            found.into_iter().flatten().map(Proof::path).collect()
        };
        assert_eq!(proofs(1), ["scenarios/loop/l1_x.md", "crates/a/tests/it/x.rs"]);
        assert_eq!(proofs(2), ["crates/a/src/x.rs", "crates/a/tests/it/x.rs"]);
        assert!(cited.has(Id { letter: 'L', number: 3 }));
        assert!(!cited.has(Id { letter: 'L', number: 4 }));
    }

    #[test]
    fn data_and_examples_are_not_searched() {
        assert!(is_searched("crates/a/src/x.rs") && is_searched("scenarios/loop/l1_x.md"));
        assert!(!is_searched("crates/weir-tools/tests/cases/glob/a/before/x.rs"));
        assert!(!is_searched("xtask/src/requirements/cited.rs"));
        assert!(!is_searched("scenarios/README.md") && !is_searched("docs/live.md"));
    }
}
