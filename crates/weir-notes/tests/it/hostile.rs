//! Any text is a note, and no text makes a parser panic.

use proptest::prelude::*;
use serde_json::json;
use weir_notes::base::{BaseQuery, parse_base, run_query};
use weir_notes::index::{IndexedFile, NoteIndex};
use weir_notes::note::{parse_canvas, parse_note};
use weir_notes::properties::{PropertyChange, change_properties};
use weir_notes::span::ByteSpan;

/// Texts of the signs that mean something.
fn hostile_text() -> impl Strategy<Value = String> {
    let signs = prop::sample::select(vec![
        "---\n",
        "[[",
        "]]",
        "|",
        "#",
        "^a",
        "%%",
        "`",
        "```\n",
        "$",
        "$$",
        "<b>",
        "<!--",
        "-->",
        "\n",
        "\r\n",
        " ",
        "- [ ] ",
        "- ",
        "> ",
        "é",
        "🌱",
        "\\",
        "\"",
        "'",
        "a: ",
        "a",
        "](",
        ")",
        "![",
        "{",
        "}",
        "[",
        "]",
        ": ",
        "&x ",
        "*x",
        "\u{feff}",
        "\u{0}",
        "|-|\n",
        "    ",
        "\"file\":\"",
        "/",
        "(",
        "+",
        "1",
        ".",
    ]);
    prop::collection::vec(signs, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn z10_places_of_a_note_lie_in_it(text in hostile_text()) {
        let facts = parse_note(&text);
        let lies = |at: ByteSpan| text.get(at.start..at.end).is_some();
        prop_assert!(facts.headings.iter().all(|heading| lies(heading.at)));
        prop_assert!(facts.links.iter().all(|link| lies(link.at) && lies(link.path_at)));
        prop_assert!(facts.tags.iter().filter_map(|tag| tag.at).all(lies));
        prop_assert!(facts.blocks.iter().all(|block| lies(block.at)));
        prop_assert!(facts.tasks.iter().all(|task| lies(task.at)));
        prop_assert!(parse_canvas(&text).links.iter().all(|link| lies(link.path_at)));
    }

    #[test]
    fn z10_a_change_of_properties_never_breaks_a_note(head in hostile_text(), body in hostile_text()) {
        let text = format!("---\n{head}\n---\n{body}");
        let set = PropertyChange::Set { name: "weir".into(), value: json!(["x", 1]) };
        if let Ok(changed) = change_properties(&text, std::slice::from_ref(&set)) {
            prop_assert_eq!(&parse_note(&changed).properties["weir"], &json!(["x", 1]));
            let remove = PropertyChange::Remove { name: "weir".into() };
            prop_assert!(change_properties(&changed, &[remove]).is_ok());
        }
    }

    #[test]
    fn z10_a_base_is_read_or_refused(text in hostile_text()) {
        let filters = serde_json::json!({ "filters": text, "views": [{}] }).to_string();
        prop_assert!(parse_base(&filters).is_ok() || parse_base(&filters).is_err());
        let _ = parse_base(&text);
    }
}

/// A base whose one formula is this, worked out for a file.
fn work_out(formula: &str) -> Result<weir_notes::base::BaseTable, String> {
    struct NoTimes;
    impl weir_notes::base::VaultTimes for NoTimes {
        fn file_times(&self, _: &str) -> Option<weir_notes::base::FileTimes> {
            None
        }
    }
    let fields = json!({ "formulas": { "x": formula }, "views": [{ "order": ["formula.x"] }] });
    let base = parse_base(&fields.to_string()).map_err(|why| why.to_string())?;
    let mut index = NoteIndex::default();
    index.put_file(&IndexedFile { path: "a.md".into(), ..IndexedFile::default() });
    let now = "2026-03-02T09:30:15[UTC]".parse().expect("a moment");
    let query = BaseQuery { index: &index, times: &NoTimes, view: None, this: None, now: &now };
    run_query(&base, &query).map_err(|why| why.to_string())
}

#[test]
fn z10_a_formula_that_goes_deep_is_refused_or_worked_out() {
    let nested = |open: &str, close: &str, count: usize| {
        format!("{}1{}", open.repeat(count), close.repeat(count))
    };
    for formula in [
        nested("(", ")", 4_000),
        nested("[", "]", 4_000),
        nested("-", "", 9_000),
        nested("!", "", 9_000),
        nested("if(1,", ")", 1_400),
        nested("a.contains(", ")", 800),
        nested("a[", "]", 3_000),
        nested("[1].map(", ")", 900),
        format!("a{}", ".b".repeat(4_900)),
        format!("a{}", ".lower()".repeat(1_200)),
        format!("1{}", "+1".repeat(4_900)),
        format!("a{}", "[0]".repeat(3_300)),
        format!("{}1{}", "(".repeat(50), "+1)".repeat(50)),
    ] {
        let short: String = formula.chars().take(20).collect();
        match work_out(&formula) {
            Ok(_) => {}
            Err(why) => assert!(
                why.contains("nested deeper") || why.contains("chains more"),
                "{short}: {why}"
            ),
        }
    }
    assert!(
        work_out(&format!("1{}", "+1".repeat(400))).is_ok(),
        "a long sum is none that goes deep"
    );
    let sum = work_out(&format!("1{}", "+1".repeat(400))).expect("a sum");
    assert_eq!(sum.groups[0].rows[0].cells[0].text, "401");
}

#[test]
fn z10_what_a_formula_makes_is_bounded_before_it_is_made() {
    let long = "\"x\".repeat(100000)";
    for (formula, said) in [
        (format!("{long}.repeat(2)"), "more than 100000 bytes"),
        (format!("{long}.replace(\"x\", {long})"), "more than 100000 bytes"),
        (format!("{long}.replace(\"\", {long})"), "more than 100000 bytes"),
        (format!("{long}.replace(/x/g, \"$0$0$0\")"), "more than 100000 bytes"),
        (format!("{long}.replace(/.*/s, \"$0\".repeat(50000))"), "more than 100000 bytes"),
        (format!("{long}.split(\"\").map({long})"), "too many steps"),
        (format!("{long}.split(\"\").map({long}).join(\",\")"), "too many steps"),
        (format!("[1,2,3].map({long}).join({long})"), "more than 100000 bytes"),
        (format!("{long}.split(\"\").map(index).unique()"), "too many steps"),
        (format!("{long}.split(\"\").reduce(acc + value, \"\")"), "too many steps"),
        (format!("{long}.split(\"\").reduce([acc], 0)"), "nested deeper"),
        (format!("{long}.split(\"\").reduce(acc + acc, [1])"), "more than 100000 items"),
        (format!("{long}.split(\"\").map({long}.contains(\"yy\"))"), "too many steps"),
    ] {
        let table = work_out(&formula).expect("a table");
        let problem = table.problems.first().cloned().unwrap_or_default();
        assert!(problem.contains(said), "{formula}: {problem:?}");
    }
}

#[test]
fn k5_numbers_that_are_none_have_their_place_in_an_order() {
    let found = work_out("[3, 0 / 0, true, 1, 0 / 0, 2, -1, \"a\", null, 0 / 0].sort()");
    let text = found.expect("a table").groups[0].rows[0].cells[0].text.clone();
    assert_eq!(text, "-1, true, 1, 2, 3, NaN, NaN, NaN, a, ");
}

#[test]
fn k1_a_note_has_so_many_parts_and_no_more() {
    let text = "- [ ] a [[b]] #c\n".repeat(30_000);
    let facts = parse_note(&text);
    let parts = facts.links.len() + facts.tags.len() + facts.tasks.len();
    assert_eq!((parts, facts.cut), (weir_notes::note::NOTE_PARTS_MAX, true));
    assert!(!parse_note("[[b]]").cut);
    let canvas = "{\"file\":\"a.md\"},".repeat(60_000);
    assert!(parse_canvas(&canvas).cut);
}

#[test]
fn z10_a_note_of_brackets_is_read_in_the_time_of_its_length() {
    // Each was looked through to its end once for every sign of it.
    for text in ["[[", "[[a", "- ", "- [ ] ", "%%", "#a", "[[a]] ", "]]", "!["] {
        let facts = parse_note(&text.repeat(300_000 / text.len()));
        assert!(facts.links.len() <= weir_notes::note::NOTE_PARTS_MAX);
    }
    let facts = parse_note(&format!("{}x]] [[b]]", "[[".repeat(100_000)));
    let paths: Vec<&str> = facts.links.iter().map(|link| link.path.as_str()).collect();
    assert_eq!(paths, ["x", "b"]);
}
