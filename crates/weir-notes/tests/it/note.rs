//! What stands in a note, and where its links lead.

use weir_notes::index::{FileStamp, IndexedFile, IndexedLink, NoteIndex, facts_of, is_read};
use weir_notes::note::{LinkForm, parse_note};
use weir_notes::properties::PropertyKind;

use crate::vault::{load_vault, vault_text};

#[test]
fn k2_a_note_is_read_by_obsidians_rules() {
    let text = vault_text("Home.md");
    let facts = parse_note(&text);
    let links: Vec<String> =
        facts.links.iter().map(weir_notes::note::NoteLink::target_text).collect();
    assert_eq!(
        links,
        [
            "Index of everything",
            "Projects/Garden",
            "Books/Reading list.md",
            "Garden",
            "Projects/Garden#Beds",
            "garden#^water",
            "Garden#Beds#Tomatoes",
            "Books/Reading list.md",
            "Books/Reading list.md#To read",
            "plan.png",
            "Attachments/plan.png",
            "Manual.pdf#page=2",
            "Garden",
            "Nowhere",
            "Garden#No such heading",
            "Garden#^nope",
            "Garden",
            "#Home",
            "#^para-1",
        ]
    );
    for link in &facts.links {
        let written = weir_notes::note::decode_percent(link.path_at.slice_of(&text));
        assert_eq!(written, link.path, "the place of {link:?}");
    }
    let tags: Vec<&str> = facts.tags.iter().map(|tag| tag.name.as_str()).collect();
    assert_eq!(
        tags,
        ["map", "area/home", "table/tag", "area/home/kitchen", "y1984", "bold", "été", "🌱seed"]
    );
    for tag in facts.tags.iter().filter_map(|tag| Some((tag, tag.at?))) {
        assert_eq!(tag.1.slice_of(&text), format!("#{}", tag.0.name));
    }
    assert_eq!(facts.aliases, ["Start", "The beginning"]);
    let tasks: Vec<(char, &str)> =
        facts.tasks.iter().map(|t| (t.status, t.text.as_str())).collect();
    let expected =
        [(' ', "Water the [[Garden]]"), ('x', "Buy seeds"), ('-', "Dropped"), (' ', "Numbered")];
    assert_eq!(tasks, expected);
    assert_eq!(facts.blocks.iter().map(|b| b.id.as_str()).collect::<Vec<_>>(), ["para-1"]);
    let kinds: Vec<(&str, PropertyKind)> = facts
        .properties
        .iter()
        .map(|(name, value)| (name.as_str(), PropertyKind::of_value(value)))
        .collect();
    assert_eq!(
        kinds,
        [
            ("aliases", PropertyKind::List),
            ("tags", PropertyKind::List),
            ("up", PropertyKind::Text),
            ("related", PropertyKind::List),
            ("rating", PropertyKind::Number),
            ("done", PropertyKind::Checkbox),
            ("date", PropertyKind::Date),
            ("seen", PropertyKind::DateTime),
        ]
    );
}

