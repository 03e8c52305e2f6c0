//! Commands that store history in a repository (A1): with the real git, and what git finds
//! outside afterwards. Not here: which lines may (the engine says so), and other files.

use std::path::PathBuf;
use std::process::Command;

use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandEnd, CommandOutcome, CommandSpec};

use crate::attack::room;
use crate::kernel::by_an_ordinary_user;
use crate::world::World;

under_confining_tiers!(
    a1_half_a_rebase_leaves_the_repository_as_it_was,
    a1_half_a_bisect_leaves_the_repository_as_it_was,
    a1_nothing_is_left_in_git_that_runs_later,
    a1_links_in_git_do_not_stay,
    a1_other_commands_do_not_write_git,
    a1_honest_lines_of_git_work,
    a1_all_changes_are_added_beside_hidden_files,
    a1_git_is_as_safe_and_as_useful_for_an_ordinary_user,
);

/// One repository, and a program that leaves a mark when git runs it.
pub(crate) struct Repository {
    pub(crate) world: World,
    pub(crate) ws: PathBuf,
    mark: PathBuf,
}

impl Repository {
    pub(crate) fn new(tier: Tier) -> Repository {
        let root = tempfile::tempdir_in(room()).expect("a folder");
        let at = root.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(at.join("ws/src")).expect("a folder");
        std::fs::create_dir_all(at.join("state")).expect("a folder");
        let mark = at.join("mark");
        std::fs::write(at.join("ws/evil"), format!("#!/bin/sh\ntouch {}\n", mark.display()))
            .expect("a file");
        std::fs::write(at.join("ws/a"), "one\n").expect("a file");
        let world = World::at(root, tier, |options| options.state_dir = at.join("state"));
        let repository = Repository { world, ws: at.join("ws"), mark };
        repository.outside(
            "chmod +x evil; git init -q -b main .; git add a; git commit -qm first; \
             git clone -q . ../far; git remote add far ../far",
        );
        repository
    }

    /// What the person does, unconfined.
    pub(crate) fn outside(&self, command: &str) -> String {
        let done = Command::new("bash")
            .args(["-c", command])
            .current_dir(&self.ws)
            .env("HOME", "/nonexistent")
            .envs([("GIT_AUTHOR_NAME", "p"), ("GIT_COMMITTER_NAME", "p")])
            .envs([("GIT_AUTHOR_EMAIL", "p@x"), ("GIT_COMMITTER_EMAIL", "p@x")])
            .output()
            .expect("bash is there");
        let said = [done.stdout, done.stderr].concat();
        String::from_utf8_lossy(&said).into_owned()
    }

    pub(crate) async fn inside(&self, call: u32, command: &str, stores: bool) -> CommandOutcome {
        let git = vec![self.ws.join(".git")];
        let (histories, protected) = if stores { (git, vec![]) } else { (vec![], git) };
        let confine = CommandConfinement {
            tier: self.world.tier,
            writable: vec![self.ws.clone()],
            protected,
            histories,
            // What lies below the temporary folder is not seen otherwise.
            readable: vec![self.ws.with_file_name("far")],
            ..CommandConfinement::default()
        };
        let command = format!(
            "export HOME=/nonexistent GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x \
             GIT_COMMITTER_NAME=m GIT_COMMITTER_EMAIL=m@x; {command}"
        );
        let spec = self.world.spec(call, &command);
        self.world.run(CommandSpec { cwd: self.ws.clone(), confine, ..spec }).await
    }

