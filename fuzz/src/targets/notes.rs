//! Notes, bases and canvases of a vault: files that anybody may have written.

use serde_json::Value;
use weir_notes::base::{BaseQuery, FileTimes, VaultTimes, parse_base, run_query};
use weir_notes::diagram::CanvasDrawing;
use weir_notes::index::{
    IndexedFile, NoteIndex, facts_of, file_record, header_bytes, scan_records,
};
use weir_notes::note::NoteFacts;
use weir_notes::properties::{PropertyChange, change_properties, find_frontmatter};

use crate::input::text;
use crate::seeds;

pub(super) const NOTE_WORDS: &[&str] = &[
    "---\n",
    "tags: [a, b/c]\n",
    "aliases:\n  - Other\n",
    "key: \"[[Link|shown]]\"\n",
    "# comment\n",
    "[[",
    "]]",
    "![[",
    "[[Note#Heading#Below|shown]]",
    "[[#^block]]",
    "^block\n",
    "#tag/below",
    "[text](a%20b.md \"title\")",
    "](<",
    "- [ ] ",
    "- [x] ",
    "```\n",
    "~~~",
    "`",
    "$$",
    "%%",
    "<!--",
    "-->",
    "<div>",
    "\r\n",
    "\t",
    "    ",
    "> ",
    "| a | b |\n|---|---|\n",
    "\\",
    "\u{feff}",
    "é",
    "e\u{301}",
    "|",
    "&amp;",
];

pub(super) const BASE_WORDS: &[&str] = &[
    "filters:\n",
    "  and:\n    - ",
    "  or:\n    - ",
    "  not:\n    - ",
    "formulas:\n  a: ",
    "properties:\n",
    "views:\n  - type: table\n    order: [file.name]\n",
    "    sort:\n      - property: a\n        direction: DESC\n",
    "    groupBy: status\n",
    "    limit: 3\n",
    "summaries:\n",
    "file.hasTag(\"a\")",
    "file.name",
    "note.",
    "formula.a",
    "this.file.name",
    " && ",
    " || ",
    "!",
    "==",
    "if(",
    "date(\"2026-03-02\")",
    " + \"1 week\"",
    ".format(\"YYYY\")",
    "now()",
    "list(",
    ".map(value * 2)",
    ".reduce(acc + value, 0)",
    "/(a+)+$/",
    ".matches(",
    "link(\"a\")",
    "[1, 2][0]",
    "1e308 * 10",
    "0 / 0",
    "((((",
    "))))",
];

/// Whatever a note says: its places lie in it, its line of the index is read back as it was, and a change
/// of its properties leaves the rest as it is.
pub(super) fn note(data: &[u8]) {
    let text = text(data);
    let facts = facts_of("a/Note.md", &text);
    assert_places(&text, &facts);
    let file = IndexedFile {
        path: "a/Note.md".into(),
        facts: Some(Box::new(facts)),
        ..IndexedFile::default()
    };
    let record = file_record(&file).expect("it is not too long");
    let kept = [header_bytes().as_slice(), &record].concat();
    let scanned = scan_records(|offset, bytes| {
        let rest = kept.get(usize::try_from(offset).ok()?..)?;
        let count = rest.len().min(bytes.len());
        bytes[..count].copy_from_slice(&rest[..count]);
        Some(count)
    });
    let scanned = scanned.expect("its own version");
    assert_eq!((scanned.records, scanned.whole, scanned.files.len()), (1, true, 1));
    let mut index = NoteIndex::default();
    let number = index.put_file(&file);
    assert_eq!(index.read_facts(number), file.facts.as_deref().cloned());
    // The mark of UTF-8 stays before the properties.
    let body = |text: &str| match find_frontmatter(text) {
        Some(place) => text[place.block.end..].to_owned(),
        None => text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(),
    };
    let change = PropertyChange::Set { name: "fuzzed".into(), value: Value::from("yes: #no") };
    if let Ok(changed) = change_properties(&text, &[change]) {
        assert_eq!(body(&changed), body(&text), "the text below changed");
        let value = facts_of("a.md", &changed).properties.get("fuzzed").cloned();
        assert_eq!(value, Some(Value::from("yes: #no")), "{changed:?}");
    }
}

