//! `cargo xtask tidy`: the project's laws, held by reading its sources. Not here: what clippy and
//! rustfmt hold (length of functions, unwraps, formatting).
//!
//! Every finding names file and line and says what to do. What is let be stands in
//! `xtask/tidy-allow.toml` with its reason; an entry that nothing needs any more is a finding too.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde::Deserialize;

mod crates;
mod glossary;
pub(crate) mod imports;
mod links;
mod permits;
mod ratchet;
mod reach;
mod recipes;
mod text;
pub(crate) mod tree;

use crate::{api, requirements};
use tree::Tree;

const ALLOW_LIST: &str = "xtask/tidy-allow.toml";

/// Hold the project's laws: borders between crates, budgets, lists that are complete
#[derive(Debug, Args)]
pub(crate) struct TidyArgs {
    /// Also name the files that are longer than they should be
    #[arg(long)]
    notes: bool,
}

/// Something to change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    rule: &'static str,
    what: String,
}

impl Finding {
    fn new(rule: &'static str, place: (&str, usize), what: impl Into<String>) -> Finding {
        Finding { path: place.0.to_owned(), line: place.1, rule, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: [{}] {}", self.path, self.line, self.rule, self.what)
    }
}

/// Prints what is found.
///
/// # Errors
/// The project cannot be read.
pub(crate) fn tidy(root: &Path, args: &TidyArgs) -> anyhow::Result<ExitCode> {
    let tree = Tree::read(root)?;
    let found = findings(root, &tree)?;
    let mut out = std::io::stdout().lock();
    if args.notes {
        for note in text::long_files(&tree) {
            writeln!(out, "note: {note}")?;
        }
    }
    for finding in &found {
        writeln!(out, "{finding}")?;
    }
    let long = text::long_files(&tree).len();
    writeln!(out, "tidy: {} findings, {long} files above the target length", found.len())?;
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}

fn findings(root: &Path, tree: &Tree) -> anyhow::Result<Vec<Finding>> {
    let mut found = crates::findings(root)?;
    found.extend(tree.broken.iter().cloned());
    found.extend(text::findings(tree));
    found.extend(links::findings(root, tree));
    found.extend(imports::findings(tree));
    found.extend(permits::findings(tree));
    found.extend(glossary::findings(tree));
    found.extend(reach::findings(tree));
    found.extend(recipes::findings(root, tree));
    for problem in requirements::problems(root)? {
        let place = (problem.path.as_str(), problem.line);
        found.push(Finding::new("requirements", place, problem.what));
    }
    for problem in api::problems(root, tree)? {
        let place = (problem.path.as_str(), problem.line);
        found.push(Finding::new("api", place, problem.what));
    }
    found.extend(ratchet::findings(root, tree)?);
    found.sort();
    found.dedup();
    allowed(root, found)
}

/// The file of exceptions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowList {
    #[serde(default)]
    allow: Vec<Allow>,
}

/// One exception.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    rule: String,
    path: String,
    /// Only findings that contain this.
    #[serde(default)]
    contains: String,
    reason: String,
}

fn allowed(root: &Path, mut found: Vec<Finding>) -> anyhow::Result<Vec<Finding>> {
    let text = match fs::read_to_string(root.join(ALLOW_LIST)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).context(ALLOW_LIST),
    };
    let list: AllowList = toml::from_str(&text).context(ALLOW_LIST)?;
    for allow in &list.allow {
        let before = found.len();
        found.retain(|finding| !allow.covers(finding));
        let place = (ALLOW_LIST, line_of(&text, &allow.path));
        if found.len() == before {
            let what = format!("nothing needs the exception for {}: remove it", allow.path);
            found.push(Finding::new("allow-list", place, what));
        }
        if allow.reason.trim().is_empty() {
            let what = format!("the exception for {} has no reason: give one", allow.path);
            found.push(Finding::new("allow-list", place, what));
        }
    }
    Ok(found)
}

impl Allow {
    fn covers(&self, finding: &Finding) -> bool {
        self.rule == finding.rule
            && self.path == finding.path
            && finding.what.contains(&self.contains)
    }
}

/// The first line that contains `needle`, from 1.
fn line_of(text: &str, needle: &str) -> usize {
    text.lines().position(|line| line.contains(needle)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let root = crate::root().expect("xtask lies in the workspace");
        let tree = Tree::read(&root).expect("the sources can be read");
        let found = findings(&root, &tree).expect("the laws can be checked");
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }

    #[test]
    fn an_exception_covers_its_rule_and_path_only() {
        let allow = Allow {
            rule: "length".into(),
            path: "a.rs".into(),
            contains: String::new(),
            reason: "a table".into(),
        };
        assert!(allow.covers(&Finding::new("length", ("a.rs", 1), "long")));
        assert!(!allow.covers(&Finding::new("length", ("b.rs", 1), "long")));
        assert!(!allow.covers(&Finding::new("header", ("a.rs", 1), "none")));
    }
}
