//! The sources as they were at another revision, and what a list has that it had not there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;

use super::Listed;
use crate::programs::{bytes_of, bytes_of_git};
use crate::tidy::tree::Tree;

/// The revision that last changed a file.
///
/// # Errors
/// There is no git, or the file was never committed.
pub(super) fn last_change(root: &Path, file: &str) -> anyhow::Result<String> {
    let said = bytes_of_git(root, &["log", "-1", "--format=%H", "--", file])?;
    let revision = String::from_utf8(said)?.trim().to_owned();
    ensure!(!revision.is_empty(), "{file} was never committed");
    Ok(revision)
}

/// The sources of the crates at a revision.
///
/// # Errors
/// Git does not know it.
pub(super) fn tree_at(root: &Path, revision: &str) -> anyhow::Result<Tree> {
    ensure!(!revision.starts_with('-'), "{revision} is no revision");
    let folder = tempfile::tempdir()?;
    let packed = folder.path().join("sources.tar");
    let output = format!("--output={}", packed.display());
    bytes_of_git(root, &["archive", "--format=tar", &output, revision, "crates"])?;
    bytes_of(Command::new("tar").args(["-x", "-f"]).arg(&packed).arg("-C").arg(folder.path()))?;
    Tree::read(folder.path())
}

/// The rows of `now` that `before` has not, as often as each stands there.
pub(super) fn only_new(now: Vec<Listed>, before: &[Listed]) -> Vec<Listed> {
    let mut old = BTreeMap::<&str, usize>::new();
    for row in before {
        *old.entry(&row.key).or_default() += 1;
    }
    let mut rows = now;
    rows.retain(|row| match old.get_mut(row.key.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;

    #[test]
    fn what_was_there_before_is_not_new() {
        let row = |key: &str, line| Listed {
            place: Place { path: "a.rs".to_owned(), line },
            what: key.to_owned(),
            note: String::new(),
            key: key.to_owned(),
        };
        let before = [row("told", 1)];
        let now = vec![row("told", 5), row("told", 9), row("kept", 2)];
        assert_eq!(only_new(now, &before), [row("told", 9), row("kept", 2)]);
    }

    #[test]
    fn the_sources_of_a_revision_are_read_as_they_were() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let source = root.join("crates/weir-core/src/x.rs");
        std::fs::create_dir_all(source.parent().expect("it has one")).expect("folders");
        let commit = |text: &str| {
            std::fs::write(&source, text).expect("a source");
            bytes_of_git(root, &["add", "crates"]).expect("git takes it");
            let who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
            let commit = [&who[..], &["commit", "-q", "-m", "x"]].concat();
            bytes_of_git(root, &commit).expect("git commits it");
        };
        bytes_of_git(root, &["init", "-q"]).expect("git begins");
        commit("fn told() {}");
        let first = last_change(root, "crates/weir-core/src/x.rs").expect("it was committed");
        commit("fn kept() {}");
        let tree = tree_at(root, &first).expect("it is read");
        let texts: Vec<&str> = tree.texts.iter().map(|text| text.text.as_str()).collect();
        assert_eq!(texts, ["fn told() {}"]);
        assert!(last_change(root, "crates/other.rs").is_err());
        assert!(tree_at(root, "no-such-revision").is_err());
        assert!(tree_at(root, "--output=x").is_err());
    }
}
