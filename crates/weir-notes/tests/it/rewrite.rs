//! Links after moves: each leads where it led, written as its author writes.

use std::collections::BTreeMap;

use weir_notes::index::{IndexedFile, IndexedLink, NoteIndex, facts_of};
use weir_notes::note::LinkForm;
use weir_notes::rewrite::{TextEdit, VaultMoves, apply_edits, plan_link_edits};
use weir_notes::span::ByteSpan;

use crate::vault::{load_vault, vault_text};

/// An index of files by path and text.
pub(crate) fn index_of(files: &BTreeMap<String, String>) -> NoteIndex {
    let mut index = NoteIndex::default();
    for (path, text) in files {
        let facts = weir_notes::index::is_read(path).then(|| Box::new(facts_of(path, text)));
        index.put_file(&IndexedFile { path: path.clone(), facts, ..IndexedFile::default() });
    }
    index
}

/// A vault after a move, links rewritten.
fn after_move(files: &[(&str, &str)], from: &str, to: &str) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let moves = BTreeMap::from([(from.to_owned(), to.to_owned())]);
    let moves = VaultMoves { moves, ..VaultMoves::default() };
    for (path, of_file) in plan_link_edits(&index_of(&files), &moves) {
        let text = apply_edits(&files[&path], &of_file.edits).expect("the places fit");
        files.insert(path, text);
    }
    let moved = files.remove(from).unwrap_or_default();
    files.insert(to.to_owned(), moved);
    files
}

/// Links of `a.md`, what moves, the links afterwards.
#[test]
fn k4_a_move_rewrites_links_in_their_own_style() {
    for (text, to, expected) in [
        ("[[b]] [[b|x]] [[b#h]] ![[b#^i]]", "f/c.md", "[[c]] [[c|x]] [[c#h]] ![[c#^i]]"),
        (
            "[[f/b]] [[/f/b]] [[./f/b]] [[f/b.md]]",
            "g/b.md",
            "[[g/b]] [[/g/b]] [[./g/b]] [[g/b.md]]",
        ),
        ("[[b]] [x](b.md) [x](<b.md>)", "f/c d.md", "[[c d]] [x](c%20d.md) [x](<c d.md>)"),
        ("[x](f/b.md#h \"t\")", "g/c(1).md", "[x](g/c%281%29.md#h \"t\")"),
        ("[[b]] `[[b]]` %%[[b]]%%", "f/c.md", "[[c]] `[[b]]` %%[[b]]%%"),
        ("---\nx: '[[b]]' # [[b]]\n---\n", "it's.md", "---\nx: '[[it''s]]' # [[b]]\n---\n"),
        ("| [[b\\|x]] |\n|-|\n", "c.md", "| [[c\\|x]] |\n|-|\n"),
        ("[[B]]", "f/c.md", "[[c]]"),
        ("[[b]]", "g/b.md", "[[b]]"),
        ("[[b]]", "f/B.md", "[[B]]"),
        // There is another of that name: it is written out longer.
        ("[[b]]", "g/twin.md", "[[g/twin]]"),
    ] {
        let files = [("a.md", text), ("f/b.md", "# h\n^i"), ("twin.md", "")];
        let after = after_move(&files, "f/b.md", to);
        assert_eq!(after["a.md"], expected, "{text:?} to {to}");
    }
}

#[test]
fn k4_what_moves_keeps_its_own_links() {
    let files = [
        ("f/a.md", "[[./b]] [x](../c.md) [[c]] ![[p.png]] [[#h]]"),
        ("f/b.md", ""),
        ("c.md", ""),
        ("p.png", ""),
    ];
    let after = after_move(&files, "f/a.md", "g/h/a.md");
    assert_eq!(after["g/h/a.md"], "[[../../f/b]] [x](../../c.md) [[c]] ![[p.png]] [[#h]]");
}

#[test]
fn k4_a_name_that_is_taken_away_from_a_link_is_written_longer() {
    // `[[b]]` led to x/b; now y/b stands nearer.
    let files = [("y/a.md", "[[b]]"), ("x/b.md", ""), ("y/c.md", "")];
    let after = after_move(&files, "y/c.md", "y/b.md");
    assert_eq!(after["y/a.md"], "[[x/b]]");
}

#[test]
fn k4_a_link_beside_its_note_stays_beside_it_whatever_the_case_of_the_folder() {
    let files = [("F/G/a.md", "[x](Sub/b.md)"), ("F/G/Sub/b.md", "")];
    let after = after_move(&files, "F/G/Sub/b.md", "F/G/Sub/c.md");
    assert_eq!(after["F/G/a.md"], "[x](Sub/c.md)");
}

