//! Laws about texts as such: length, first lines, leftovers, machine paths, blocks of scenarios.

use super::tree::{Source, Text, Tree};
use super::{Finding, line_of};

/// Lines that a source should have at most.
const LINES_WANTED: usize = 400;
/// Lines that it may have at most, without an exception.
const LINES_MAX: usize = 800;

/// Words that say a thing is not finished. In halves, so that they are not found here.
const LEFTOVERS: &[&str] = &[concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/main"),
    concat!("/wo", "rk/shared"),
    concat!("/wo", "rk/."),
    concat!("/tm", "p/weir/"),
];
/// The same outside tests, where a made-up path is an example and not an input.
const MACHINE_PATHS_OUTSIDE_TESTS: &[&str] = &[concat!("/wo", "rk/"), concat!("/Us", "ers/")];

/// Blocks that every scenario has.
const BLOCKS: &[&str] = &["script", "journal", "files"];
/// The remark of a scenario whose journal depends on time.
const PAUSED_TIME: &str = "<!-- paused time only -->";

/// All findings about texts.
pub(super) fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        found.extend(length(source));
        found.extend(first_line(source));
        found.extend(module_file(source));
    }
    for text in &tree.texts {
        found.extend(leftovers(text));
        found.extend(machine_paths(tree, text));
        found.extend(scenario(text));
    }
    found.extend(test_binaries(tree));
    found
}

/// Sources above the length that is wanted, in words.
pub(super) fn long_files(tree: &Tree) -> Vec<String> {
    let long = tree.sources.iter().filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > LINES_WANTED).then(|| format!("{}: {lines} lines", source.path))
    });
    long.collect()
}

fn length(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    (lines > LINES_MAX).then(|| {
        let what = format!(
            "{lines} lines; at most {LINES_MAX}: split it by what changes together, or give it an \
             exception with a reason"
        );
        Finding::new("length", (&source.path, lines), what)
    })
}

fn first_line(source: &Source) -> Option<Finding> {
    let opens = source.text.lines().next().is_some_and(|line| line.starts_with("//!"));
    (!opens).then(|| {
        let what = "begin with `//!`: what the file is, and what it deliberately is not";
        Finding::new("header", (&source.path, 1), what)
    })
}

fn module_file(source: &Source) -> Option<Finding> {
    source.path.ends_with("/mod.rs").then(|| {
        let what = "name it after its module: `foo.rs` beside `foo/`";
        Finding::new("module", (&source.path, 1), what)
    })
}

/// Marks of unfinished work, in comments.
fn leftovers(text: &Text) -> Vec<Finding> {
    let comment = match text.path.rsplit_once('.').map_or("", |(_, end)| end) {
        "rs" => "//",
        "toml" | "sh" | "py" | "yml" | "yaml" => "#",
        "sql" => "--",
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (index, line) in text.text.lines().enumerate() {
        let Some(at) = line.find(comment) else { continue };
        for word in LEFTOVERS {
            if has_word(&line[at..], word) {
                let what = format!("{word}: do it, or write an issue and name its number");
                found.push(Finding::new("leftover", (&text.path, index + 1), what));
            }
        }
    }
    found
}

/// Whether `word` stands in `line` by itself.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn machine_paths(tree: &Tree, text: &Text) -> Vec<Finding> {
    let for_tests = text.path.contains("/tests/")
        || text.path.starts_with("tests/")
        || text.path.starts_with("scenarios/")
        || tree.sources.iter().any(|source| source.path == text.path && source.for_tests);
    // Below this line stand a source's own tests.
    let own_tests = line_of_tests(&text.text);
    let mut found = Vec::new();
    for (index, line) in text.text.lines().enumerate() {
        let strict = !for_tests && index + 1 < own_tests;
        let more = if strict { MACHINE_PATHS_OUTSIDE_TESTS } else { &[] };
        if let Some(path) = MACHINE_PATHS.iter().chain(more).find(|path| line.contains(**path)) {
            let what = format!("a path of one machine ({path}…): take it from the environment");
            found.push(Finding::new("machine-path", (&text.path, index + 1), what));
        }
    }
    found
}

fn line_of_tests(text: &str) -> usize {
    let at = text.lines().position(|line| line.trim() == "#[cfg(test)]");
    at.map_or(usize::MAX, |index| index + 1)
}

fn scenario(text: &Text) -> Vec<Finding> {
    let is_scenario = text.path.starts_with("scenarios/")
        && text.path.ends_with(".md")
        && !text.path.ends_with("README.md");
    if !is_scenario {
        return Vec::new();
    }
    let has = |block: &str| text.text.lines().any(|line| line.trim_end() == format!("```{block}"));
    let mut found = Vec::new();
    for block in BLOCKS.iter().filter(|block| !has(block)) {
        if *block == "journal" && text.text.contains(PAUSED_TIME) {
            continue;
        }
        let what =
            format!("has no {block} block: `UPDATE=1 cargo test -p weir-scenario` writes it");
        found.push(Finding::new("scenario", (&text.path, 1), what));
    }
    if !text.text.starts_with("# ") {
        let line = line_of(&text.text, "# ");
        let what = "begins with a title that says what holds";
        found.push(Finding::new("scenario", (&text.path, line), what));
    }
    found
}

/// One binary of tests per crate: every further one links everything again.
fn test_binaries(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut by_crate = std::collections::BTreeMap::<&str, Vec<&Source>>::new();
    for source in &tree.sources {
        let inside = source.inside();
        let rest = inside.strip_prefix("tests/").unwrap_or_default();
        let is_root = rest == "it/main.rs" || (rest.ends_with(".rs") && !rest.contains('/'));
        if is_root {
            by_crate.entry(&source.krate).or_default().push(source);
        }
    }
    for sources in by_crate.values().filter(|sources| sources.len() > 1) {
        for source in sources.iter().filter(|source| source.inside() != "tests/it/main.rs") {
            let what = "a second binary of tests: make it a module of tests/it/main.rs";
            found.push(Finding::new("tests", (&source.path, 1), what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        let found = findings(&tree::of(&[(path, text)]));
        found.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn texts_are_held_to_their_laws() {
        let path = "crates/weir-core/src/x.rs";
        assert!(rules(path, "//! What it is.\n").is_empty());
        assert_eq!(rules(path, "fn f() {}\n"), ["header"]);
        assert_eq!(rules(path, &format!("//! X.\n{}", "\n".repeat(900))), ["length"]);
        let left = format!("//! X.\n// {}: later\n", LEFTOVERS[0]);
        assert_eq!(rules(path, &left), ["leftover"]);
        let word = format!("//! X.\nconst S: &str = \"{}\";\n", LEFTOVERS[0]);
        assert!(rules(path, &word).is_empty(), "a word in a text is no leftover");
        let machine = format!("//! X.\nconst S: &str = \"{}\";\n", MACHINE_PATHS[0]);
        assert_eq!(rules(path, &machine), ["machine-path"]);
        assert_eq!(rules("crates/weir-core/src/x/mod.rs", "//! X.\n"), ["module"]);
    }

    #[test]
    fn scenarios_have_their_blocks() {
        let whole = "# T\n```script\n```\n```journal\n```\n```files\n```\n";
        assert!(rules("scenarios/loop/x.md", whole).is_empty());
        assert_eq!(rules("scenarios/loop/x.md", "# T\n```script\n```\n").len(), 2);
    }

    #[test]
    fn a_second_test_binary_is_found() {
        let files =
            [("crates/weir/tests/it/main.rs", "//! X."), ("crates/weir/tests/other.rs", "//! X.")];
        assert_eq!(findings(&tree::of(&files)).len(), 1);
    }
}
