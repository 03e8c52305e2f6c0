//! Bases: a golden case for each function, filters, views, what is not known.

use jiff::civil::DateTime;
use weir_notes::base::{BaseQuery, FileTimes, VaultTimes, parse_base, run_query};
use weir_notes::index::NoteIndex;

use crate::vault::load_vault;

/// Every file is as old.
struct FixedTimes;

impl VaultTimes for FixedTimes {
    fn file_times(&self, _: &str) -> Option<FileTimes> {
        let at = |text: &str| text.parse::<DateTime>().expect("a moment");
        Some(FileTimes { created: at("2026-01-01T08:00:00"), modified: at("2026-02-27T09:30:00") })
    }
}

fn ask(
    index: &NoteIndex,
    yaml: &str,
    view: Option<&str>,
) -> Result<weir_notes::base::BaseTable, String> {
    let base = parse_base(yaml).map_err(|why| why.to_string())?;
    let now = "2026-03-02T09:30:15.250[UTC]".parse().expect("a moment");
    let query = BaseQuery { index, times: &FixedTimes, view, this: Some("Home.md"), now: &now };
    run_query(&base, &query).map_err(|why| why.to_string())
}

/// A formula worked out for `Books/Dune.md`, as JSON.
fn work_out(index: &NoteIndex, formula: &str) -> String {
    let fields = serde_json::json!({
        "filters": "file.path == \"Books/Dune.md\"",
        "formulas": { "x": formula, "one": "price + 1", "two": "formula.one * 2" },
        "views": [{ "type": "table", "name": "v", "order": ["formula.x"] }],
    });
    match ask(index, &fields.to_string(), None) {
        Ok(table) => match table.problems.first() {
            Some(problem) => format!("! {problem}"),
            None => table.groups[0].rows[0].cells[0].json.to_string(),
        },
        Err(why) => format!("! {why}"),
    }
}

/// The public list.
const FUNCTION_NAMES: &str = "\
    escapeHTML date duration file html if image icon link list max min now number today random \
    isTruthy isType toString format time relative isEmpty contains containsAll containsAny \
    endsWith lower replace repeat reverse slice split startsWith title trim abs ceil floor \
    round toFixed filter flat join map reduce sort unique asFile linksTo asLink hasLink \
    hasProperty hasTag inFolder keys values matches mean";

#[test]
fn k5_every_function_has_its_golden_case() {
    let index = load_vault();
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/base_functions.txt");
    let lines = std::fs::read_to_string(&golden).expect("the cases");
    let mut written = String::new();
    for line in lines.lines() {
        match line.split_once("  =>  ") {
            Some((formula, _)) if !line.starts_with("# ") => {
                written.push_str(&format!("{formula}  =>  {}\n", work_out(&index, formula)));
            }
            _ => written.push_str(&format!("{line}\n")),
        }
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&golden, &written).expect("written");
    }
    for (expected, found) in lines.lines().zip(written.lines()) {
        assert_eq!(found, expected, "(UPDATE=1 accepts)");
    }
    // Each function of the public list stands in a case.
    for name in FUNCTION_NAMES.split_whitespace() {
        assert!(lines.contains(&format!("{name}(")), "{name} has no case");
    }
}

const BOOKS: &str = r##"
filters:
  and:
    - file.hasTag("book")
    - not:
        - status == "lost"
        - file.name == "Nothing.md"
    - or:
        - price > 5
        - price == null
formulas:
  ppu: (price / 2).toFixed(2)
  century: published.year / 100
properties:
  status:
    displayName: Status
summaries:
  rounded: values.mean().round(1)
views:
  - type: table
    name: All
    order: [file.name, note.status, price, formula.ppu]
    sort:
      - property: price
        direction: DESC
    summaries:
      price: rounded
      note.status: Filled
  - type: cards
    name: Grouped
    limit: 2
    filters: published
    groupBy:
      property: status
      direction: DESC
    order: [file.basename, published]
  - type: list
    name: This
    filters: file.hasLink(this.file)