/// What is written, and the paths and tags that are found in it.
#[test]
fn k2_what_is_covered_holds_nothing() {
    for (text, links, tags) in [
        ("`[[a]]` [[b]]", vec!["b"], vec![]),
        ("~~~\n[[a]]\n~~~\n[[b]]", vec!["b"], vec![]),
        ("%%[[a]]%%[[b]]", vec!["b"], vec![]),
        ("text %% [[a]] and no end", vec!["a"], vec![]),
        ("%% [[a]]\n\n#never", vec![], vec![]),
        ("$$\n[[a]]\n$$\n\n[[b]]", vec!["b"], vec![]),
        ("It costs $5 and [[a]] $6", vec!["a"], vec![]),
        ("<!-- [[a]] #t -->\n\n[[b]]", vec!["b"], vec![]),
        ("\\[[a]] [[b]]", vec!["b"], vec![]),
        ("[[a [[b]]", vec!["b"], vec![]),
        ("[[a\nb]]", vec![], vec![]),
        ("[[a#`b`|`c`]] [[`d`]] [[e|`f]] g`", vec!["a"], vec![]),
        ("[[]] [[|x]] [[ ]]", vec![], vec![]),
        ("[[a#b|c#d]] #t", vec!["a"], vec!["t"]),
        ("[#no](a.md) [t](x.md#y) [m](mailto:a@b.c)", vec!["a.md", "x.md"], vec![]),
        ("# #tag\n#-\n#/\n# no", vec![], vec!["tag", "-", "/"]),
        ("> #quoted [[q]]", vec!["q"], vec!["quoted"]),
        ("[ref]: #anchor\n\n[x][ref]", vec![], vec![]),
        ("---\ntags: a, b\n---\n#c", vec![], vec!["a", "b", "c"]),
        ("---\nbroken: [\n---\n#c", vec![], vec!["c"]),
        ("---\nx: '[[p|q]]' # \"[[no]]\"\ny: [[no]]\nz: text [[no]]\n---\n", vec!["p"], vec![]),
        ("[a](<b c.md>) ![i](d(1).png \"t\")", vec!["b c.md", "d(1).png"], vec![]),
        ("[[a\\|b]]", vec!["a"], vec![]),
        ("no---\nx: '[[p]]'\n---\n", vec!["p"], vec![]),
    ] {
        let facts = parse_note(text);
        let found: Vec<&str> = facts.links.iter().map(|link| link.path.as_str()).collect();
        assert_eq!(found, links, "links of {text:?}");
        let found: Vec<&str> = facts.tags.iter().map(|tag| tag.name.as_str()).collect();
        assert_eq!(found, tags, "tags of {text:?}");
    }
}

#[test]
fn k2_links_lead_where_obsidian_leads() {
    let index = load_vault();
    for (source, form, path, target) in [
        ("Home.md", LinkForm::Wiki, "Garden", Some("Projects/Garden.md")),
        ("Home.md", LinkForm::Wiki, "gARDEN.md", Some("Projects/Garden.md")),
        ("Home.md", LinkForm::Wiki, "Archive/Garden", Some("Projects/Archive/Garden.md")),
        (
            "Projects/Archive/Garden.md",
            LinkForm::Wiki,
            "Garden",
            Some("Projects/Archive/Garden.md"),
        ),
        (
            "Projects/Archive/Garden.md",
            LinkForm::Wiki,
            "Projects/Garden",
            Some("Projects/Garden.md"),
        ),
        ("Projects/Archive/Garden.md", LinkForm::Wiki, "../Garden", Some("Projects/Garden.md")),
        ("Projects/Garden.md", LinkForm::Wiki, "./Compost", Some("Projects/Compost.md")),
        ("Projects/Garden.md", LinkForm::Wiki, "/Compost", None),
        ("Projects/Garden.md", LinkForm::Wiki, "../../Home", None),
        ("Home.md", LinkForm::Wiki, "plan.png", Some("Attachments/plan.png")),
        ("Home.md", LinkForm::Wiki, "plan", None),
        ("Home.md", LinkForm::Wiki, "Start", None),
        ("Home.md", LinkForm::Markdown, "Reading list", Some("Books/Reading list.md")),
        (
            "Projects/Garden.md",
            LinkForm::Markdown,
            "Archive/Garden.md",
            Some("Projects/Archive/Garden.md"),
        ),
        ("Home.md", LinkForm::Wiki, "den", None),
        ("Home.md", LinkForm::Wiki, "", Some("Home.md")),
        ("Home.md", LinkForm::Canvas, "Garden.md", None),
    ] {
        let found = index
            .name_table()
            .resolve_link(form, path, source)
            .map(|number| index.name_table().path_of(number));
        assert_eq!(found, target, "{path} in {source}");
    }
}

#[test]
fn k2_headings_and_blocks_are_found() {
    let index = load_vault();
    let (number, _) = index.find_file("Projects/Garden.md").expect("the note");
    let facts = index.facts_at(number).expect("read");
    for (subpath, there) in [
        ("Beds", true),
        ("beds#tomatoes", true),
        ("Garden#Beds", true),
        ("Tomatoes#Beds", false),
        ("Beans \"runner\" dwarf", true),
        ("^water", true),
        ("^WATER", true),
        ("^none", false),
        ("None", false),
        ("", true),
    ] {
        assert_eq!(facts.has_subpath(subpath), there, "{subpath}");
    }
}

