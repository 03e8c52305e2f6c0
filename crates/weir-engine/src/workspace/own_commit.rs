//! Whether a line of git makes anew only what nobody else can have (U13): the newest commit, which was made
//! in this very repository and which no remote has, as far as the refs tell. The reflog leads back to it.
//!
//! Nothing is run. What cannot be told for certain is no: then a person is asked, as about every commit
//! that is made anew. Not here: the row of the floor that asks.

use std::path::Path;

use super::git_words::{
    PackedRefs, REFS_MAX, RepositoryFolders, files_below, lines_of_git, read_small_file,
};
use super::repositories::stays_here;

/// Commands of git that leave the newest commit the newest, or make one on top of it.
const BESIDE: [&str; 8] =
    ["add", "commit", "diff", "log", "ls-files", "rev-parse", "show", "status"];
/// What git notes of a commit that it made, before its first line. Not of a merge: that has more than one
/// line of commits below it.
const MADE_HERE: [&str; 3] = ["commit: ", "commit (amend): ", "commit (initial): "];

/// Whether a command in the folder `at` is such a line.
pub(super) fn renews_own_commit(at: &Path, command: &str) -> bool {
    if !command.contains("--am") || !stays_here(command) {
        return false;
    }
    let lines = lines_of_git(command);
    let amends = |words: &Vec<String>| {
        words[0] == "commit" && words[1..].iter().any(|word| word.starts_with("--am"))
    };
    let beside = |words: &Vec<String>| BESIDE.contains(&words[0].as_str());
    lines.iter().any(amends)
        && lines.iter().all(beside)
        && RepositoryFolders::find_around(at).is_some_and(|repository| is_own(&repository))
}

