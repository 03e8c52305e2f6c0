//! Headings and aliases with other names: links that named them name them so.

use std::collections::BTreeMap;

use weir_notes::renaming::{NoteTexts, RenamePlan, RenamedPart, plan_rename};
use weir_notes::rewrite::apply_edits;

use crate::rewrite::index_of;

struct Texts<'a>(&'a BTreeMap<String, String>);

impl NoteTexts for Texts<'_> {
    fn note_text(&self, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| "it is not there".into())
    }
}

/// `n.md` and `a.md` after a part of `n.md` got another name.
fn rename(
    note: &str,
    other: &str,
    part: RenamedPart<'_>,
    to: &str,
) -> Result<(String, String), String> {
    let mut files = BTreeMap::from([
        ("n.md".to_owned(), note.to_owned()),
        ("a.md".to_owned(), other.to_owned()),
        ("m.md".to_owned(), "# Old".to_owned()),
    ]);
    let index = index_of(&files);
    let (number, _) = index.find_file("n.md").expect("the note");
    let edits = plan_rename(&index, &RenamePlan { note: number, part, to }, &Texts(&files))?;
    for (path, of_file) in edits {
        let text = apply_edits(&files[&path], &of_file.edits).expect("the places fit");
        files.insert(path, text);
    }
    Ok((files["n.md"].clone(), files["a.md"].clone()))
}

#[test]
fn k4_a_heading_with_another_name_keeps_its_links() {
    for (note, other, expected) in [
        (
            "# Old\n[[#Old]]",
            "[[n#Old]] [[n#old|x]] ![[n#Old]]",
            ("# New name\n[[#New name]]", "[[n#New name]] [[n#New name|x]] ![[n#New name]]"),
        ),
        (
            "## Old ##\n",
            "[x](n.md#Old) [x](<n.md#Old>)",
            ("## New name ##\n", "[x](n.md#New%20name) [x](<n.md#New%20name>)"),
        ),
        (
            "Old\n===\n",
            "[[n]] [[m#Old]] [[n#^old]]",
            ("New name\n===\n", "[[n]] [[m#Old]] [[n#^old]]"),
        ),
        (
            "# Old\n## Sub\n",
            "[[n#Old#Sub]] [[n#Sub]]",
            ("# New name\n## Sub\n", "[[n#New name#Sub]] [[n#Sub]]"),
        ),
        (
            "# Old\n",
            "---\nx: \"[[n#Old]]\"\n---\n`[[n#Old]]`",
            ("# New name\n", "---\nx: \"[[n#New name]]\"\n---\n`[[n#Old]]`"),
        ),
        ("# Old\n[[n#Old]]", "", ("# New name\n[[n#New name]]", "")),
        // The second of two that are called so is no link's.
        (
            "# A\n## Old\n# B\n",
            "| [[n#Old\\|x]] |\n|-|\n",
            ("# A\n## New name\n# B\n", "| [[n#New name\\|x]] |\n|-|\n"),
        ),
    ] {
        let found = rename(note, other, RenamedPart::Heading("Old"), "New name");
        assert_eq!(found, Ok((expected.0.to_owned(), expected.1.to_owned())), "{note:?} {other:?}");
    }
    let signs = rename("# Old", "[[n#Old]]", RenamedPart::Heading("# Old"), "A #1: [b] | c");
    assert_eq!(signs, Ok(("# A #1: [b] | c".into(), "[[n#A 1: b c]]".into())));
}

#[test]
fn k4_an_alias_with_another_name_is_shown_so() {
    let note = "---\naliases: [Old, Other] # mine\n---\n";
    let other = "[[n|Old]] [[n|Other]] [Old](n.md) [[m|Old]]";
    let found = rename(note, other, RenamedPart::Alias("old"), "New name");
    let (note, other) = found.expect("it is renamed");
    assert_eq!(note, "---\naliases: [New name, Other] # mine\n---\n");
    assert_eq!(other, "[[n|New name]] [[n|Other]] [New name](n.md) [[m|Old]]");
}

#[test]
fn k4_a_name_that_cannot_be_is_refused() {
    for (note, part, to, said) in [
        ("# Old\n# New", RenamedPart::Heading("Old"), "new", "has a heading new already"),
        ("# Old", RenamedPart::Heading("Odl"), "x", "no heading Odl; it has Old"),
        ("x", RenamedPart::Heading("Old"), "x", "has no headings"),
        ("# Old", RenamedPart::Heading("Old"), "a\nb", "one line"),
        ("# Old", RenamedPart::Heading("Old"), "#", "no letters"),
        ("x", RenamedPart::Alias("Old"), "x", "has no aliases"),
    ] {
        let why = rename(note, "", part, to).expect_err(said);
        assert!(why.contains(said), "{why}");
    }
}
