//! The index of a vault as tools hold it: what it keeps, what it forgets, what it says of files that change
//! meanwhile.

use std::cell::Cell;
use std::path::Path;

use weir_engine::workspace::{Workspace, WorkspaceOptions};
use weir_notes::rewrite::{VaultMoves, plan_link_edits};

use crate::vault::ask_vault;
use crate::vault_links::rewrite_notes;

/// A vault whose index is kept.
struct KeptVault {
    place: tempfile::TempDir,
}

impl KeptVault {
    fn new() -> KeptVault {
        let vault = KeptVault { place: tempfile::tempdir().expect("a folder") };
        vault.write(".obsidian/app.json", b"{}");
        vault
    }
    fn root(&self) -> std::path::PathBuf {
        self.place.path().join("vault")
    }
    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, bytes).expect("a file");
    }
    fn open(&self) -> Workspace {
        let state = self.place.path().join("state");
        let options = WorkspaceOptions {
            root: self.root(),
            extra_roots: Vec::new(),
            own_folders: vec![state.clone()],
        };
        Workspace::open(options).expect("a workspace").with_derived(&state.join("derived"))
    }
    fn kept_text(&self) -> String {
        fn texts_below(folder: &Path, text: &mut String) {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                match entry.path().is_dir() {
                    true => texts_below(&entry.path(), text),
                    false => text.push_str(&std::fs::read_to_string(entry.path()).expect("text")),
                }
            }
        }
        let mut text = String::new();
        texts_below(&self.place.path().join("state"), &mut text);
        text
    }
}

#[test]
fn k1_a_note_that_cannot_be_read_is_named_until_it_can() {
    let vault = KeptVault::new();
    vault.write("bad.md", b"\xff\xfe");
    vault.write("good.md", b"x");
    let unread = |workspace: &Workspace| -> Vec<String> {
        ask_vault(workspace, |vault| vault.unread.keys().cloned().collect()).expect("an answer")
    };
    let first = vault.open();
    assert_eq!(unread(&first), ["bad.md"]);
    assert_eq!(unread(&first), ["bad.md"], "it is not forgotten by the second question");
    assert_eq!(unread(&vault.open()), ["bad.md"], "nor by the kept index");
    vault.write("bad.md", b"now it is text");
    assert_eq!(unread(&first), [""; 0]);
}

#[test]
fn k1_what_is_closed_does_not_stay_in_the_kept_index() {
    let vault = KeptVault::new();
    vault.write("open.md", b"# Open");
    vault.write("private/diary.md", b"# Confessions");
    vault.write("private/gone.md", b"# Vanished");
    let count = |workspace: &Workspace| ask_vault(workspace, |vault| vault.index().len());
    let workspace = vault.open();
    assert_eq!(count(&workspace), Ok(3));
    assert!(vault.kept_text().contains("Confessions"));
    vault.write(".weirignore", b"private/\n");
    assert_eq!(count(&workspace), Ok(1));
    assert!(!vault.kept_text().contains("Confessions"), "closed while the session has the vault");
    std::fs::remove_file(vault.root().join(".weirignore")).expect("it goes");
    assert_eq!(count(&vault.open()), Ok(3));
    assert!(vault.kept_text().contains("Confessions"));
    vault.write(".weirignore", b"private/\n");
    assert_eq!(count(&vault.open()), Ok(1));
    assert!(!vault.kept_text().contains("Confessions"), "closed between two sessions");
}

#[test]
fn k4_links_of_a_note_that_changed_meanwhile_are_looked_for_anew() {
    let vault = KeptVault::new();
    vault.write("a.md", b"[[b]]");
    vault.write("b.md", b"x");
    let workspace = vault.open();
    let moves = VaultMoves {
        moves: [("b.md".to_owned(), "c.md".to_owned())].into(),
        ..VaultMoves::default()
    };
    let looked = Cell::new(0);
    let plan = |changes: usize, text: &[u8]| {
        let notes = rewrite_notes(&workspace, |held| {
            looked.set(looked.get() + 1);
            let edits = plan_link_edits(held.index(), &moves);
            if looked.get() <= changes {
                // Somebody writes between the look and the reading.
                vault.write(
                    "a.md",
                    &[text, looked.get().to_string().as_bytes(), b" [[b]]"].concat(),
                );
            }
            Ok(edits)
        });
        notes.map(|notes| match &notes["a.md"].after {
            weir_engine::ports::FileContent::File { bytes, .. } => {
                String::from_utf8_lossy(bytes).into_owned()
            }
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(plan(1, "a longer beginning ".as_bytes()), Ok("a longer beginning 1 [[c]]".into()));
    looked.set(0);
    let why = plan(9, "é".as_bytes()).expect_err("it never stands still");
    assert!(why.contains("a.md changed"), "{why}");
}
