//! The index of a vault as tools hold it: what it keeps, what it forgets, what it says of files that change
//! meanwhile.

use std::cell::Cell;
use std::path::Path;

use weir_engine::workspace::{Workspace, WorkspaceOptions};
use weir_notes::rewrite::{VaultMoves, plan_link_edits};

use crate::vault::{INDEX_FILE, NoteVault, ask_vault};
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
                    false => {
                        let bytes = std::fs::read(entry.path()).expect("a file");
                        text.push_str(&String::from_utf8_lossy(&bytes));
                    }
                }
            }
        }
        let mut text = String::new();
        texts_below(&self.place.path().join("state"), &mut text);
        text
    }
    /// The file of the kept index.
    fn index_file(&self) -> std::path::PathBuf {
        let derived = self.place.path().join("state/derived");
        let mut folders = std::fs::read_dir(derived).expect("what is derived");
        folders.next().expect("one workspace").expect("its folder").path().join(INDEX_FILE)
    }
    /// Notes that are kept, and whether all of the file is in order.
    fn kept_notes(&self) -> (usize, bool) {
        let bytes = std::fs::read(self.index_file()).expect("it is kept");
        let kept = weir_notes::index::scan_records(|offset, into| {
            let rest = bytes.get(usize::try_from(offset).ok()?..)?;
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            Some(count)
        });
        let kept = kept.expect("of this version");
        (kept.files.len(), kept.whole)
    }
}

/// Notes with their tags and the notes that link to them, as another process would be told.
fn told(held: &mut NoteVault, workspace: &Workspace) -> Vec<String> {
    let asked = held.answer(workspace, |vault| {
        let index = vault.index();
        let path = |number| index.name_table().path_of(number).to_owned();
        let notes = index.list_notes().into_iter().map(|(number, file)| {
            let from = index.backlinks_of(number).into_iter().map(|place| path(place.source));
            let from: Vec<String> = from.collect();
            format!("{} {:?} {from:?}", file.path, index.tag_names_of(number))
        });
        notes.collect()
    });
    asked.expect("an answer")
}

fn linked_vault() -> KeptVault {
    let vault = KeptVault::new();
    vault.write("a.md", b"#one [[b]]");
    vault.write("b.md", b"#two [[a]] [[c]]");
    vault.write("f/c.md", b"---\ntags: [three]\n---\n[[a]]");
    vault
}

const LINKED: [&str; 3] = [
    "a.md [\"one\"] [\"b.md\", \"f/c.md\"]",
    "b.md [\"two\"] [\"a.md\"]",
    "f/c.md [\"three\"] [\"b.md\"]",
];

/// Of a kept index that was cut off, overwritten or left by another version, every answer is as of one that
/// was made anew, and it is in order afterwards.
#[test]
fn k1_a_kept_index_that_is_damaged_is_made_anew() {
    let vault = linked_vault();
    assert_eq!(told(&mut NoteVault::default(), &vault.open()), LINKED);
    let whole = std::fs::read(vault.index_file()).expect("it is kept");
    assert_eq!(vault.kept_notes(), (3, true));
    let mut older = whole.clone();
    older[8] = older[8].wrapping_sub(1);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let half_a_record = [whole.as_slice(), &whole[12..30]].concat();
    let cuts = [0, 1, 7, 8, 11, 12, 13, 16, 19, 20, 21, whole.len() / 2, whole.len() - 1];
    let cut = cuts.iter().map(|cut| whole[..*cut].to_vec());
    let others = [older, flipped, half_a_record, vec![0; 5_000], vec![0xff; 5_000]];
    for (number, bytes) in cut.chain(others).enumerate() {
        std::fs::write(vault.index_file(), &bytes).expect("written");
        assert_eq!(told(&mut NoteVault::default(), &vault.open()), LINKED, "the damage {number}");
        assert_eq!(vault.kept_notes(), (3, true), "the damage {number}");
    }
}

#[test]
fn k1_an_index_that_is_damaged_while_it_is_held_is_made_anew() {
    let vault = linked_vault();
    let (workspace, mut held) = (vault.open(), NoteVault::default());
    assert_eq!(told(&mut held, &workspace), LINKED);
    // The same file, so the process that has it reads what is there now.
    let file = std::fs::OpenOptions::new().write(true).open(vault.index_file()).expect("open");
    file.set_len(20).expect("cut");
    vault.write("b.md", b"#two [[a]] [[c]] and more");
    assert_eq!(told(&mut held, &workspace), LINKED);
    assert_eq!(vault.kept_notes(), (3, true));
    // Deleted with its folder it is there again when something changes.
    std::fs::remove_dir_all(vault.place.path().join("state/derived")).expect("it goes");
    vault.write("b.md", b"#two [[a]] [[c]]");
    assert_eq!(told(&mut held, &workspace), LINKED);
    assert_eq!(vault.kept_notes(), (3, true));
}

#[test]
fn k1_what_a_killed_process_left_is_no_hindrance() {
    let vault = linked_vault();
    assert_eq!(told(&mut NoteVault::default(), &vault.open()), LINKED);
    let fresh = vault.index_file().with_extension("index.new");
    // Killed while it wrote the index anew, and while it put a record to its end.
    let whole = std::fs::read(vault.index_file()).expect("it is kept");
    std::fs::write(&fresh, &whole[..40]).expect("written");
    std::fs::write(vault.index_file(), &whole[..whole.len() - 3]).expect("written");
    let former = vault.index_file().with_file_name("notes.jsonl");
    std::fs::write(&former, b"{\"version\":2}\n").expect("written");
    assert_eq!(told(&mut NoteVault::default(), &vault.open()), LINKED);
    assert_eq!(vault.kept_notes(), (3, true));
    assert!(!fresh.exists() && !former.exists(), "nothing of it stays");
}

/// Two processes with one state directory: each answers as if it were alone, and what they keep is in order.
#[test]
fn k1_two_processes_share_a_kept_index() {
    let vault = linked_vault();
    let (one, two) = (vault.open(), vault.open());
    let (mut first, mut second) = (NoteVault::default(), NoteVault::default());
    assert_eq!(told(&mut first, &one), LINKED);
    assert_eq!(told(&mut second, &two), LINKED);
    for round in 0..20 {
        vault.write("b.md", format!("#two{round} [[a]] [[c]]").as_bytes());
        let expected = LINKED.map(|line| line.replace("two", &format!("two{round}")));
        assert_eq!(told(&mut first, &one), expected, "{round}");
        if round == 7 {
            // It writes the index anew: what is closed must not stand in it.
            vault.write("g/closed.md", b"# Confessions");
            told(&mut first, &one);
            vault.write(".weirignore", b"g/\n");
            assert_eq!(told(&mut first, &one), expected);
        }
        assert_eq!(told(&mut second, &two), expected, "{round}");
        assert_eq!(told(&mut NoteVault::default(), &vault.open()), expected, "{round}");
        assert!(vault.kept_notes().1, "{round}");
    }
    assert!(!vault.kept_text().contains("Confessions"));
    // Both at once.
    std::thread::scope(|threads| {
        for held in [&mut first, &mut second] {
            let workspace = vault.open();
            let vault = &vault;
            threads.spawn(move || {
                for round in 0..20 {
                    let path = format!("h/{round}-{:?}.md", std::thread::current().id());
                    vault.write(&path, b"#h [[a]]");
                    told(held, &workspace);
                }
            });
        }
    });
    let count = told(&mut NoteVault::default(), &vault.open()).len();
    assert_eq!((count, vault.kept_notes()), (43, (43, true)));
    assert_eq!(told(&mut first, &one), told(&mut second, &two));
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