"##;

#[test]
fn k5_filters_order_limits_groups_and_summaries() {
    let index = load_vault();
    let all = ask(&index, BOOKS, None).expect("the first view");
    assert_eq!(
        all.to_markdown(),
        "| file.name | Status | price | formula.ppu |\n| --- | --- | --- | --- |\n\
         | Reading list.md |  | 12.5 | 6.25 |\n| Dune.md | done | 9 | 4.50 |\n\
         | Emma.md | reading | 7.25 | 3.63 |\nFilled of note.status: 2\nrounded of price: 9.6\n"
    );
    let grouped = ask(&index, BOOKS, Some("grouped")).expect("the second");
    assert_eq!(
        grouped.to_markdown(),
        "\nreading\n\n| file.basename | published |\n| --- | --- |\n| Emma | 1815-12-23 |\n\
         \ndone\n\n| file.basename | published |\n| --- | --- |\n| Dune | 1965-08-01 |\n"
    );
    let this = ask(&index, BOOKS, Some("This")).expect("the third");
    let paths: Vec<&str> =
        this.groups.iter().flat_map(|g| &g.rows).map(|row| row.path.as_str()).collect();
    assert_eq!(paths, ["Books/Emma.md", "Books/Reading list.md"]);
    assert_eq!(this.to_json()["groups"][0]["rows"][0]["values"]["file.name"], "Emma.md");
}

#[test]
fn k5_summaries_of_every_kind() {
    let index = load_vault();
    for (name, column, expected) in [
        ("Average", "price", "9.583333333333334"),
        ("Min", "price", "7.25"),
        ("Max", "price", "12.5"),
        ("Sum", "price", "28.75"),
        ("Range", "price", "5.25"),
        ("Median", "price", "9"),
        ("Stddev", "price", "2.1826334756181325"),
        ("Earliest", "published", "1815-12-23"),
        ("Latest", "published", "1965-08-01"),
        ("Range", "published", "54643 days"),
        ("Checked", "done", "0"),
        ("Unchecked", "done", "0"),
        ("Empty", "status", "1"),
        ("Filled", "status", "2"),
        ("Unique", "status", "3"),
    ] {
        let yaml = format!(
            "filters: 'file.hasTag(\"book\")'\nviews:\n  - order: [{column}]\n    summaries:\n      {column}: {name}\n"
        );
        let table = ask(&index, &yaml, None).expect(&yaml);
        let found: Vec<&str> = table.summaries.iter().map(|(_, _, value)| value.as_str()).collect();
        assert_eq!(found, [expected], "{name} of {column}");
    }
}

