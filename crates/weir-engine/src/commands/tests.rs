//! What counts as changed by a command, on real files; and what looking costs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use weir_core::tool::PathAccess;

use super::baseline::{BOUNDS, BaselineBounds, CommandOpening, WorkspaceBaseline};
use super::compare::{TimeWindow, WorkspaceDelta, compare_workspace};
use super::made::{ChangeSource, CommandComparison, compare_command};
use crate::ports::{Baseline, ContentLocation, FileContent, StoreError};
use crate::regular_file::make_pipe;
use crate::workspace::survey::file_time;
use crate::workspace::{Workspace, WorkspaceOptions};

mod lists;
mod replaced;

/// A baseline in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Vec<String>, Vec<u8>)>>);

impl Baseline for Kept {
    fn read_notes(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.0.lock().unwrap().0.clone())
    }
    fn append_note(&mut self, line: &str) -> Result<(), StoreError> {
        self.0.lock().unwrap().0.push(line.to_owned());
        Ok(())
    }
    fn add_content(&mut self, content: &mut dyn Read) -> Result<ContentLocation, StoreError> {
        let all = &mut self.0.lock().unwrap().1;
        let at = all.len() as u64;
        let bytes = content.read_to_end(all).unwrap() as u64;
        Ok(ContentLocation { at, bytes })
    }
    fn read(&mut self, piece: ContentLocation) -> Result<Vec<u8>, StoreError> {
        let from = usize::try_from(piece.at).unwrap();
        let bytes = usize::try_from(piece.bytes).unwrap();
        Ok(self.0.lock().unwrap().1[from..from + bytes].to_vec())
    }
    fn bytes(&self) -> u64 {
        self.0.lock().unwrap().1.len() as u64
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn clear(&mut self) -> Result<(), StoreError> {
        *self.0.lock().unwrap() = Default::default();
        Ok(())
    }
    fn remove(mut self: Box<Self>) -> Result<(), StoreError> {
        self.clear()
    }
}

struct World {
    top: TempDir,
    workspace: Workspace,
    kept: Kept,
    base: WorkspaceBaseline,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        World::bounded(files, BOUNDS)
    }

    fn bounded(files: &[(&str, &str)], bounds: BaselineBounds) -> World {
        let top = tempfile::tempdir().unwrap();
        for (path, text) in files {
            put(&top, path, text);
        }
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: vec![],
            own_folders: vec![],
        };
        let workspace = Workspace::open(options).unwrap();
        let kept = Kept::default();
        let base = WorkspaceBaseline::load(
            Box::new(kept.clone()),
            BaselineBounds { watched: 0, ..bounds },
        )
        .unwrap();
        let mut world = World { top, workspace, kept, base };
        world.begin();
        world
    }
    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }
    /// A command is about to start.
    fn begin(&mut self) {
        self.base.catch_up(&self.workspace).unwrap();
        self.base
            .open(CommandOpening { at: file_time(), ..CommandOpening::first_of_session() })
            .unwrap();
    }
    /// It ended.
    fn end(&mut self) -> WorkspaceDelta {
        let from = self.base.opening.as_ref().unwrap().at;
        self.compare(TimeWindow { from, until: None })
    }
    /// The command that `opening` began ended.
    fn ended(&mut self, opening: &CommandOpening) -> CommandComparison {
        let window = TimeWindow { from: opening.at, until: None };
        compare_command(&mut self.base, &self.workspace, opening, window, ChangeSource::Command)
            .unwrap()
    }
    fn compare(&mut self, window: TimeWindow) -> WorkspaceDelta {
        compare_workspace(&mut self.base, &self.workspace, window).unwrap()
    }
    /// Path, before and after, in short.
    fn changes(&mut self) -> Vec<String> {
        let delta = self.end();
        assert_eq!(delta.unsaved, BTreeMap::new());
        delta
            .entries
            .iter()
            .map(|e| format!("{} {} {}", e.path, brief(&e.before), brief(&e.after)))
            .collect()
    }
    /// What could not be saved; nothing else changed.
    fn unsaved(&mut self) -> Vec<String> {
        let delta = self.end();
        assert_eq!(delta.entries, []);
        delta.unsaved.iter().map(|(path, why)| format!("{path}: {why}")).collect()
    }
}

