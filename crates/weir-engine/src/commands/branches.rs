//! Where the names of git's history led before a command that can move them; told with its result, so that
//! there is a way back as long as git keeps the commits. Blocks. Not here: commits themselves, which Weir
//! keeps no copy of, and what a commit holds (`history`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::history::{GitRepository, REPOSITORIES_MAX};
use crate::workspace::Workspace;

/// Names that are told.
const NAMES_MAX: usize = 10;
/// Letters of a commit that are told: enough to be one commit's in any repository.
const COMMIT_CHARS: usize = 16;
/// What stands in a line that moves names otherwise than by new commits on top.
const MOVING: [&str; 15] = [
    "--am",
    "rebase",
    "reset",
    "branch",
    "stash",
    "update-ref",
    "gc",
    "prune",
    "reflog",
    " -B",
    " -C",
    "force",
    " -f",
    "$",
    "`",
];

/// The names of one repository, with their commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepositoryRefs {
    top: PathBuf,
    git: PathBuf,
    commits: BTreeMap<String, String>,
}

/// Whether a line could move a name away from its commits, as far as its words tell.
pub(super) fn may_move(command: &str) -> bool {
    command.contains("git") && MOVING.iter().any(|word| command.contains(word))
}

/// What the names of all repositories lead to.
pub(super) fn read_repository_refs(workspace: &Workspace) -> Vec<RepositoryRefs> {
    let all =
        workspace.git_histories(&workspace.find_governed()).into_iter().take(REPOSITORIES_MAX);
    let of = |(top, git): (PathBuf, PathBuf)| {
        let commits =
            GitRepository { workspace, top: top.clone(), git: git.clone() }.refs().into_iter();
        let own = |name: &str| {
            name == "HEAD"
                || name == "refs/stash"
                || name.starts_with("refs/heads/")
                || name.starts_with("refs/tags/")
        };
        RepositoryRefs { top, git, commits: commits.filter(|(name, _)| own(name)).collect() }
    };
    all.map(of).collect()
}

/// What is to be said of names that no longer lead to what they led to.
pub(super) fn describe_moved_refs(
    workspace: &Workspace,
    before: &[RepositoryRefs],
) -> Option<String> {
    let mut moved = Vec::new();
    for RepositoryRefs { top, git, commits } in before {
        let repository = GitRepository { workspace, top: top.clone(), git: git.clone() };
        let now = repository.refs();
        let still: BTreeSet<&String> = now.values().collect();
        let place = workspace.shown_at(top);
        let place = if place == "." { String::new() } else { format!("{place}: ") };
        for (name, commit) in commits.iter().filter(|(_, commit)| !still.contains(commit)) {
            let leads_there = |to: &String| {
                repository.run_git(&["merge-base", "--is-ancestor", commit, to], "").is_some()
            };
            let to = match now.get(name) {
                // Another stash lies on top of it.
                Some(_) if name == "refs/stash" => continue,
                Some(to) if leads_there(to) => continue,
                Some(to) => format!("now {}", short_commit_id(to)),
                None => "gone".to_owned(),
            };
            // The branch says it.
            if name == "HEAD" && commits.iter().filter(|(_, id)| *id == commit).count() > 1 {
                continue;
            }
            moved.push(format!("{place}{name} was {} ({to})", short_commit_id(commit)));
        }
    }
    let more = moved.len().saturating_sub(NAMES_MAX);
    moved.truncate(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!moved.is_empty()).then(|| {
        format!(
            "[Moved in git: {}{more}. As long as git keeps the commit, `git update-ref NAME COMMIT` leads \
             back to it.]",
            moved.join("; ")
        )
    })
}

fn short_commit_id(commit: &str) -> &str {
    commit.get(..COMMIT_CHARS).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use super::super::history::tests::Place;
    use super::*;

    #[test]
    fn z3_a_branch_that_leaves_its_commits_is_told_and_an_ordinary_commit_is_not() {
        let place = Place::new();
        let run = |line: &str| {
            let before = read_repository_refs(&place.workspace);
            place.run(line);
            describe_moved_refs(&place.workspace, &before)
        };
        assert_eq!(run("echo y > a.txt && git commit -qam two"), None);
        assert_eq!(run("git checkout -q -b topic && git tag v1"), None);
        let told = run("git reset -q --hard HEAD~1").unwrap_or_default();
        assert_eq!(told, "", "main and a tag still lead there");
        place.run("git tag -d v1 && git branch -q -D main && git checkout -q -b main");
        place.run("git branch -q -D topic");
        let told = run("git commit -q --amend -m anew").expect("it moved");
        assert!(told.contains("refs/heads/main was"), "{told}");
        assert!(!told.contains("HEAD was"), "{told}");
        let told = run("git checkout -q other && git branch -q -D main");
        let told = told.expect("it is gone");
        assert!(told.contains("refs/heads/main was") && told.contains("(gone)"), "{told}");
    }

    #[test]
    fn z3_only_a_line_that_could_move_a_name_is_looked_at() {
        for line in ["git commit --amend", "git update-ref a b", "git $X", "cd a; git reset -q x"] {
            assert!(may_move(line), "{line}");
        }
        for line in ["git commit -m x", "cargo test", "git status", "git add ."] {
            assert!(!may_move(line), "{line}");
        }
    }
}