fn assert_places(text: &str, facts: &NoteFacts) {
    for link in &facts.links {
        assert!(text.get(link.at.start..link.at.end).is_some(), "{link:?}");
        assert!(text.get(link.path_at.start..link.path_at.end).is_some(), "{link:?}");
    }
    for at in facts.tags.iter().filter_map(|tag| tag.at) {
        assert!(text.get(at.start..at.end).is_some(), "{at:?}");
    }
    assert!(facts.links.is_sorted_by_key(|link| link.at.start), "links are in order");
}

/// A canvas that can be read is drawn as one closed drawing, in which nothing that it says is markup.
pub(super) fn canvas(data: &[u8]) {
    let text = text(data);
    assert_places(&text, &facts_of("a.canvas", &text));
    if let Ok(canvas) = CanvasDrawing::read_canvas(&text) {
        let svg = canvas.svg();
        assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert_eq!(svg.matches("<svg").count(), 1, "{svg}");
        for never in ["<script", "<foreignObject", "<image", "<a ", "<b>"] {
            assert!(!svg.contains(never), "{svg}");
        }
        let _ = canvas.outline();
    }
}

struct NoTimes;

impl VaultTimes for NoTimes {
    fn file_times(&self, _: &str) -> Option<FileTimes> {
        None
    }
}

/// A base that can be read is asked in bounded steps; what it cannot do is a sentence.
pub(super) fn base(data: &[u8]) {
    let text = text(data);
    let base = match parse_base(&text) {
        Ok(base) => base,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut index = NoteIndex::default();
    for (path, text) in [
        ("a/One.md", "---\nstatus: open\nrating: 3\ntags: [a]\n---\nSee [[Two]].\n"),
        ("Two.md", "---\nstatus: [x, y]\ndate: 2026-03-02\n---\n"),
        ("a/x.png", ""),
    ] {
        let facts = path.ends_with(".md").then(|| Box::new(facts_of(path, text)));
        index.put_file(&IndexedFile { path: path.into(), facts, ..IndexedFile::default() });
    }
    let now = "2026-03-02T09:30:15[UTC]".parse().expect("a moment");
    let query = BaseQuery { index: &index, times: &NoTimes, view: None, this: None, now: &now };
    match run_query(&base, &query) {
        Ok(table) => {
            let _ = (table.to_json(), table.to_markdown());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub(super) fn note_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::texts(&[
        "---\ntags: [a, b/c]\naliases:\n  - Other # kept\nkey: \"[[Link|shown]]\"\n---\n# Heading\n\
         See [[Note#Part|shown]], ![[image.png]] and [text](a%20b.md#x). ^id\n\n- [ ] Do it #tag\n",
        "No properties.\r\n\r\n```\n[[no link]] #no\n```\n\n%% [[none]] %% $[[x]]$ <!-- #y -->\n",
    ]);
    seeds.extend(seeds::files("docs", ".md"));
    seeds
}

pub(super) fn canvas_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        r##"{"nodes":[{"id":"a","type":"text","text":"Why <b>","x":0,"y":0,"width":240,"height":80,"color":"1"},{"id":"b","type":"file","file":"a/B.md","subpath":"#x","x":400,"y":-9,"width":240,"height":80},{"id":"g","type":"group","label":"All","x":-20,"y":-20,"width":900,"height":200,"color":"#ff0000"},{"id":"l","type":"link","url":"https://example.org/?a=\"b","x":0,"y":300,"width":9,"height":9}],"edges":[{"id":"e","fromNode":"a","fromSide":"right","toNode":"b","label":"grows"}]}"##,
        r#"{"nodes":[],"edges":[]}"#,
    ])
}

pub(super) fn base_seeds() -> Vec<Vec<u8>> {
    seeds::texts(&[
        "filters:\n  and:\n    - file.hasTag(\"a\")\n    - 'status == \"open\"'\nformulas:\n  twice: rating * 2\nviews:\n  - type: table\n    name: All\n    order: [file.name, formula.twice, status]\n    sort:\n      - property: rating\n        direction: DESC\n    limit: 5\n    summaries:\n      rating: Sum\n",
        "filters: 'list(status).contains(\"x\") || file.links.length > 0'\nformulas:\n  a: 'if(date, date(date) + \"1 week\", now().format(\"YYYY\"))'\n  b: '[1, 2, 3].map(value + 1).reduce(acc + value, 0)'\nviews:\n  - type: list\n    groupBy: status\n",
    ])
}