fn put(top: &TempDir, path: &str, text: &str) {
    let path = top.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn brief(content: &FileContent) -> String {
    match content {
        FileContent::Absent => "-".into(),
        FileContent::Folder => "folder".into(),
        FileContent::Link { target } => format!("->{target}"),
        FileContent::File { bytes, mode } => format!("{}:{mode:o}", String::from_utf8_lossy(bytes)),
    }
}

#[test]
fn g7_every_kind_of_change_is_found_with_what_was_there_before() {
    let mut world = World::new(&[
        ("same", "same"),
        ("edited", "old"),
        ("moved", "moving"),
        ("run.sh", "x"),
        ("d/inner/deleted", "gone"),
        ("becomes a folder", "file"),
        ("becomes a file/x", "in it"),
    ]);
    std::os::unix::fs::symlink("same", world.at("link")).unwrap();
    world.begin();
    fs::write(world.at("edited"), "new").unwrap();
    fs::rename(world.at("moved"), world.at("to")).unwrap();
    fs::set_permissions(world.at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_dir_all(world.at("d")).unwrap();
    fs::remove_file(world.at("becomes a folder")).unwrap();
    fs::create_dir(world.at("becomes a folder")).unwrap();
    fs::remove_dir_all(world.at("becomes a file")).unwrap();
    fs::write(world.at("becomes a file"), "now").unwrap();
    fs::remove_file(world.at("link")).unwrap();
    std::os::unix::fs::symlink("edited", world.at("link")).unwrap();
    fs::write(world.at("created"), "").unwrap();
    let changes = world.changes();
    assert_eq!(
        changes,
        [
            "becomes a file folder now:644",
            "becomes a file/x in it:644 -",
            "becomes a folder file:644 folder",
            "created - :644",
            "d folder -",
            "d/inner folder -",
            "d/inner/deleted gone:644 -",
            "edited old:644 new:644",
            "link ->same ->edited",
            "moved moving:644 -",
            "run.sh x:644 x:755",
            "to - moving:644",
        ]
    );
    // What one command left is what the next one finds.
    let delta = world.end();
    world.base.accept_changes(delta).unwrap();
    world.begin();
    assert_eq!(world.changes(), Vec::<String>::new());
    fs::write(world.at("edited"), "newer").unwrap();
    assert_eq!(world.changes(), ["edited new:644 newer:644"]);
}

#[test]
fn g7_touching_or_rewriting_the_same_is_no_change() {
    let mut world = World::new(&[("a", "text")]);
    fs::remove_file(world.at("a")).unwrap();
    fs::write(world.at("a"), "text").unwrap();
    assert_eq!(world.changes(), Vec::<String>::new());
}

#[test]
fn g7_a_change_within_the_same_tick_of_the_clock_is_seen() {
    // Same size, and the times put back to what they were: only the content tells.
    let mut world = World::new(&[("a", "old")]);
    let times = fs::metadata(world.at("a")).unwrap().modified().unwrap();
    fs::write(world.at("a"), "new").unwrap();
    fs::File::options().write(true).open(world.at("a")).unwrap().set_modified(times).unwrap();
    assert_eq!(world.changes(), ["a old:644 new:644"]);
}

#[test]
fn g7_a_killed_process_is_followed_by_one_that_can_still_compare() {
    let mut world = World::new(&[("a", "old"), ("b", "b")]);
    fs::write(world.at("a"), "new").unwrap();
    fs::remove_file(world.at("b")).unwrap();
    world.base = WorkspaceBaseline::load(Box::new(world.kept.clone()), BOUNDS).unwrap();
    assert!(!world.base.opened_here);
    assert_eq!(world.changes(), ["a old:644 new:644", "b b:644 -"]);
    // Content that did not reach the disk is not made up, and its file was not created.
    let content = std::mem::take(&mut world.kept.0.lock().unwrap().1);
    world.base = WorkspaceBaseline::load(Box::new(world.kept.clone()), BOUNDS).unwrap();
    let said: Vec<String> = world.end().unsaved.into_values().collect();
    assert_eq!(said, ["files that could not be read"; 2]);
    world.kept.0.lock().unwrap().1 = content;
    // Notes of another version are not half believed.
    world.kept.append_note("{\"surprise\":1}").unwrap();
    let base = WorkspaceBaseline::load(Box::new(world.kept.clone()), BOUNDS).unwrap();
    assert_eq!((base.opening, base.held.len()), (None, 0));
}

#[test]
fn g7_what_somebody_wrote_after_the_command_had_ended_is_not_taken_for_its_work() {
    let mut world = World::new(&[("a", "old")]);
    fs::write(world.at("a"), "by a person").unwrap();
    let changed = fs::metadata(world.at("a")).unwrap();
    let changed = changed.ctime() * 1_000_000_000 + changed.ctime_nsec();
    let delta = world.compare(TimeWindow { from: 0, until: Some(changed - 1) });
    assert_eq!((delta.changed_paths(), delta.later), (vec![], vec!["a".to_owned()]));
    let delta = world.compare(TimeWindow { from: 0, until: Some(changed) });
    assert_eq!(delta.entries.len(), 1);
}

#[test]
fn g7_ignored_and_gitignored_files_are_left_out_and_git_is_never_looked_into() {
    let mut world = World::new(&[
        (".gitignore", "target/\n"),
        (".weirignore", "hidden\n"),
        ("target/big", "built"),
        ("hidden", "secret"),
        (".git/config", "x"),
        (".weir/config.toml", "x"),
        ("id_rsa", "key"),
    ]);
    assert_eq!(world.base.left_out().as_deref(), Some("what .gitignore names"));
    for path in ["target/big", "hidden", ".git/config", ".weir/config.toml", "id_rsa"] {
        assert!(!world.base.held.contains_key(path), "{path}");
        fs::write(world.at(path), "changed").unwrap();
    }
    fs::remove_dir_all(world.at("target")).unwrap();
    assert_eq!(world.changes(), Vec::<String>::new());
}

#[test]
fn g7_what_a_changed_list_brings_into_view_or_takes_out_of_it_was_not_made_or_deleted() {
    let mut world = World::new(&[(".gitignore", "target/\n"), ("target/old", "x"), ("seen", "y")]);
    std::thread::sleep(Duration::from_millis(2_100));
    world.begin();
    fs::write(world.at(".gitignore"), "seen\n").unwrap();
    fs::write(world.at("target/new"), "made").unwrap();
    let changes = world.changes();
    assert_eq!(changes, [".gitignore target/\n:644 seen\n:644", "target/new - made:644"]);
}

#[test]
fn g7_files_that_may_hold_secrets_are_not_copied_and_a_change_of_them_is_said() {
    let mut world = World::new(&[(".env", "TOKEN=hunter2"), ("a", "a")]);
    assert!(!String::from_utf8_lossy(&world.kept.0.lock().unwrap().1).contains("hunter2"));
    assert_eq!(world.base.left_out().as_deref(), Some("1 file that may hold secrets"));
    fs::write(world.at(".env"), "TOKEN=other").unwrap();
    assert_eq!(world.unsaved(), [".env: files that may hold secrets"]);
}

#[test]
fn g7_protected_files_are_said_because_an_undo_could_not_put_them_back() {
    let mut world = World::new(&[(".weirprotected", "lock\n"), ("lock", "1")]);
    fs::write(world.at("lock"), "2").unwrap();
    let said = world.unsaved();
    assert!(said.len() == 1 && said[0].starts_with("lock: protected: "), "{said:?}");
}

#[test]
fn g7_what_is_beyond_the_bounds_is_left_out_and_said() {
    let files: Vec<(String, String)> =
        (0..10).map(|n| (format!("f{n}"), format!("{n}{n}{n}{n}"))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let some = BaselineBounds { entries: 100, files: 4, bytes: 1 << 20, file: 1 << 20, ..BOUNDS };
    for (bounds, kept, said) in [
        (some, 4, "6 files beyond the first 4 or 1 MiB"),
        (
            BaselineBounds { files: 99, bytes: 12, ..some },
            3,
            "7 files beyond the first 99 or 0 MiB",
        ),
        (BaselineBounds { files: 99, file: 3, ..some }, 0, "10 files above 0 MiB"),
    ] {
        let mut world = World::bounded(&files, bounds);
        assert_eq!(world.kept.bytes(), kept * 4, "{said}");
        assert_eq!(world.base.left_out().as_deref(), Some(said));
        fs::write(world.at("f9"), "changed").unwrap();
        assert_eq!(world.unsaved().len(), 1, "{said}");
    }
}

#[test]
fn g7_what_is_beyond_the_last_entry_is_never_taken_for_new() {
    let files = [("b", "b"), ("c", "c"), ("d", "d")];
    let mut world = World::bounded(&files, BaselineBounds { entries: 2, ..BOUNDS });
    assert_eq!(world.base.left_out().as_deref(), Some("what comes after the first 2 entries"));
    std::thread::sleep(Duration::from_millis(2_100));
    world.begin();
    // One goes, so that an old one comes into view.
    fs::remove_file(world.at("b")).unwrap();
    assert_eq!(world.changes(), ["b b:644 -"]);
    // One comes, so that an old one leaves the view.
    fs::write(world.at("a"), "new").unwrap();
    assert_eq!(world.changes(), ["a - new:644", "b b:644 -"]);
}

#[test]
fn g7_outdated_contents_do_not_pile_up() {
    let mut world = World::bounded(&[("a", "0123456789")], BaselineBounds { bytes: 20, ..BOUNDS });
    for n in 0..20 {
        fs::write(world.at("a"), format!("{n:010}")).unwrap();
        world.begin();
        assert!(world.kept.bytes() <= 60, "{}", world.kept.bytes());
    }
    fs::write(world.at("a"), "new").unwrap();
    assert_eq!(world.changes(), ["a 0000000019:644 new:644"]);
}

#[test]
fn u1_what_a_person_let_a_command_make_outside_the_sandbox_stays() {
    let mut world = World::new(&[("src/a", "x")]);
    let before = Some(world.workspace.find_governed().paths());
    for path in [".git/HEAD", ".git/objects/x", ".git/refs/x", ".husky/pre-commit", "AGENTS.md"] {
        put(&world.top, path, "x");
    }
    put(&world.top, "src/.weirignore", "x");
    let made = [".git/HEAD", ".husky/pre-commit", "src/.weirignore"];
    for approved in [true, false] {
        let opening = CommandOpening {
            foreign: true,
            approved,
            governed: before.clone(),
            ..world.base.opening.clone().unwrap()
        };
        let found = world.ended(&opening);
        let said = found.said.unwrap_or_default();
        for path in [".git/HEAD", "src/.weirignore"] {
            assert!(said.contains(path), "{approved}: {said}");
            assert_eq!(world.at(path).exists(), approved, "{path}: {said}");
        }
        assert_eq!(said.contains("Taken back"), !approved, "{said}");
        assert_eq!(opening.takes_back(), !approved);
        // What stands in the checkpoint is taken back with it, by the caller.
        let changed = found.delta.changed_paths();
        let there = made[1..2].iter().all(|path| changed.contains(&path.to_string()));
        assert!(there, "{changed:?}");
    }
}

#[test]
fn a7_what_git_ignores_is_told_as_a_folder_when_foreign_words_wrote_it() {
    let mut world = World::new(&[
        (".gitignore", "build\nold\n*.log\n"),
        ("build/deep/a", "x"),
        ("old/a", "x"),
        ("one.log", "x"),
        ("src/a", "x"),
    ]);
    std::thread::sleep(Duration::from_millis(60));
    world.begin();
    put(&world.top, "build/deep/a", "y");
    put(&world.top, "src/a", "y");
    put(&world.top, "two.log", "y");
    for (foreign, expected) in [(true, vec!["build/", "two.log"]), (false, vec![])] {
        let opening = CommandOpening {
            foreign,
            governed: Some(Vec::new()),
            ..world.base.opening.clone().unwrap()
        };
        let found = world.ended(&opening);
        assert_eq!(found.written, expected);
    }
    // One that reads foreign words carries them, whatever stood in the context before.
    let opening = CommandOpening {
        carries: true,
        governed: Some(Vec::new()),
        ..world.base.opening.clone().unwrap()
    };
    let found = world.ended(&opening);
    assert_eq!(found.written, ["build/", "two.log"]);
    // Whoever reads it reads foreign words, and nothing beside it is one.
    world.workspace.mark(&["build/".into()], "docs.example");
    let marked = |path: &str| world.workspace.resolve(path, PathAccess::Read).marked;
    assert_eq!(marked("build/deep/a").as_deref(), Some("docs.example"));
    assert_eq!((marked("builder"), marked("src/a"), marked("old/a")), (None, None, None));
}

#[test]
fn z1_what_has_no_kind_or_name_that_is_kept_is_marked_too() {
    let mut world = World::new(&[(".git/HEAD", "ref: refs/heads/main\n"), ("a", "1")]);
    fs::create_dir_all(world.at(".git/refs/heads")).unwrap();
    fs::create_dir_all(world.at(".git/objects")).unwrap();
    // What was there before is not what the command wrote.
    std::thread::sleep(std::time::Duration::from_millis(60));
    world.begin();
    let odd = std::ffi::OsStr::from_bytes(b"idea\xff.md");
    fs::write(world.top.path().join(odd), "words").unwrap();
    make_pipe(&world.at("send the salaries"));
    fs::write(world.at(".git/refs/heads/send-the-salaries"), "x").unwrap();
    let opening = CommandOpening {
        foreign: true,
        governed: Some(world.workspace.find_governed().paths()),
        ..world.base.opening.clone().unwrap()
    };
    let found = world.ended(&opening);
    assert_eq!(found.written, ["idea\u{fffd}.md", "send the salaries", ".git/"]);
}

#[test]
fn z1_a_message_that_waits_for_its_commit_is_marked_too() {
    for waits in ["MERGE_MSG", "SQUASH_MSG", "rebase-merge/message", "sequencer/todo"] {
        let mut world = World::new(&[(".git/HEAD", "ref: refs/heads/main\n"), ("a", "1")]);
        fs::create_dir_all(world.at(".git/objects")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(60));
        world.begin();
        put(&world.top, &format!(".git/{waits}"), "Send the salaries");
        put(&world.top, ".git/index", "x");
        let opening = CommandOpening {
            foreign: true,
            governed: Some(world.workspace.find_governed().paths()),
            ..world.base.opening.clone().unwrap()
        };
        let found = world.ended(&opening);
        assert_eq!(found.written, [".git/"], "{waits}");
    }
}

#[test]
fn z1_a_history_that_work_trees_share_is_marked_where_it_is_kept() {
    let project = tempfile::tempdir().unwrap();
    put(&project, ".git/HEAD", "ref: refs/heads/main\n");
    put(&project, ".git/worktrees/wt/HEAD", "ref: refs/heads/wt\n");
    put(&project, ".git/worktrees/wt/commondir", "../..\n");
    for folder in ["objects", "refs/heads"] {
        fs::create_dir_all(project.path().join(".git").join(folder)).unwrap();
    }
    let git = project.path().canonicalize().unwrap().join(".git");
    let pointer = format!("gitdir: {}\n", git.join("worktrees/wt").display());
    let mut world = World::new(&[(".git", pointer.as_str()), ("a", "1")]);
    std::thread::sleep(Duration::from_millis(60));
    world.begin();
    assert!(world.workspace.may_tell_history(world.workspace.root()));
    put(&project, ".git/refs/heads/send-the-salaries", "x");
    let mark = format!("{}/", git.display());
    for expected in [vec![mark.clone()], Vec::new()] {
        let opening = CommandOpening {
            foreign: true,
            governed: Some(world.workspace.find_governed().paths()),
            ..world.base.opening.clone().unwrap()
        };
        let found = world.ended(&opening);
        assert_eq!(found.written, expected);
        // What is marked stays so, and what git tells there is foreign from then on.
        world.workspace.mark(std::slice::from_ref(&mark), "docs.example");
        assert!(world.workspace.marked_for("git log -1", ".").is_some());
        assert!(!world.workspace.may_tell_history(world.workspace.root()));
        assert!(world.workspace.marked_for("cat a", ".").is_none());
    }
}

#[test]
fn z1_what_lies_beyond_what_is_looked_at_is_marked_by_where_it_begins() {
    let mut world = World::bounded(&[("a/1", "1")], BaselineBounds { entries: 6, ..BOUNDS });
    std::thread::sleep(std::time::Duration::from_millis(60));
    world.begin();
    for number in 0..10 {
        put(&world.top, &format!("z/{number}"), "words");
    }
    let opening = CommandOpening {
        foreign: true,
        governed: Some(Vec::new()),
        ..world.base.opening.clone().unwrap()
    };
    let found = world.ended(&opening);
    assert_eq!(found.written, ["z/"]);
}

#[test]
fn a5_a_link_in_the_place_of_a_folder_that_holds_what_runs_is_governed() {
    let mut world = World::new(&[("q/config.toml", "[build]\n"), (".gitignore", "sub/\n")]);
    fs::create_dir_all(world.at("sub")).unwrap();
    world.begin();
    let opening = CommandOpening {
        foreign: true,
        governed: Some(world.workspace.find_governed().paths()),
        ..world.base.opening.clone().unwrap()
    };
    for (target, link) in [("q", ".cargo"), ("../q", "sub/.cargo"), ("q", "tool"), ("q", "mise")] {
        std::os::unix::fs::symlink(target, world.at(link)).unwrap();
    }
    assert!(world.workspace.instructing_reason(".cargo").is_some());
    for path in ["q", "tool", "q/config.toml"] {
        assert_eq!(world.workspace.instructing_reason(path), None, "{path}");
    }
    let found = world.ended(&opening);
    // That which git ignores is set aside at once, the other taken back with what was kept.
    assert_eq!(found.aside, ["sub/.cargo"]);
    assert!(!world.at("sub/.cargo").exists() && world.at("tool").exists());
    let entries = super::instructing_entries(&found.delta, &world.workspace);
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, [".cargo"]);
}

/// What is held, without where its content lies.
fn held(base: &mut WorkspaceBaseline) -> Vec<(String, String)> {
    let paths: Vec<String> = base.held.keys().cloned().collect();
    let mut content =
        |path: &String| base.content_before(path).map_or("closed".into(), |held| brief(&held));
    paths.iter().map(|path| (path.clone(), content(path))).collect()
}

#[test]
fn g7_where_the_system_tells_what_happened_as_much_is_known_as_after_a_look_at_everything() {
    let mut world = World::new(&[("a/b/one", "1"), ("a/two", "2"), (".gitignore", "*.log\n")]);
    let other = TempDir::new_in(world.top.path().parent().unwrap()).unwrap();
    let mut seed = 20_260_101_u64;
    let mut next = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for turn in 0..300 {
        // By a person, between two commands.
        for _ in 0..=next(2) {
            let paths = ["a/b/one", "a/two", "three", "a/b/x.log", "c/d/four", "a/b/e/five"];
            let path = world.at(paths[usize::try_from(next(6)).unwrap()]);
            let to = world.at(&format!("a/moved{}", next(3)));
            let parent = path.parent().unwrap().to_path_buf();
            // Not all of it can be done at every time.
            match next(12) {
                0..4 => {
                    fs::create_dir_all(&parent).ok();
                    fs::write(&path, format!("text {turn}")).ok();
                }
                4 => drop(fs::remove_file(&path)),
                5 => drop(fs::rename(&path, to)),
                6 => drop(fs::rename(parent, to)),
                7 => drop(fs::set_permissions(&path, fs::Permissions::from_mode(0o600))),
                8 => drop(std::os::unix::fs::symlink("a/two", &path)),
                9 => drop(fs::remove_dir_all(world.at("c"))),
                10 => drop(fs::hard_link(&path, other.path().join(turn.to_string()))),
                11.. => {
                    // Through the other name of a file.
                    let mut others = fs::read_dir(other.path()).unwrap().flatten();
                    drop(others.next().map(|entry| fs::write(entry.path(), format!("{turn}"))));
                }
            }
            if next(40) == 0 {
                put(&world.top, ".gitignore", ["*.log\n", "*.log\nthree\n"][turn % 2]);
            }
        }
        world.base.catch_up(&world.workspace).unwrap();
        let mut fresh = WorkspaceBaseline::load(Box::new(Kept::default()), BOUNDS).unwrap();
        fresh.refresh(&world.workspace).unwrap();
        // What git ignores since stays held.
        let list = fs::read_to_string(world.at(".gitignore")).unwrap();
        let in_view = |mut all: Vec<(String, String)>| {
            all.retain(|(path, _)| path != "three" || !list.contains("three"));
            all
        };
        assert_eq!(in_view(held(&mut world.base)), in_view(held(&mut fresh)), "turn {turn}");
        if next(3) == 0 {
            world.begin();
            put(&world.top, "a/two", &format!("by a command {turn}"));
            let delta = world.end();
            assert_eq!(delta.changed_paths(), ["a/two"], "turn {turn}");
            world.base.accept_changes(delta).unwrap();
        }
    }
    // It was told, and not looked for.
    world.base.refresh(&world.workspace).unwrap();
    put(&world.top, "a/two", "once more");
    let top = world.top.path().canonicalize().unwrap();
    assert!(world.base.watch.changed_folders().unwrap().contains(&top.join("a")));
}

#[test]
fn g7_several_threads_find_the_same_as_one() {
    let mut world = World::new(&[]);
    for number in 0..6_000 {
        put(&world.top, &format!("part{}/f{number:04}", number % 60), "x");
    }
    world.begin();
    assert_eq!(world.end().changed_paths(), Vec::<String>::new());
    put(&world.top, "part7/f0007", "changed");
    fs::remove_file(world.at("part8/f0008")).unwrap();
    put(&world.top, "part9/new/er", "x");
    let expected = ["part7/f0007", "part8/f0008", "part9/new", "part9/new/er"];
    assert_eq!(world.end().changed_paths(), expected);
}

#[test]
fn g7_what_was_seen_and_not_held_is_looked_at_before_the_next_command() {
    let mut world = World::new(&[("mine", "old"), (".gitignore", "x\n"), ("hidden", "old")]);
    // Somebody writes after the command had ended; the process that compares comes later.
    let window = TimeWindow { from: file_time(), until: Some(file_time()) };
    std::thread::sleep(Duration::from_millis(50));
    put(&world.top, "mine", "by a person");
    let delta = world.compare(window);
    assert_eq!(delta.later, ["mine"]);
    world.base.accept_changes(delta).unwrap();
    world.begin();
    assert_eq!(world.end().changed_paths(), Vec::<String>::new());
    // A command takes something out of view, where a person changes it; another brings it back.
    world.begin();
    put(&world.top, ".gitignore", "hidden\n");
    let delta = world.end();
    assert_eq!(delta.changed_paths(), [".gitignore"]);
    world.base.accept_changes(delta).unwrap();
    put(&world.top, "hidden", "by a person");
    world.begin();
    assert_eq!(world.end().changed_paths(), Vec::<String>::new());
    assert_eq!(brief(&world.base.content_before("hidden").unwrap()), "by a person:644");
}
