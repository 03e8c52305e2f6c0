//! Properties: a change touches nothing but what it names.

use serde_json::{Value, json};
use weir_notes::properties::{
    PropertyChange, change_properties, find_frontmatter, parse_properties, yaml_text,
};

use crate::vault::vault_text;

fn set(name: &str, value: Value) -> PropertyChange {
    PropertyChange::Set { name: name.into(), value }
}

fn remove(name: &str) -> PropertyChange {
    PropertyChange::Remove { name: name.into() }
}

fn rename(name: &str, to: &str) -> PropertyChange {
    PropertyChange::Rename { name: name.into(), to: to.into() }
}

/// A note, a change, the note afterwards.
#[test]
fn k2_one_property_changes_and_nothing_else() {
    for (before, change, after) in [
        ("text\n", set("a", json!(1)), "---\na: 1\n---\ntext\n"),
        ("a\r\nb\r\n", set("a", json!("x")), "---\r\na: x\r\n---\r\na\r\nb\r\n"),
        ("---\na: 1 # why\nb: 'x'\n---\n", set("a", json!(2)), "---\na: 2 # why\nb: 'x'\n---\n"),
        ("---\na: 1\nb: 'x'\n---\n", set("b", json!("it's")), "---\na: 1\nb: 'it''s'\n---\n"),
        ("---\nb: \"x\"\n---\n", set("b", json!("y")), "---\nb: \"y\"\n---\n"),
        ("---\nb:\n---\n", set("b", json!("y")), "---\nb: y\n---\n"),
        ("---\nb:   y\n---\n", set("b", json!("z")), "---\nb:   z\n---\n"),
        ("---\nb: # later\n---\n", set("b", json!("z")), "---\nb: z # later\n---\n"),
        (
            "---\na: [x, \"y\"]\n---\n",
            set("a", json!(["x", "z, w"])),
            "---\na: [x, \"z, w\"]\n---\n",
        ),
        (
            "---\nt:\n- a # one\n- 'b'\nu: 1\n---\n",
            set("t", json!(["a", "c"])),
            "---\nt:\n- a # one\n- c\nu: 1\n---\n",
        ),
        (
            "---\nt:\n    - \"a\"\n    # kept\n    - \"b\"\n---\n",
            set("t", json!(["a", "b", "c"])),
            "---\nt:\n    - \"a\"\n    # kept\n    - \"b\"\n    - \"c\"\n---\n",
        ),
        ("---\nt: x\n---\n", set("t", json!(["a", "b"])), "---\nt:\n  - a\n  - b\n---\n"),
        ("---\nt:\n  - a\nu: 1\n---\n", set("t", json!("x")), "---\nt: x\nu: 1\n---\n"),
        ("---\na: 1\n# end\n---\n", set("b", json!(true)), "---\na: 1\nb: true\n# end\n---\n"),
        ("---\n  a: 1\n  b: 2\n---\n", set("c", json!(3)), "---\n  a: 1\n  b: 2\n  c: 3\n---\n"),
        ("---\na: 1\nb: |\n  x\n\n  y\nc: 2\n---\n", remove("b"), "---\na: 1\nc: 2\n---\n"),
        ("---\na: 1\n---\ntext", remove("a"), "text"),
        ("---\n# about\na: 1\n---\n", remove("a"), "---\n# about\n---\n"),
        ("---\na: {x: 1,\ny: 2}\nb: 2\n---\n", remove("a"), "---\nb: 2\n---\n"),
        ("---\n\"a b\": 1 # c\n---\n", rename("a b", "d"), "---\nd: 1 # c\n---\n"),
        ("---\nTags: [x]\n---\n", set("tags", json!(["y"])), "---\nTags: [y]\n---\n"),
        ("---\na: 1\r\nb: 2\n---\n", set("a", json!(3)), "---\na: 3\r\nb: 2\n---\n"),
        ("---\na: \"[[x]]\"\n---\n", set("a", json!("[[y]]")), "---\na: \"[[y]]\"\n---\n"),
        ("---\na: x\n---\n", set("a", json!("[[y]]")), "---\na: \"[[y]]\"\n---\n"),
        ("---\na: x\n---\n", set("a", json!("true")), "---\na: \"true\"\n---\n"),
        ("---\na: x\n---\n", set("a", json!("2026-01-02")), "---\na: 2026-01-02\n---\n"),
        ("---\na: x\n---\n", set("a", Value::Null), "---\na: \n---\n"),
    ] {
        let found = change_properties(before, std::slice::from_ref(&change));
        assert_eq!(found.as_deref(), Ok(after), "{before:?} with {change:?}");
    }
}