/// Whether the newest commit was made here last of all, and no remote has it.
fn is_own(repository: &RepositoryFolders) -> bool {
    let packed = repository.packed_refs();
    let head = repository.head_commit(&packed).filter(|id| is_commit_id(id));
    let Some(id) = head else { return false };
    // A merge or a rebase that waits would be gone on with.
    let waits = ["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
    waits.iter().all(|name| repository.git.join(name).symlink_metadata().is_err())
        && is_made_here(repository, &id)
        && packed.is_whole
        && reads_loose_refs(repository)
        && knows_its_remotes(repository, &packed)
        && repository.remotes_at(&id, &packed).is_empty()
}

fn is_commit_id(id: &str) -> bool {
    id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether the last thing that happened to `HEAD` was that this commit was made. What was checked out,
/// pulled or gone back to others may have, although no branch of theirs ends there.
fn is_made_here(repository: &RepositoryFolders, id: &str) -> bool {
    let log = read_small_file(&repository.git.join("logs/HEAD")).unwrap_or_default();
    let Some((who, what)) = log.lines().last().and_then(|line| line.split_once('\t')) else {
        return false;
    };
    who.split(' ').nth(1) == Some(id) && MADE_HERE.iter().any(|start| what.starts_with(start))
}

/// Whether the refs say anything of the remotes that the repository names: of one that was only pushed to by
/// address, or never asked, they do not. What it includes may name one too.
fn knows_its_remotes(repository: &RepositoryFolders, packed: &PackedRefs) -> bool {
    let path = repository.common.join("config");
    if path.symlink_metadata().is_ok() && read_small_file(&path).is_none() {
        return false;
    }
    let may_name_one =
        ["remote", "include"].iter().any(|start| !repository.section_settings(start).is_empty());
    !may_name_one
        || packed.remotes().next().is_some()
        || !files_below(&repository.common.join("refs/remotes")).is_empty()
}

/// Whether every ref of a remote that is a file can be read: one that is too large or one too many could be
/// the one.
fn reads_loose_refs(repository: &RepositoryFolders) -> bool {
    let below = |folder: &str| files_below(&repository.common.join(folder));
    let loose: Vec<_> = ["refs/remotes", "logs/refs/remotes"].into_iter().flat_map(below).collect();
    loose.len() < REFS_MAX && loose.iter().all(|path| read_small_file(path).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789012345678901234567890123456789";

    struct Repository(tempfile::TempDir);

    impl Repository {
        /// One whose newest commit was made there.
        fn new() -> Repository {
            let repository = Repository(tempfile::tempdir().expect("a folder"));
            repository.write("HEAD", "ref: refs/heads/main\n");
            repository.write("refs/heads/main", &format!("{ID}\n"));
            repository.log("commit: Better words");
            repository
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(".git").join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }

        fn log(&self, what: &str) {
            let zero = "0".repeat(40);
            self.write("logs/HEAD", &format!("{zero} {ID} A B <a@b> 1 +0000\t{what}\n"));
        }

        fn is_own(&self, command: &str) -> bool {
            renews_own_commit(self.0.path(), command)
        }
    }

    const AMEND: &str = "git commit -q --amend -m 'Better words'";

    #[test]
    fn u13_only_lines_that_renew_the_newest_commit_are_such() {
        let repository = Repository::new();
        for command in [
            AMEND,
            "git commit --amend --no-edit",
            "git add -A && git commit --amend --no-edit",
            "git status && git commit --am -m x; git log -1",
            "git commit -m x && git commit --amend -m y",
        ] {
            assert!(repository.is_own(command), "{command}");
        }
        for command in [
            "git commit -m x",
            "git commit -m --amend-not",
            "git rebase -i HEAD~2",
            "git reset HEAD~3 && git commit --amend --no-edit",
            "git checkout main && git commit --amend --no-edit",
            "git fetch && git commit --amend --no-edit",
            "git commit --amend --no-edit && git push",
            "git -C other commit --amend --no-edit",
            "git --git-dir=x commit --amend --no-edit",
            "git -c core.hooksPath=x commit --amend --no-edit",
            "cd other && git commit --amend --no-edit",
            "GIT_DIR=other/.git git commit --amend --no-edit",
            "make && git commit --amend --no-edit",
            "sh -c 'git commit --amend --no-edit'",
            "xargs git commit --amend < list",
            "$GIT commit --amend --no-edit",
            "git stash && git commit --amend --no-edit",
            "git branch -f main HEAD~2 && git commit --amend",
        ] {
            let own = repository.is_own(command);
            // The one before is a message: the line makes nothing anew, and is asked about nowhere.
            assert!(!own || command == "git commit -m --amend-not", "{command}");
        }
    }

    #[test]
    fn u13_what_a_remote_has_or_was_not_made_last_is_not_ones_own() {
        let other = "f".repeat(40);
        type Change<'a> = &'a dyn Fn(&Repository);
        let cases: [(&str, Change<'_>); 20] = [
            ("a remote of which no ref tells", &|at| {
                at.write(
                    "config",
                    "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = ../far.git\n",
                );
            }),
            ("one whose section is written otherwise", &|at| {
                at.write("config", "[Remote\t\"origin\"] url = ../far.git\n");
            }),
            ("one behind another section", &|at| {
                at.write("config", "[core][remote \"origin\"] url = ../far.git\n");
            }),
            ("settings from elsewhere", &|at| at.write("config", "[include]\n\tpath = more\n")),
            ("settings that are too long to read", &|at| {
                at.write("config", &"#".repeat(5 << 20));
            }),
            ("a branch of a remote", &|at| at.write("refs/remotes/origin/main", ID)),
            ("a packed one", &|at| at.write("packed-refs", &format!("{ID} refs/remotes/o/x\n"))),
            ("one that went on", &|at| {
                let log = format!("{} {ID} p <p@x> 1 +0000\tupdate by push\n", "0".repeat(40));
                at.write("logs/refs/remotes/origin/main", &log);
            }),
            ("went back to", &|at| at.log("reset: moving to HEAD~1")),
            ("checked out", &|at| at.log("checkout: moving from a to main")),
            ("pulled", &|at| at.log("pull: Fast-forward")),
            ("cloned", &|at| at.log("clone: from https://a.example/x")),
            ("merged", &|at| at.log("commit (merge): Merge branch x")),
            ("says so itself", &|at| at.log("reset: commit: moving")),
            ("another one was made", &|at| {
                let line = format!("{ID} {other} A <a@b> 1 +0000\tcommit: x\n");
                at.write("logs/HEAD", &line);
            }),
            ("no log", &|at| at.write("logs/HEAD", "")),
            ("no commit", &|at| at.write("refs/heads/main", "x")),
            ("a rebase waits", &|at| at.write("rebase-merge/onto", ID)),
            ("a merge waits", &|at| at.write("MERGE_HEAD", ID)),
            ("refs that cannot be read", &|at| {
                let large = "#".repeat(5 << 20);
                at.write("packed-refs", &format!("{large}\n{ID} refs/remotes/o/x\n"));
            }),
        ];
        for (name, change) in cases {
            let repository = Repository::new();
            change(&repository);
            assert!(!repository.is_own(AMEND), "{name}");
        }
        let elsewhere = Repository::new();
        elsewhere.write("refs/remotes/origin/main", &other);
        elsewhere.write("packed-refs", &format!("# x\n{other} refs/remotes/far/topic\n"));
        assert!(elsewhere.is_own(AMEND), "remotes have other commits");
        let none = tempfile::tempdir().expect("a folder");
        assert!(!renews_own_commit(none.path(), AMEND), "no repository");
    }
}
