//! An editor beside the workspace: what it has not saved, what it fails to save, what it makes up.

use std::path::PathBuf;
use std::sync::Mutex;

use weir_core::tool::PathAccess;

use super::*;
use crate::workspace::WorkspaceOptions;

/// An editor with one open file.
#[derive(Debug, Default)]
struct OneBuffer {
    path: PathBuf,
    text: Mutex<Option<String>>,
    /// What it saves instead of what it is given.
    saves: Mutex<Option<String>>,
    fails: bool,
    /// It takes up what is on the disk after it was asked once.
    reloads: bool,
    /// What its file is swapped for while it is asked: a link to this.
    swapped_for: Mutex<Option<PathBuf>>,
    told: Mutex<Vec<String>>,
}

impl EditorFiles for OneBuffer {
    fn read_text(&self, path: &Path, _: u64) -> Option<String> {
        if let Some(target) = self.swapped_for.lock().unwrap().as_ref() {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
            return std::fs::read_to_string(path).ok();
        }
        let mut held = self.text.lock().unwrap();
        let text = held.clone().filter(|_| path == self.path);
        if self.reloads {
            *held = None;
        }
        text.or_else(|| std::fs::read_to_string(path).ok())
    }
    fn write_text(&self, path: &Path, text: &str) -> bool {
        self.told.lock().unwrap().push(format!("write {text}"));
        if self.fails {
            return false;
        }
        let saved = self.saves.lock().unwrap().clone().unwrap_or_else(|| text.to_owned());
        std::fs::write(path, &saved).unwrap();
        *self.text.lock().unwrap() = Some(saved);
        true
    }
    fn note_difference(&self, _: &Path) {
        self.told.lock().unwrap().push("differs".into());
    }
}

struct House {
    top: tempfile::TempDir,
    editor: Arc<OneBuffer>,
    workspace: Workspace,
}

impl House {
    /// A file with this text, and another one in the editor.
    fn new(saved: &str, unsaved: &str, editor: OneBuffer) -> House {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("a"), saved).unwrap();
        let path = top.path().canonicalize().unwrap().join("a");
        let editor = Arc::new(OneBuffer { path, text: Mutex::new(Some(unsaved.into())), ..editor });
        let options = WorkspaceOptions {
            root: top.path().to_path_buf(),
            extra_roots: vec![],
            own_folders: vec![],
        };
        let workspace = Workspace::open(options).unwrap().with_editor(editor.clone());
        House { top, editor, workspace }
    }

    fn current(&self) -> FileContent {
        let at = self.workspace.resolve("a", PathAccess::Read);
        self.workspace.read_current(&at, 1_000).unwrap()
    }

    fn on_disk(&self) -> String {
        std::fs::read_to_string(self.top.path().join("a")).unwrap()
    }

    /// Makes a change that was judged on `before`, as a call with a permit does.
    fn change(&self, before: &FileContent, after: &str) -> Result<Vec<String>, FileError> {
        let FileContent::File { mode, .. } = before else { panic!("a file") };
        let bytes: Arc<[u8]> = after.as_bytes().into();
        let after =
            FileState::File { sha256: sha256_hex(&bytes), bytes: bytes.len() as u64, mode: *mode };
        let changes = [PlannedChange { path: "a".into(), before: before.image(), after }];
        let contents = BTreeMap::from([("a".to_owned(), bytes)]);
        super::super::changes::apply_in_editor(&self.workspace, &changes, &contents, "test")
    }

    fn told(&self) -> Vec<String> {
        self.editor.told.lock().unwrap().clone()
    }
}

fn text_of(content: &FileContent) -> String {
    let FileContent::File { bytes, .. } = content else { panic!("a file") };
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn r1_what_is_not_saved_is_read_saved_first_and_followed() {
    let house = House::new("saved\n", "typed\n", OneBuffer::default());
    let before = house.current();
    assert_eq!(text_of(&before), "typed\n");
    assert_eq!(house.on_disk(), "saved\n", "reading saves nothing");
    assert_eq!(house.change(&before, "typed and more\n"), Ok(vec!["a".to_owned()]));
    assert_eq!(house.on_disk(), "typed and more\n");
    assert_eq!(house.told(), ["write typed\n", "write typed and more\n"]);
    assert_eq!(text_of(&house.current()), "typed and more\n");
}

#[test]
fn r1_an_editor_that_does_not_save_loses_nothing() {
    let fails = OneBuffer { fails: true, ..OneBuffer::default() };
    let house = House::new("saved\n", "typed\n", fails);
    let refused = house.change(&house.current(), "more\n").expect_err("it is not saved");
    assert!(refused.to_string().contains("save it there"), "{refused}");
    assert_eq!(house.on_disk(), "saved\n");
    // One that saves something else is no better.
    let other = OneBuffer { saves: Mutex::new(Some("formatted\n".into())), ..OneBuffer::default() };
    let house = House::new("saved\n", "typed\n", other);
    house.change(&house.current(), "more\n").expect_err("it is another file now");
    assert_eq!(house.on_disk(), "formatted\n");
    // After that everything is as it is on the disk, and what it saves otherwise is said.
    let before = house.current();
    house.change(&before, "more\n").expect("it was judged on what is there");
    assert_eq!(house.told().last().map(String::as_str), Some("differs"));
}

#[test]
fn r1_what_somebody_types_meanwhile_stays() {
    let house = House::new("saved\n", "saved\n", OneBuffer::default());
    let before = house.current();
    *house.editor.text.lock().unwrap() = Some("typed meanwhile\n".into());
    house.change(&before, "more\n").expect("the disk is as it was judged");
    assert_eq!((house.on_disk().as_str(), house.told()), ("more\n", vec!["differs".to_owned()]));
    assert_eq!(house.editor.text.lock().unwrap().as_deref(), Some("typed meanwhile\n"));
}

#[test]
fn r1_line_ends_are_the_files_own_and_no_change() {
    for (saved, unsaved, read) in [
        ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"),
        ("a\r\nb\n", "a\nb\n", "a\r\nb\n"),
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("\u{feff}a\n", "a\n", "\u{feff}a\n"),
        ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
        ("a\nb\n", "a\nb\n", "a\nb\n"),
    ] {
        let house = House::new(saved, unsaved, OneBuffer::default());
        assert_eq!(text_of(&house.current()), read, "{saved:?} {unsaved:?}");
    }
}

#[test]
fn r1_an_editor_is_not_asked_about_what_is_no_text_too_large_or_outside() {
    let house = House::new("saved\n", "typed\n", OneBuffer::default());
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("b"), "x\n").unwrap();
    let at = house.workspace.resolve(&outside.path().join("b").to_string_lossy(), PathAccess::Read);
    assert_eq!(house.workspace.unsaved_text(&at), None);
    let at = house.workspace.resolve("a", PathAccess::Read);
    assert_eq!(house.workspace.unsaved_text(&at).as_deref(), Some(&b"typed\n"[..]));
    *house.editor.text.lock().unwrap() = Some("x".repeat(2_000));
    assert_eq!(text_of(&house.current()), "saved\n", "more than fits is not believed");
    std::fs::write(house.top.path().join("a"), b"\xff\xfe").unwrap();
    assert_eq!(house.workspace.unsaved_text(&at), None);
}