#[test]
fn k5_what_is_unknown_is_named_with_its_place() {
    let index = load_vault();
    for (yaml, said) in [
        ("filter: x", "the base: the key filter is unknown; there are filters, formulas"),
        ("filters:\n  xor: []", "filters: the key xor is unknown; there are and, or, not"),
        (
            "filters:\n  and:\n    - ok()",
            "filters.and[0]: the function ok() is unknown, at character 1",
        ),
        (
            "formulas:\n  a: price.sqrt()",
            "formulas.a: the function .sqrt() is unknown, at character 7",
        ),
        ("formulas:\n  a: file.nmae", "formulas.a: file.nmae is unknown, at character 6"),
        ("formulas:\n  a: formula.b", "formulas.a: there is no formula b, at character 9"),
        ("formulas:\n  a: 'if(1)'", "formulas.a: if() takes 2 to 3, not 1"),
        ("formulas:\n  a: '1 +'", "formulas.a: a value is missing at the end"),
        ("formulas:\n  a: '(1'", "formulas.a: \")\" is missing at the end"),
        ("formulas:\n  a: '\"x'", "formulas.a: the text that begins at character 1 is not closed"),
        ("views:\n  - type: table\n    ordr: []", "views[0]: the key ordr is unknown"),
        ("views:\n  - order: [formula.x]", "views[0].order[0]: there is no formula x"),
        (
            "views:\n  - groupBy: {property: a, direction: UP}",
            "views[0].groupBy.direction: UP is unknown",
        ),
        (
            "views:\n  - order: [a]\n    summaries: {a: Most}",
            "views[0].summaries.a: the summary Most is unknown",
        ),
        ("views:\n  - limit: few", "views[0].limit: a whole number is expected"),
        ("a: [", "the base: no YAML"),
        ("- a", "the base: names with values are expected"),
        ("", "views: the base has no view"),
        ("formulas:\n  a: formula.a\nfilters: formula.a\nviews: [{}]", "leads back to itself"),
        ("filters: file.path * 2\nviews: [{}]", "cannot be multiplied or divided, for "),
    ] {
        let why = ask(&index, yaml, None).map(|_| ()).expect_err(yaml);
        assert!(why.contains(said), "{yaml:?}: {why}");
    }
    // A layout of a plugin keeps what it likes.
    assert!(ask(&index, "views: [{type: kanban, lanes: 3}]", None).is_ok());
    let problem =
        ask(&index, "formulas:\n  a: price.lower()\nviews:\n  - order: [formula.a]", None);
    assert!(problem.expect("a table").problems[0].contains("a number has no function lower()"));
    let other = ask(&index, BOOKS, Some("Other")).map(|_| ()).expect_err("no such view");
    assert_eq!(other, "views: there is no view Other; there are All, Grouped, This");
}

/// Filters that begin with tags leave notes unread: the answer is as if they had been asked in any order, and
/// what fails for a note fails only where it is asked.
#[test]
fn q22_filters_that_begin_with_tags_answer_the_same() {
    let index = load_vault();
    let found = |filters: &str| -> Result<Vec<String>, String> {
        let yaml = format!("filters: {filters}\nviews:\n  - order: [file.name, price]\n");
        let table = ask(&index, &yaml, None)?;
        let rows = table.groups.iter().flat_map(|group| &group.rows);
        Ok(rows.map(|row| format!("{} {}", row.path, row.cells[1].text)).collect())
    };
    let novels = ["Books/Dune.md 9", "Books/Emma.md 7.25", "Books/Reading list.md 12.5"];
    for (first, then) in [
        (
            "'file.hasTag(\"book/novel\") && price > 0'",
            "'price > 0 && file.hasTag(\"book/novel\")'",
        ),
        (
            "'file.hasTag(\"#Book\", \"none\") && file.hasTag(\"book\") && price > 0'",
            "'price > 0 && file.hasTag(\"none\", \"Book\")'",
        ),
        (
            "{and: ['file.hasTag(\"book\")', {and: ['price > 0', 'file.hasTag(\"book\")']}]}",
            "{and: ['price > 0', 'file.hasTag(\"book\")']}",
        ),
        ("{or: ['file.hasTag(\"none\")', 'price > 0']}", "'price > 0'"),
        ("{not: ['file.hasTag(\"map\")', '!price']}", "'price > 0'"),
    ] {
        assert_eq!(found(first).expect(first), novels, "{first}");
        assert_eq!(found(then).expect(then), novels, "{then}");
    }
    assert_eq!(found("'file.hasTag(\"none\") && price > 0'"), Ok(Vec::new()));
    assert_eq!(found("'file.hasTag(\"boo\")'"), Ok(Vec::new()), "a part of a tag is none");
    // `Home` has no such tag, so what fails for it is not asked.
    let fails = "file.name * file.name > 0";
    assert!(found(&format!("'{fails}'")).is_err());
    assert_eq!(found(&format!("'file.hasTag(\"none\") && {fails}'")), Ok(Vec::new()));
    assert!(found(&format!("'{fails} && file.hasTag(\"none\")'")).is_err());
    assert!(found(&format!("'file.hasTag(\"book\") && {fails}'")).is_err());
}
