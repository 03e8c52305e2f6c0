//! What is read in place of a link, and what is escaped.

use weir_notes::note::parse_note;
use weir_notes::reading::{LinkAddress, escape_words, heading_number, link_words, read_address};

#[test]
fn k2_a_link_reads_as_obsidian_shows_it() {
    for (text, words) in [
        ("[[Garden]]", "Garden"),
        ("[[Projects/Garden|the *beds*]]", "the *beds*"),
        ("[[Garden|]]", "Garden"),
        ("[[Garden#Beds#Tomatoes]]", "Garden > Beds > Tomatoes"),
        ("[[#Beds]]", "Beds"),
        ("[[Garden#^water]]", "Garden > ^water"),
        ("![[plan.png|300]]", "plan.png"),
        ("![[plan.png|300x200]]", "plan.png"),
        ("![[plan.png|the plan]]", "the plan"),
        ("[[Garden|300]]", "300"),
        ("[beds](Projects/Garden.md#Beds)", "beds"),
        ("[](Garden.md)", "Garden.md"),
        ("|a|\n|-|\n|[[Garden\\|beds]]|", "beds"),
    ] {
        let facts = parse_note(text);
        assert_eq!(facts.links.iter().map(link_words).collect::<Vec<_>>(), [words], "{text}");
    }
}

#[test]
fn k2_words_are_escaped_so_that_they_are_nothing_else() {
    assert_eq!(escape_words("a](x) <b> |é"), "a\\]\\(x\\) \\<b\\> \\|é");
    assert_eq!(escape_words("a\nb\u{7}"), "a b ");
}

#[test]
fn k2_an_address_is_taken_apart_as_the_link_is() {
    let address = |path: &str, subpath: &str| LinkAddress {
        path: path.to_owned(),
        subpath: subpath.to_owned(),
    };
    assert_eq!(read_address("b%20c.md#The%20end"), address("b c.md", "The end"));
    assert_eq!(read_address("#Top"), address("", "Top"));
    assert_eq!(read_address("100%.md"), address("100%.md", ""));
    for text in ["[a](<b c.md#The end>)", "[a](b%20c.md#The%20end)"] {
        let facts = parse_note(text);
        let link = facts.links.first().expect("a link");
        assert_eq!(address(&link.path, &link.subpath), read_address("b c.md#The end"), "{text}");
    }
}

#[test]
fn k2_headings_are_meant_by_words_or_by_anchor() {
    let facts = parse_note("# Top\n\n## How it works!\n\n# Next\n\n## How it works!\n");
    for (subpath, number) in [
        ("Top", Some(1)),
        ("how it works", Some(2)),
        ("Next#How it works", Some(4)),
        ("how-it-works", Some(2)),
        ("nothing", None),
        ("^top", None),
        ("", None),
    ] {
        assert_eq!(heading_number(&facts, subpath), number, "{subpath}");
    }
}