#[test]
fn k2_what_cannot_be_changed_is_said() {
    for (before, change, said) in [
        ("---\na: 1\n---\n", remove("b"), "there is no property b; the note has a"),
        ("text", remove("b"), "there is no property b; the note has none"),
        ("---\na: 1\nb: 2\n---\n", rename("a", "b"), "there is a property b already"),
        ("---\na: [\n---\n", set("b", json!(1)), "the properties cannot be read"),
        ("---\n{\"a\": 1}\n---\n", set("b", json!(1)), "written as one value"),
        ("---\n- a\n---\n", set("b", json!(1)), "not names with values"),
    ] {
        let why = change_properties(before, &[change]).expect_err(before).to_string();
        assert!(why.contains(said), "{before:?}: {why}");
    }
}

/// Each property of a note set to what it is, and to something else and back, changes nothing.
pub(crate) fn check_round_trip(text: &str) -> Result<(), String> {
    let Some(place) = find_frontmatter(text) else { return Ok(()) };
    let Ok(properties) = parse_properties(place.yaml.slice_of(text)) else { return Ok(()) };
    for (name, value) in &properties {
        let same =
            change_properties(text, &[set(name, value.clone())]).map_err(|why| why.to_string())?;
        if same != text {
            return Err(format!("{name} set to what it is changes the note"));
        }
        let there = rename(name, "weir other name");
        let back = rename("weir other name", name);
        let renamed = change_properties(text, &[there, back]).map_err(|why| why.to_string())?;
        if renamed != text && !name.contains(['"', '\'', ' ']) {
            return Err(format!("{name} renamed and back changes the note"));
        }
        let other =
            change_properties(text, &[set("weir other name", json!(1)), remove("weir other name")]);
        if other.as_deref() != Ok(text) {
            return Err(format!("another property set and removed changes the note: {other:?}"));
        }
    }
    Ok(())
}

#[test]
fn k2_properties_of_the_vault_make_the_round_trip() {
    for path in ["Home.md", "Projects/Compost.md", "Books/Reading list.md", "Books/Dune.md"] {
        assert_eq!(check_round_trip(&vault_text(path)), Ok(()), "{path}");
    }
}

#[test]
fn k2_values_are_written_so_that_they_read_the_same() {
    for text in [
        "",
        "yes",
        "no",
        "null",
        "~",
        "1",
        "1.5",
        "0x1f",
        "- a",
        "-a",
        "a: b",
        "a:b",
        "a #b",
        "#a",
        "'a'",
        "\"a\"",
        " a",
        "a ",
        "a\nb",
        "[a]",
        "{a}",
        "*a",
        "&a",
        "!a",
        "@a",
        "`a`",
        "%a",
        "|",
        ">",
        "a\\b",
        "2026-01-02",
        "true",
        "?",
        ":",
        "é",
        "=",
        "---",
        "...",
        "<<",
    ] {
        let value = json!({ "k": text, "l": [text, [text]], "o": { "p": text } });
        let yaml = yaml_text(&value);
        let read = parse_properties(&yaml).map(Value::Object);
        assert_eq!(read, Ok(value), "{yaml}");
    }
}