#[test]
fn r1_a_file_that_is_swapped_for_a_link_while_the_editor_answers_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "secret\n").unwrap();
    let house = House::new("saved\n", "typed\n", OneBuffer::default());
    let before = house.current();
    *house.editor.swapped_for.lock().unwrap() = Some(secret.clone());
    assert_eq!(text_of(&house.current()), "saved\n", "what is behind the link is not told");

    std::fs::remove_file(house.top.path().join("a")).unwrap();
    std::fs::write(house.top.path().join("a"), "saved\n").unwrap();
    house.change(&before, "chosen\n").expect_err("it is another file now");
    assert_eq!(house.told(), Vec::<String>::new(), "the editor was given nothing to save");
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret\n");
}

#[test]
fn r1_while_something_runs_that_may_swap_files_the_editor_is_not_believed_and_saves_nothing() {
    let house = House::new("saved\n", "typed\n", OneBuffer::default());
    let (one, other) = (SessionId::new("one"), SessionId::new("other"));
    house.workspace.rest_editor(&one);
    house.workspace.rest_editor(&other);
    house.workspace.wake_editor(&other);
    let before = house.current();
    assert_eq!(text_of(&before), "saved\n");
    house.change(&before, "more\n").expect("it was judged on the disk");
    assert_eq!(house.told(), ["differs"], "the person is told, and nothing is saved");
    assert_eq!(house.on_disk(), "more\n");
    house.workspace.wake_editor(&one);
    assert_eq!(text_of(&house.current()), "typed\n");
}

#[test]
fn r1_what_another_session_runs_in_the_same_folder_counts_too() {
    let house = House::new("saved\n", "typed\n", OneBuffer::default());
    let open = |folder: &Path| {
        let (root, none) = (folder.to_path_buf(), Vec::new());
        Workspace::open(WorkspaceOptions { root, extra_roots: none.clone(), own_folders: none })
            .unwrap()
    };
    let (same, job) = (open(house.top.path()), SessionId::new("job"));
    same.rest_editor(&job);
    let before = house.current();
    assert_eq!(text_of(&before), "saved\n", "its background job may swap the file");
    house.change(&before, "more\n").expect("it was judged on the disk");
    assert_eq!(house.told(), ["differs"]);
    same.wake_editor(&job);
    assert_eq!(text_of(&house.current()), "typed\n");
    // What runs elsewhere is no matter of this, nor what a session left that is gone.
    let elsewhere = tempfile::tempdir().unwrap();
    let (other, gone) = (open(elsewhere.path()), open(house.top.path()));
    other.rest_editor(&job);
    gone.rest_editor(&job);
    drop(gone);
    assert_eq!(text_of(&house.current()), "typed\n");
}

#[test]
fn r1_an_editor_that_takes_a_change_up_by_itself_saves_nothing_of_its_own() {
    let formats = OneBuffer {
        saves: Mutex::new(Some("formatted\n".into())),
        reloads: true,
        ..OneBuffer::default()
    };
    let house = House::new("saved\n", "saved\n", formats);
    let at = house.workspace.resolve("a", PathAccess::Read);
    let before = house.workspace.read(&at, 1_000).unwrap();
    house.change(&before, "more\n").expect("it is as it was judged");
    assert_eq!((house.on_disk().as_str(), house.told()), ("more\n", Vec::new()));
}

#[test]
fn r1_a_refusal_names_what_the_editor_saved_before_it() {
    assert!(!refusal_text(&[]).contains("before that"));
    let named = refusal_text(&["a.rs".to_owned(), "b.rs".to_owned()]);
    assert!(named.ends_with("the editor saved its own text of a.rs, b.rs before that"), "{named}");
}
