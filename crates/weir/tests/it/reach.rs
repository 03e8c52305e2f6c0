//! The page that tells what was tried with what (`docs/reach.md`, R1): its versions are those that the judges
//! install, and the tests that it names are there. Not here: whether they pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What of the packages of Python is tried, and not only needed.
const TRIED_OF_PYTHON: [&str; 7] = [
    "anthropic",
    "google-genai",
    "mcp-server-fetch",
    "mcp-server-git",
    "mcp-server-time",
    "ollama",
    "openai",
];
/// Runs the packages of npm.
const NEEDED_OF_NPM: &str = "node";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Name and version of what a `package.json` has installed.
fn of_npm(path: &str) -> Vec<(String, String)> {
    let manifest: Value = serde_json::from_str(&read(path)).expect("JSON");
    let packages = manifest["dependencies"].as_object().expect("packages").iter();
    let packages = packages.filter(|(name, _)| *name != NEEDED_OF_NPM);
    packages
        .map(|(name, version)| (name.clone(), version.as_str().expect("a version").to_owned()))
        .collect()
}

/// The same of a `requirements.txt`.
fn of_python(path: &str) -> Vec<(String, String)> {
    let text = read(path);
    let packages = text.lines().filter_map(|line| line.split_once("=="));
    packages
        .filter(|(name, _)| TRIED_OF_PYTHON.contains(name))
        .map(|(name, version)| (name.to_owned(), version.trim().to_owned()))
        .collect()
}

#[test]
fn r1_the_page_of_what_was_tried_has_the_versions_that_are_tried() {
    let page = read("docs/reach.md");
    let test = read("test");
    let yopo = test.split_once("install_yopo() {\n  local version=").expect("it is installed").1;
    let yopo = yopo.lines().next().expect("a version").to_owned();
    let mut tried = vec![("yopo".to_owned(), yopo)];
    for path in ["tests/outside/acp", "tests/outside/mcp", "tests/aimock"] {
        tried.extend(of_npm(&format!("{path}/package.json")));
    }
    for path in ["tests/outside/mcp", "tests/sdk"] {
        tried.extend(of_python(&format!("{path}/requirements.txt")));
    }
    assert!(tried.len() > TRIED_OF_PYTHON.len() + 6, "{tried:?}");
    for (name, version) in tried {
        let (name, version) = (format!("| `{name}`"), format!("| {version} |"));
        let is_said = |line: &str| line.starts_with(&name) && line.contains(&version);
        assert!(page.lines().any(is_said), "docs/reach.md has no line {name} … {version}");
    }
}

/// Whether a word is the name of a test: `r1_what_is_so`.
fn is_test_name(word: &str) -> bool {
    let Some((id, rest)) = word.split_once('_') else { return false };
    let number = id.strip_prefix(|letter: char| letter.is_ascii_lowercase());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.is_some_and(is_number) && !rest.is_empty()
}

/// Takes those names away that a file below this folder has.
fn find_names(folder: &Path, names: &mut BTreeSet<&str>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_names(&path, names);
        } else if path
            .extension()
            .is_some_and(|end| ["rs", "py", "mjs"].iter().any(|known| end == *known))
        {
            let text = std::fs::read_to_string(&path).expect("a text");
            let is_there = |name: &str| {
                text.contains(&format!(" {name}(")) || text.contains(&format!("test('{name}'"))
            };
            names.retain(|name| !is_there(name));
        }
    }
}

#[test]
fn r1_the_page_of_what_was_tried_names_tests_that_there_are() {
    let page = read("docs/reach.md");
    let words = page.split('`').skip(1).step_by(2);
    let mut names: BTreeSet<&str> = words.filter(|word| is_test_name(word)).collect();
    assert!(names.len() > 10, "{names:?}");
    for krate in ["weir", "weir-server", "weir-providers", "weir-store"] {
        find_names(&repository().join(format!("crates/{krate}/tests")), &mut names);
    }
    for folder in ["tests/tui", "tests/browser"] {
        find_names(&repository().join(folder), &mut names);
    }
    assert!(names.is_empty(), "docs/reach.md names tests that are not there: {names:?}");
}