    fn names(&self) -> Vec<String> {
        let listed = std::fs::read_dir(self.ws.join(".git")).expect("a folder").flatten();
        let mut names: Vec<String> =
            listed.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

async fn a1_nothing_is_left_in_git_that_runs_later(tier: Tier) {
    let repository = Repository::new(tier);
    let before = (repository.names(), repository.outside("cat .git/config; ls -R .git/hooks"));
    let evil = repository.ws.join("evil");
    let evil = evil.display();
    let outcome = repository
        .inside(
            1,
            &format!(
                "cd .git; E='[core]\\n fsmonitor = {evil}\\n hooksPath = x/hooks\\n'; mkdir x x/hooks; \
                 printf \"$E\" > x/config; cp ../evil x/hooks/pre-commit; \
                 ln -s ../objects x/objects; ln -s ../refs x/refs; echo x > commondir; \
                 printf \"$E\" > config.worktree; printf \"$E\" >> config; \
                 mkdir rebase-merge rebase-apply sequencer worktrees worktrees/w; \
                 echo 'exec {evil}' > rebase-merge/git-rebase-todo; echo x > gitdir; \
                 echo 'refs/heads/main' > rebase-merge/head-name; \
                 echo 'pick x' > sequencer/todo; cp ../evil hooks/pre-commit; \
                 cp ../evil hooks/post-index-change; mv hooks h; mv config c; \
                 printf '* filter=x' > info/attributes; echo x > BISECT_LOG; \
                 cd ..; mv .git g; rm -rf .git/hooks; true"
            ),
            true,
        )
        .await;
    let after = (repository.names(), repository.outside("cat .git/config; ls -R .git/hooks"));
    let logs =
        |names: &[String]| names.iter().filter(|n| *n != "logs").cloned().collect::<Vec<_>>();
    assert_eq!((logs(&after.0), &after.1), (logs(&before.0), &before.1), "{outcome:?}");
    let said = repository.outside("git status --short; git diff; git rebase --continue; git add a");
    assert!(!repository.mark.exists(), "{said} {outcome:?}");
    assert!(said.contains("?? evil"), "{said}");
    if tier.has_own_view() {
        assert!(outcome.output.contains("not kept in"), "{outcome:?}");
        assert!(outcome.output.contains("commondir"), "{outcome:?}");
    }
}

async fn a1_all_changes_are_added_beside_hidden_files(tier: Tier) {
    let repository = Repository::new(tier);
    let hidden = repository.ws.join(".env");
    std::fs::write(&hidden, "planted-secret-value").expect("a file");
    std::fs::write(repository.ws.join("src/.env"), "not hidden").expect("a file");
    let line = "echo two > a; git add -A && git commit -q -F - <<'END'\nBetter words\n\nThey are \
                better.\nEND";
    let (git, writable) = (repository.ws.join(".git"), repository.ws.clone());
    let confine = CommandConfinement {
        tier,
        writable: vec![writable],
        histories: vec![git],
        masked: vec![hidden],
        ..CommandConfinement::default()
    };
    let command = format!(
        "export HOME=/nonexistent GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=m \
         GIT_COMMITTER_EMAIL=m@x; {line}"
    );
    let spec = repository.world.spec(1, &command);
    let outcome =
        repository.world.run(CommandSpec { cwd: repository.ws.clone(), confine, ..spec }).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
    let told = repository.outside("git log -1 --format=%B");
    assert_eq!(told.trim(), "Better words\n\nThey are better.", "{outcome:?}");
    let names = repository.outside("git show --name-only --format=");
    assert_eq!(names.trim(), "a\nevil\nsrc/.env", "{outcome:?}");
    let left = repository.outside("git status --short");
    assert_eq!(left.trim(), "?? .env", "what is hidden is not stored, and nothing else is left");
}

async fn a1_half_a_rebase_leaves_the_repository_as_it_was(tier: Tier) {
    let repository = Repository::new(tier);
    repository.outside(
        "git checkout -qb topic; echo topic > a; git commit -qam topic; git checkout -q main; \
         echo main > a; git commit -qam main; git checkout -q topic; echo mine > c; git add c; \
         git commit -qm more",
    );
    let state = "git symbolic-ref HEAD; git rev-parse HEAD topic main; git diff --cached --stat";
    let before = repository.outside(state);
    let outcome = repository.inside(1, "git rebase main", true).await;
    assert_eq!(repository.outside(state), before, "{outcome:?}");
    let status = repository.outside("git status");
    assert!(!status.contains("rebas") && !status.contains("detached"), "{status}");
    if tier == Tier::Bubblewrap {
        assert!(outcome.output.contains("the rebase stopped half-way"), "{outcome:?}");
        assert!(outcome.output.contains("outside_sandbox: true"), "{outcome:?}");
        repository.outside("git restore .");
        let outcome = repository.inside(2, "git rebase HEAD~1 --no-ff", true).await;
        assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
        assert_ne!(repository.outside(state), before, "one that ends is kept");
    }
    assert!(repository.outside("git status").contains("On branch topic"));
}

async fn a1_half_a_bisect_leaves_the_repository_as_it_was(tier: Tier) {
    let repository = Repository::new(tier);
    repository.outside("for i in 1 2 3 4; do echo $i > a; git commit -qam more; done");
    let state = "git symbolic-ref HEAD; git rev-parse HEAD main; git diff --cached --stat; \
                 git for-each-ref refs/bisect";
    let before = repository.outside(state);
    let line = "git bisect start && git bisect bad HEAD && git bisect good HEAD~4";
    let outcome = repository.inside(1, line, true).await;
    assert_eq!(repository.outside(state), before, "{outcome:?}");
    let status = repository.outside("git status");
    assert!(!status.contains("bisect") && !status.contains("detached"), "{status}");
    if tier == Tier::Bubblewrap {
        assert!(outcome.output.contains("the bisect stopped half-way"), "{outcome:?}");
        assert!(outcome.output.contains("outside_sandbox: true"), "{outcome:?}");
    }
    repository.outside("git restore .");
    if tier == Tier::Bubblewrap {
        let whole = format!("{line}; git bisect reset");
        let outcome = repository.inside(2, &whole, true).await;
        assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
        assert_eq!(repository.outside(state), before, "one that ends leaves nothing");
    }
    assert_eq!(repository.outside("git status --short").trim(), "?? evil", "{outcome:?}");
}

async fn a1_links_in_git_do_not_stay(tier: Tier) {
    let repository = Repository::new(tier);
    let outcome = repository
        .inside(
            1,
            "rm -f .git/logs/HEAD; ln -s ../../evil .git/logs/HEAD; mkdir -p .git/refs/heads/x; \
             ln -s ../../../../evil .git/refs/heads/x/y; rm -f .git/index; ln -s evil .git/index; \
             ln -s ../evil .git/COMMIT_EDITMSG; rm -f .git/HEAD; ln -s evil .git/HEAD; true",
            true,
        )
        .await;
    let links = repository.outside("find .git -type l");
    assert_eq!(links, "", "{outcome:?}");
    let said = repository.outside("git commit -q --allow-empty -m 'x; touch ../mark'; git status");
    let evil = std::fs::read_to_string(repository.ws.join("evil")).expect("a file");
    assert_eq!(evil.lines().count(), 2, "{said} {outcome:?}");
}

async fn a1_other_commands_do_not_write_git(tier: Tier) {
    let repository = Repository::new(tier);
    let before = repository.outside("find .git -type f | sort | xargs sha256sum");
    let command = "echo x > .git/commondir; git add -A; git commit -m x; echo x > .git/refs/x; \
                   mv .git g; git branch b; ls .git >/dev/null && git log --oneline";
    let outcome = repository.inside(1, command, false).await;
    let after = repository.outside("find .git -type f | sort | xargs sha256sum");
    assert_eq!(before, after, "{outcome:?}");
    assert!(outcome.output.contains("first"), "it is read: {outcome:?}");
    assert!(outcome.output.contains("run it alone"), "{outcome:?}");
}

async fn a1_honest_lines_of_git_work(tier: Tier) {
    let repository = Repository::new(tier);
    repository.outside("cd ../far && git commit -q --allow-empty -m far");
    let lines = [
        "echo two > b && git add b && git commit -qm second && git status --short",
        "git checkout -q -b topic && echo three > c && git add -A && git commit -qm third",
        "git checkout -q main && git merge -q --no-ff -m merged topic",
        "git tag v1 && git tag -a v2 -m 'a tag' && git branch -d topic && git tag -d v1",
        "echo four >> a && git stash -q && git stash list && git stash pop -q && git diff --stat",
        "git fetch -q far && git log --oneline far/main | head -3",
        "git branch x && git branch -D x && git reflog | wc -l",
        "git pack-refs --all && git gc -q && git branch z && git branch -d z && git commit -qam fifth",
        "git checkout -q -b left main && echo l > a && git commit -qam left",
        "git checkout -q -b right main && echo r > a && git commit -qam right",
        "git merge left; git status | grep -q 'Unmerged paths'",
    ];
    for (call, line) in (1..).zip(lines) {
        let outcome = repository.inside(call, line, true).await;
        assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{line}: {outcome:?}");
        assert!(!outcome.output.contains("not kept"), "{line}: {outcome:?}");
        let sound = repository.outside("git fsck --full 2>&1 | grep -v dangling");
        assert!(!sound.contains("error") && !sound.contains("missing"), "{line}: {sound}");
    }
    // The merge is to be ended by another command: what git noted for it was kept.
    let outcome =
        repository.inside(20, "git checkout --ours a && git commit -qam both", true).await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 0 }, "{outcome:?}");
    let said = repository.outside("git log -1 --format=%s; git status --short; ls .git");
    assert!(said.starts_with("both\n"), "{said}");
    assert!(!said.contains("MERGE_HEAD") && !said.contains(".lock"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a1_what_the_person_does_meanwhile_is_kept() {
    if !crate::world::is_there(Tier::Bubblewrap) {
        return;
    }
    let repository = Repository::new(Tier::Bubblewrap);
    let command = "git rev-parse HEAD > src/id; git branch inside; git pack-refs --all; \
                   git add evil; touch src/go; while [ ! -e src/on ]; do sleep 0.05; done";
    let run = repository.inside(1, command, true);
    let person = async {
        while !repository.ws.join("src/go").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        repository.outside(
            "echo p > p; git add p; git tag person $(cat src/id); git pack-refs --all; touch src/on",
        )
    };
    let (outcome, said) = tokio::join!(run, person);
    assert!(outcome.output.contains("somebody else changed it"), "{said} {outcome:?}");
    let said =
        repository.outside("git status --short; git branch; git tag; git log -1 --format=%s");
    for kept in ["A  p", "inside", "main", "person", "first"] {
        assert!(said.contains(kept), "{kept}: {said} {outcome:?}");
    }
}

async fn a1_git_is_as_safe_and_as_useful_for_an_ordinary_user(tier: Tier) {
    let under = format!("git::{}", tier.as_str());
    by_an_ordinary_user(&format!("{under}::a1_nothing_is_left_in_git_that_runs_later"));
    by_an_ordinary_user(&format!("{under}::a1_honest_lines_of_git_work"));
}

/// What holds no content holds its place; nothing of Weir's lies among the files of the person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d1_no_file_of_weirs_is_committed_or_served() {
    if !crate::world::is_there(Tier::Bubblewrap) {
        return;
    }
    let repository = Repository::new(Tier::Bubblewrap);
    let names = [".weir", ".weirignore", ".weirprotected", ".envrc", "sub/new"];
    let ws = &repository.ws;
    let confine = CommandConfinement {
        tier: Tier::Bubblewrap,
        writable: vec![ws.clone()],
        protected: names.iter().map(|name| ws.join(name)).collect(),
        histories: vec![ws.join(".git")],
        ..CommandConfinement::default()
    };
    let identity = "-c user.name=m -c user.email=m@x";
    let line = format!(
        "git add -A && git {identity} commit -qm all && git status --short --ignored && \
         git show --name-only --format= && find . -path ./.git -prune -o -type f -print | sort"
    );
    let spec = CommandSpec { cwd: ws.clone(), confine, ..repository.world.spec(1, &line) };
    let outcome = repository.world.run(spec).await;
    assert_eq!(outcome.output, "evil\n./a\n./evil\n", "{outcome:?}");
    assert_eq!(repository.outside("git status --short --ignored; ls -A"), ".git\na\nevil\nsrc\n");
}
