//! Copies of a workspace as git worktrees (M6): made, looked at, taken away; nothing of them stays in
//! the person's repository.

use std::fs;
use std::path::PathBuf;

use weir_engine::ports::{Divergence, Worktrees};
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
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    Divergence { path: path.into(), base: bytes(base), theirs: bytes(theirs) }
}

#[test]
fn m6_a_copy_is_made_looked_at_and_taken_away() {
    let (_kept, root) = repository();
    fs::write(root.join("a.txt"), "changed and not committed\n").expect("a file");
    let worktrees = GitWorktrees::default();
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
    let worktrees = GitWorktrees::default();
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
    let worktrees = GitWorktrees::default();
    let copy = worktrees.create_worktree(&root, "s_c3").expect("a copy");
    assert_eq!(fs::read_to_string(copy.join(".weirignore")).expect("a file"), "a.txt\n");
    assert!(worktrees.worktree_changes(&root, "s_c3").expect("it can be read").is_empty());
}

#[test]
fn m6_no_repository_no_commit_no_copy() {
    let worktrees = GitWorktrees::default();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let why = worktrees.create_worktree(folder.path(), "s_c4").expect_err("no repository");
    assert!(why.contains("no git repository"), "{why}");
    run_git(folder.path(), &["init", "-q"]);
    let why = worktrees.create_worktree(folder.path(), "s_c4").expect_err("no commit");
    assert!(why.contains("no commit"), "{why}");
    worktrees.remove(folder.path(), "never there");
}

#[test]
fn m6_links_in_a_copy_are_not_followed() {
    let (_kept, root) = repository();
    let worktrees = GitWorktrees::default();
    let copy = worktrees.create_worktree(&root, "s_c5").expect("a copy");
    fs::remove_file(copy.join("a.txt")).expect("it is there");
    std::os::unix::fs::symlink("/etc/passwd", copy.join("a.txt")).expect("a link");
    let why = worktrees.worktree_changes(&root, "s_c5").expect_err("a link");
    assert!(why.contains("no plain file"), "{why}");
}

#[test]
fn m6_half_made_copies_are_made_anew_and_old_ones_swept() {
    let (_kept, root) = repository();
    let worktrees = GitWorktrees::default();
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
