//! What stays of content that acts. Not here: which calls it is done to (scenarios).

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tool::{ActEffect, ControlArgument, SendEffect};

fn plain(text: &str) -> String {
    plain_content(text, &|_| false, &mut TakenOut::new())
}

#[test]
fn u10_what_acts_becomes_plain() {
    for (text, expected) in [
        (
            "Hello Bob,\nsee you at 10:30. a/b, 1:2, C++ & ann@example.org",
            "Hello Bob,\nsee you at 10:30. a/b, 1:2, C++ & ann@example.org",
        ),
        ("see https://evil.example/x?q=1.", "see evil.example/x?q=1."),
        ("HTTP://evil.example", "evil.example"),
        ("http://http://evil.example", "evil.example"),
        ("hthttp://tp://evil.example", "evil.example"),
        ("http:////evil.example", "evil.example"),
        ("obsidian://open?vault=x", "open?vault=x"),
        ("[click](https://evil.example/a \"t\")", "click (evil.example/a)"),
        ("[click](<https://evil.example/a>)", "click (evil.example/a)"),
        ("[click](/relative)", "click (/relative)"),
        ("![alt](https://evil.example/p.png?w=secret)", "alt"),
        ("[![alt](https://a.example/p.png)](https://b.example/)", "alt (b.example/)"),
        ("[1]: https://evil.example/", "[1]: evil.example/"),
        ("<https://evil.example/|here>", "here (evil.example/)"),
        ("<https://evil.example/>", "evil.example/"),
        ("<!channel> and <@U123> and <!-- hidden -->", "channel and U123 and "),
        ("@channel @@all (@here) ＠everyone", "channel all (here) everyone"),
        ("<a href=\"https://evil.example\">here</a>", "here"),
        ("<IMG SRC=x onerror=alert(1)>x", "x"),
        ("<<a>script>x</script>", "x"),
        ("Vec<String> and a <b and c> d", "Vec<String> and a <b and c> d"),
        ("mailto:eve@evil.example?bcc=x", "eve@evil.example?bcc=x"),
        ("javascript:alert(1)", "alert(1)"),
        ("data: the table", "data: the table"),
        ("/close\n  /label ~bug\n/etc/passwd\n1/2", "close\n  label ~bug\n/etc/passwd\n1/2"),
        ("r\u{202E}evil\u{200B}\u{1b}[31m", "revil[31m"),
        ("h\u{200B}ttps://evil.example", "evil.example"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("", ""),
    ] {
        assert_eq!(plain(text), expected, "{text:?}");
    }
}

#[test]
fn u10_what_the_person_wrote_stays() {
    let text =
        "See [it](https://docs.example/a), https://docs.example/a, https://evil.example, @ann @eve";
    let said = ["link https://docs.example/a", "mention @ann"];
    let mut taken = TakenOut::new();
    let plain = plain_content(text, &|what| said.contains(&what), &mut taken);
    assert_eq!(
        plain,
        "See [it](https://docs.example/a), https://docs.example/a, evil.example, @ann eve"
    );
    let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
    assert_eq!(taken, ["link https://evil.example", "mention @eve"]);
}

#[test]
fn u10_where_it_goes_stays_as_it_was_judged() {
    let effects = Effects {
        sends: vec![SendEffect { recipient: "@team".into(), by: "mail".into() }],
        acts: vec![ActEffect {
            kind: ActKind::Send,
            server: "mcp:chat".into(),
            to: vec!["https://chat.example/r/1".into()],
            control: vec![ControlArgument {
                name: "room".into(),
                value: "https://chat.example/r/1".into(),
            }],
            choices: Vec::new(),
            content: Vec::new(),
        }],
        ..Effects::default()
    };
    let input = json!({
        "to": ["@Team "], "room": "https://chat.example/r/1", "n": 1,
        "blocks": [{ "text": "@all https://evil.example" }]
    });
    let (plain, taken) = plain_arguments(&input, &effects, &|_| false);
    assert_eq!(
        plain,
        json!({
            "to": ["@Team "], "room": "https://chat.example/r/1", "n": 1,
            "blocks": [{ "text": "all evil.example" }]
        })
    );
    assert_eq!(describe_taken(&taken), "1 link, 1 mention");
    assert!(sends_content(&effects) && !sends_content(&Effects::default()));
}

#[test]
fn u10_signs_within_signs_come_to_an_end() {
    let nested = format!(
        "{}https://evil.example{}",
        "[".repeat(2_000),
        "](https://x.example)".repeat(2_000)
    );
    let angled = format!("{}img src=x{}", "<".repeat(500), ">".repeat(500));
    let links = "http://".repeat(50_000);
    for text in [
        nested,
        angled,
        links,
        "<".repeat(100_000),
        "[".repeat(100_000),
        "[x](".repeat(50_000),
        "![](".repeat(50_000),
        "<@".repeat(50_000),
        "@a".repeat(50_000),
        "/a\n".repeat(50_000),
        "<a".repeat(5_000),
        "[x](".repeat(5_000),
        "@".repeat(100_000),
    ] {
        let once = plain(&text);
        assert!(!once.contains("://") && !once.contains("<img"), "{:.80}", once);
        assert_eq!(plain(&once), once);
    }
}

proptest! {
    /// Letters that signs are made of, so that they meet.
    #[test]
    fn u10_plain_content_is_plain_and_says_the_same_words(
        text in "([a-c]|http|https|://|:|/|<|>|\\[|\\]|\\(|\\)|!|@|#|\\||img|mailto:| |\n|\u{200B}){0,40}"
    ) {
        let once = plain(&text);
        prop_assert_eq!(plain(&once), once.clone(), "{:?}", text);
        prop_assert!(!once.contains("://"), "{:?} {:?}", text, once);
        let letters = |text: &str| text.chars().filter(|c| ('a'..='c').contains(c)).count();
        prop_assert!(letters(&once) <= letters(&text));
        prop_assert!(once.len() <= text.len() * 2 + 1);
    }
}