#[test]
fn k4_what_is_replaced_is_not_rewritten() {
    let files = [("a.md", "[[b]]"), ("b.md", "[[a]] [[c]]"), ("c.md", "[[b]]")];
    let moves = BTreeMap::from([("b.md".to_owned(), "a.md".to_owned())]);
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let moves = VaultMoves { moves, ..VaultMoves::default() };
    let edits = plan_link_edits(&index_of(&files), &moves);
    let paths: Vec<&String> = edits.keys().collect();
    assert_eq!(paths, ["c.md"], "a.md is not there any more, and b.md leads to nothing that is");
    assert_eq!(edits["c.md"].edits[0].text, "a");
}

#[test]
fn k4_what_leaves_the_vault_takes_its_links_along_as_they_are() {
    let files = [("a.md", "[[b]] [[f/c]]"), ("b.md", "[[f/c]] [[a]]"), ("f/c.md", "")];
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let moves = VaultMoves { leaving: ["b.md".to_owned()].into(), ..VaultMoves::default() };
    assert_eq!(plan_link_edits(&index_of(&files), &moves).len(), 0);
}

#[test]
fn k4_what_comes_into_the_vault_takes_no_link_from_another() {
    let files = [("y/a.md", "[[b]]"), ("x/b.md", "")];
    let after = after_move(&files, "/elsewhere/b.md", "y/b.md");
    assert_eq!(after["y/a.md"], "[[x/b]]");
}

#[test]
fn z10_edits_of_another_text_are_refused() {
    let edit = |start: usize, end: usize| TextEdit {
        at: ByteSpan::new(start, end),
        text: "x".into(),
        form: LinkForm::Wiki,
        was: "y".into(),
    };
    for edits in [
        vec![edit(0, 99)],
        vec![edit(99, 100)],
        vec![edit(1, 2)],
        vec![edit(2, 1)],
        vec![edit(2, 3), edit(0, 1)],
    ] {
        assert_eq!(apply_edits("é[[b]]", &edits), None, "{edits:?}");
    }
}

#[test]
fn k4_canvases_follow() {
    let files = [("a.canvas", "{\"nodes\":[{\"file\": \"f/b.md\"}]}"), ("f/b.md", "")];
    let after = after_move(&files, "f/b.md", "g/\"c\".md");
    assert_eq!(after["a.canvas"], "{\"nodes\":[{\"file\": \"g/\\\"c\\\".md\"}]}");
}

#[test]
fn k4_links_of_the_vault_lead_where_they_led_after_every_move() {
    let index = load_vault();
    let texts: BTreeMap<String, String> = index
        .list_files()
        .map(|(_, file)| {
            let text = if file.known { vault_text(file.path) } else { String::new() };
            (file.path.to_owned(), text)
        })
        .collect();
    let paths: Vec<String> = texts.keys().cloned().collect();
    for from in &paths {
        for to in ["Moved.md", "Deep/er/Garden.md", "Books/Home.md", "Projects/Archive/x y.md"] {
            let ending = from.rsplit_once('.').map_or("", |(_, ending)| ending);
            let to = to.replace("md", ending);
            if paths.contains(&to) {
                continue;
            }
            check_move(&texts, from, &to).unwrap_or_else(|why| panic!("{from} to {to}: {why}"));
        }
    }
}

/// Every link leads to the same file before and after.
pub(crate) fn check_move(
    texts: &BTreeMap<String, String>,
    from: &str,
    to: &str,
) -> Result<(), String> {
    let before = index_of(texts);
    let files: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let after_texts = after_move(&files, from, to);
    let after = index_of(&after_texts);
    let moved = |path: &str| if path == from { to.to_owned() } else { path.to_owned() };
    for (number, file) in before.list_files() {
        let (now, _) = after.find_file(&moved(file.path)).ok_or("a file is gone")?;
        let links = |index: &NoteIndex, number| {
            index.read_facts(number).map(|facts| facts.links).unwrap_or_default()
        };
        let (old, new) = (links(&before, number), links(&after, now));
        if old.len() != new.len() {
            return Err(format!("{} has other links", file.path));
        }
        for (a, b) in old.iter().zip(&new) {
            let (from, to) =
                (IndexedLink { source: number, link: a }, IndexedLink { source: now, link: b });
            let led =
                before.link_target(from).map(|number| moved(before.name_table().path_of(number)));
            let leads =
                after.link_target(to).map(|number| after.name_table().path_of(number).to_owned());
            // What led nowhere may lead somewhere now.
            if led.is_some() && led != leads {
                let (a, b) = (a.target_text(), b.target_text());
                return Err(format!("{}: {a} led to {led:?}, {b} leads to {leads:?}", file.path));
            }
        }
    }
    Ok(())
}