#[test]
fn k2_a_mark_before_the_text_hides_no_heading() {
    for text in ["\u{feff}# Beds\r\n\r\n[[Garden]]\r\n", "\u{feff}---\na: 1\n---\n# Beds\n"] {
        let facts = parse_note(text);
        assert!(facts.has_subpath("Beds"), "{text:?}");
        assert_eq!(facts.headings[0].at.slice_of(text).trim_end(), "# Beds");
    }
}

#[test]
fn k1_the_index_follows_changes() {
    let mut index = load_vault();
    let sources = |index: &NoteIndex| -> Vec<String> {
        let (number, _) = index.find_file("Projects/Garden.md").expect("the note");
        let links = index.backlinks_of(number);
        links.iter().map(|link| index.name_table().path_of(link.source).to_owned()).collect()
    };
    let before = sources(&index);
    assert!(before.contains(&"Board.canvas".to_owned()) && before.contains(&"Home.md".to_owned()));
    assert!(before.contains(&"Daily/2026-03-02.md".to_owned()));
    index.put_file(&IndexedFile {
        path: "Daily/2026-03-02.md".into(),
        stamp: FileStamp::default(),
        hash: String::new(),
        facts: Some(Box::new(facts_of("Daily/2026-03-02.md", "nothing"))),
    });
    assert!(!sources(&index).contains(&"Daily/2026-03-02.md".to_owned()));
    let (home, _) = index.find_file("Home.md").expect("the note");
    index.remove(home);
    assert!(!sources(&index).contains(&"Home.md".to_owned()));
    assert!(index.find_file("Home.md").is_none());
    // A nearer file of the same name takes the link over.
    let count = index.len();
    index.put_file(&IndexedFile { path: "Daily/Garden.md".into(), ..IndexedFile::default() });
    assert_eq!(index.len(), count + 1);
    assert!(is_read("a/b.MD") && is_read("c.canvas") && !is_read("d.png"));
}

#[test]
fn k2_broken_links_are_those_that_lead_nowhere() {
    let index = load_vault();
    let mut broken: Vec<String> = Vec::new();
    for (number, _) in index.list_notes() {
        for link in &index.read_facts(number).expect("it is known").links {
            let target = index.link_target(IndexedLink { source: number, link });
            let there = target.is_some_and(|target| {
                index.facts_at(target).is_none_or(|facts| facts.has_subpath(&link.subpath))
            });
            if !there {
                broken.push(link.target_text());
            }
        }
    }
    broken.sort();
    let expected = [
        "Frank Herbert",
        "Garden#No such heading",
        "Garden#^nope",
        "Index of everything",
        "Nowhere",
        "Start",
    ];
    assert_eq!(broken, expected);
}

/// Formats of Moment.js, and the fourth of July 2026, a Saturday, at 13:05:09.040.
#[test]
fn k3_dates_are_written_in_moments_formats() {
    let at = "2026-07-04T13:05:09.040".parse().expect("a moment");
    for (format, expected) in [
        ("YYYY-MM-DD", "2026-07-04"),
        ("YY M D Do DDDD", "26 7 4 4th 185"),
        ("dddd ddd dd d E", "Saturday Sat Sa 6 6"),
        ("MMMM MMM Mo Q", "July Jul 7th 3"),
        ("HH:mm:ss.SSS", "13:05:09.040"),
        ("h:m:s a A kk", "1:5:9 pm PM 13"),
        ("GGGG-[W]WW", "2026-W27"),
        ("gggg ww", "2026 27"),
        ("[Week of] YYYY/MM", "Week of 2026/07"),
        ("LL", "July 4, 2026"),
        ("Z ZZ", "+02:00 +0200"),
        ("X", "1783163109"),
    ] {
        assert_eq!(weir_notes::moment::format_moment(at, format, 120), expected, "{format}");
    }
}
