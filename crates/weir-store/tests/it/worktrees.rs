//! Copies of a workspace as git worktrees (M6): made, looked at, taken away; nothing of them stays in
//! the person's repository.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use weir_engine::ports::{CopiedFile, Divergence, Worktrees};
use weir_store::GitWorktrees;
use weir_test_kit::run_git;

/// A repository with two files, one of them in a folder.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = fs::canonicalize(folder.path()).expect("it is there");
    run_git(&root, &["init", "-q", "-b", "main"]);
    fs::create_dir(root.join("src")).expect("a folder");
    fs::write(root.join("a.txt"), "one\n").expect("a file");
    fs::write(root.join("src/b.txt"), "two\n").expect("a file");
    run_git(&root, &["add", "."]);
    run_git(&root, &["commit", "-q", "-m", "first"]);
    (folder, root)
}

fn divergence(path: &str, base: Option<&str>, theirs: Option<&str>) -> Divergence {
    let copied = |text: Option<&str>| {
        text.map(|text| CopiedFile { bytes: text.into(), is_executable: false })
    };
    Divergence { path: path.into(), base: copied(base), theirs: copied(theirs), obstacle: None }
}

#[test]
fn m6_a_copy_is_made_looked_at_and_taken_away() {
    let (_kept, root) = repository();
    fs::write(root.join("a.txt"), "changed and not committed\n").expect("a file");
    let worktrees = GitWorktrees;
    let before = run_git(&root, &["for-each-ref"]);
    let copy = worktrees.create_worktree(&root, "s_c1").expect("a copy");
    assert_eq!(copy, worktrees.create_worktree(&root, "s_c1").expect("the same one again"));
    assert_eq!(fs::read_to_string(copy.join("a.txt")).expect("a file"), "one\n");
    assert!(worktrees.worktree_changes(&root, "s_c1").expect("it can be read").is_empty());
    fs::write(copy.join("a.txt"), "one\nmore\n").expect("a file");
    fs::write(copy.join("new.txt"), "new\n").expect("a file");
    fs::remove_file(copy.join("src/b.txt")).expect("it is there");
    let mut left = worktrees.worktree_changes(&root, "s_c1").expect("it can be read");
    left.sort_by(|a, b| a.path.cmp(&b.path));
    let expected = [
        divergence("a.txt", Some("one\n"), Some("one\nmore\n")),
        divergence("new.txt", None, Some("new\n")),
        divergence("src/b.txt", Some("two\n"), None),
    ];
    assert_eq!(left, expected);
    assert_eq!(run_git(&root, &["for-each-ref"]), before, "no branch stays");
    let status = run_git(&root, &["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n", "the copy does not show in the repository");
    worktrees.remove(&root, "s_c1");
    assert!(!copy.exists() && !root.join(".weir").exists());
    assert_eq!(run_git(&root, &["worktree", "list"]).lines().count(), 1);
    let gone = worktrees.worktree_changes(&root, "s_c1").expect_err("it is gone");
    assert!(gone.contains("no copy"), "{gone}");
}

#[test]
fn m6_a_workspace_below_the_top_of_its_repository_has_its_place_in_the_copy() {
    let (_kept, root) = repository();
    let src = root.join("src");
    let worktrees = GitWorktrees;
    let copy = worktrees.create_worktree(&src, "s_c2").expect("a copy");
    assert_eq!(fs::read_to_string(copy.join("b.txt")).expect("a file"), "two\n");
    fs::write(copy.join("b.txt"), "three\n").expect("a file");
    let left = worktrees.worktree_changes(&src, "s_c2").expect("it can be read");
    assert_eq!(left, [divergence("b.txt", Some("two\n"), Some("three\n"))]);
    worktrees.remove(&src, "s_c2");
}

#[test]
fn m6_lists_that_hide_files_count_in_a_copy_as_they_stand_here() {
    let (_kept, root) = repository();
    fs::write(root.join(".weirignore"), "a.txt\n").expect("a file");
    let worktrees = GitWorktrees;
    let copy = worktrees.create_worktree(&root, "s_c3").expect("a copy");
    assert_eq!(fs::read_to_string(copy.join(".weirignore")).expect("a file"), "a.txt\n");
    assert!(worktrees.worktree_changes(&root, "s_c3").expect("it can be read").is_empty());
}

#[test]
fn m6_no_repository_no_commit_no_copy() {
    let worktrees = GitWorktrees;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let why = worktrees.create_worktree(folder.path(), "s_c4").expect_err("no repository");
    assert!(why.contains("no git repository"), "{why}");
    run_git(folder.path(), &["init", "-q"]);
    let why = worktrees.create_worktree(folder.path(), "s_c4").expect_err("no commit");
    assert!(why.contains("no commit"), "{why}");
    worktrees.remove(folder.path(), "never there");
}

#[test]
fn m6_links_in_a_copy_are_not_followed_and_hinder_no_other_path() {
    let (_kept, root) = repository();
    let worktrees = GitWorktrees;
    let copy = worktrees.create_worktree(&root, "s_c5").expect("a copy");
    fs::remove_file(copy.join("a.txt")).expect("it is there");
    symlink("/etc/passwd", copy.join("a.txt")).expect("a link");
    fs::remove_dir_all(copy.join("src")).expect("it is there");
    symlink("/etc", copy.join("src")).expect("a link");
    fs::write(copy.join("new.txt"), "new\n").expect("a file");
    let left = worktrees.worktree_changes(&root, "s_c5").expect("it can be read");
    let found = |path: &str| left.iter().find(|one| one.path == path).expect("it is different");
    for link in ["a.txt", "src"] {
        let why = found(link).obstacle.as_deref().expect("a link");
        assert!(why.contains("is a link") && found(link).theirs.is_none(), "{why}");
    }
    assert_eq!(found("src/b.txt").theirs, None, "what was in the folder is gone");
    assert_eq!(*found("new.txt"), divergence("new.txt", None, Some("new\n")));
}

#[test]
fn r7_the_right_to_run_a_file_is_a_change() {
    let (_kept, root) = repository();
    let copy = GitWorktrees.create_worktree(&root, "s_c7").expect("a copy");
    fs::set_permissions(copy.join("a.txt"), PermissionsExt::from_mode(0o755)).expect("it is ours");
    let left = GitWorktrees.worktree_changes(&root, "s_c7").expect("it can be read");
    let runs = |side: &Option<CopiedFile>| side.as_ref().is_some_and(|file| file.is_executable);
    let told: Vec<_> =
        left.iter().map(|one| (&*one.path, runs(&one.base), runs(&one.theirs))).collect();
    assert_eq!(told, [("a.txt", false, true)]);
}

/// Everything that a repository can bring under the names that a copy needs.
#[test]
fn r7_no_link_of_a_repository_leads_the_making_of_a_copy_elsewhere() {
    let outside = tempfile::tempdir().expect("a temporary folder");
    let precious = outside.path().join("precious");
    let folder = ".weir/worktrees";
    let links: [(&str, &std::path::Path); 7] = [
        (".weir", outside.path()),
        (folder, outside.path()),
        (".weir/worktrees/.gitignore", &precious),
        (".weir/worktrees/weir-worktree-x", outside.path()),
        (".weir/worktrees/weir-worktree-x.base", &precious),
        (".weirignore", &precious),
        (".weirprotected", &precious),
    ];
    for (at, leads_to) in links {
        let (_kept, root) = repository();
        fs::write(&precious, "precious").expect("a file");
        fs::create_dir_all(root.join(at).parent().expect("it is below")).expect("a folder");
        symlink(leads_to, root.join(at)).expect("a link");
        run_git(&root, &["add", "-f", "."]);
        run_git(&root, &["commit", "-q", "-m", "links"]);
        let made = GitWorktrees.create_worktree(&root, "weir-worktree-x");
        if let Ok(copy) = &made {
            assert!(copy.starts_with(root.join(folder)), "{at}: {}", copy.display());
            assert_eq!(fs::canonicalize(copy).expect("it is there"), *copy, "{at}");
        }
        GitWorktrees.remove(&root, "weir-worktree-x");
        assert_eq!(fs::read_to_string(&precious).expect("it is there"), "precious", "{at}");
        let there = fs::read_dir(outside.path()).expect("it is there").count();
        assert_eq!(there, 1, "{at}: nothing was made there");
    }
}

#[test]
fn r7_a_copy_that_a_repository_brings_is_none() {
    let (_kept, root) = repository();
    let base = run_git(&root, &["rev-parse", "HEAD"]);
    let brought = root.join(".weir/worktrees/weir-worktree-x");
    fs::create_dir_all(&brought).expect("a folder");
    fs::write(brought.join("a.txt"), "not ours\n").expect("a file");
    fs::write(root.join(".weir/worktrees/weir-worktree-x.base"), base).expect("a file");
    let why = GitWorktrees.create_worktree(&root, "weir-worktree-x").expect_err("it is none");
    assert!(why.contains("is broken"), "{why}");
    assert!(GitWorktrees.find_copy(&root, "weir-worktree-x").is_err());
    assert!(brought.join("a.txt").exists(), "looking takes nothing away");
}

#[test]
fn r7_a_copy_that_lost_the_folder_of_its_project_is_left_as_it_is() {
    let (_kept, root) = repository();
    let src = root.join("src");
    let copy = GitWorktrees.create_worktree(&src, "weir-worktree-x").expect("a copy");
    fs::rename(&copy, copy.with_file_name("moved")).expect("it is ours");
    assert!(GitWorktrees.find_copy(&src, "weir-worktree-x").is_err());
    assert!(GitWorktrees.create_worktree(&src, "weir-worktree-x").is_err());
    assert!(copy.with_file_name("moved").join("b.txt").exists(), "nothing was taken away");
}

#[test]
fn r7_a_copy_that_says_it_is_of_another_repository_is_broken() {
    let ((_kept, root), (_other_kept, other)) = (repository(), repository());
    let copy = GitWorktrees.create_worktree(&root, "weir-worktree-x").expect("a copy");
    fs::write(copy.join(".git"), format!("gitdir: {}/.git\n", other.display())).expect("a file");
    let why = GitWorktrees.find_copy(&root, "weir-worktree-x").expect_err("of another");
    assert!(why.contains("names another repository"), "{why}");
    assert!(GitWorktrees.worktree_changes(&root, "weir-worktree-x").is_err());
}

#[test]
fn r7_two_that_make_the_same_copy_at_once_get_one() {
    let (_kept, root) = repository();
    for round in 0..8 {
        let name = format!("weir-worktree-{round}");
        let make = || GitWorktrees.create_worktree(&root, &name);
        let made = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).collect::<Vec<_>>()
        });
        let copy = root.join(".weir/worktrees").join(&name);
        assert!(made.iter().all(|made| made.as_ref() == Ok(&copy)), "{made:?}");
        assert!(copy.join("a.txt").exists());
    }
}

#[test]
fn m6_half_made_copies_are_made_anew_and_old_ones_swept() {
    let (_kept, root) = repository();
    let worktrees = GitWorktrees;
    worktrees.create_worktree(&root, "s_c6").expect("a copy");
    let base = root.join(".weir/worktrees/s_c6.base");
    fs::remove_file(&base).expect("it is there");
    worktrees.create_worktree(&root, "s_c6").expect("it is made anew");
    assert_eq!(worktrees.sweep_orphans(&root), 0, "it is young");
    let old = std::time::SystemTime::now() - weir_store::ORPHAN_AGE * 2;
    let file = fs::File::options().write(true).open(&base).expect("it is there");
    file.set_modified(old).expect("its time can be set");
    assert_eq!(worktrees.sweep_orphans(&root), 1);
    assert!(!root.join(".weir/worktrees").exists());
}
