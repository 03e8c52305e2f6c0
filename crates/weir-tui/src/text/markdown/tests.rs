//! What Markdown looks like, that nothing steers the terminal from within it, and that it looks the
//! same however it comes (`growing`).

use ratatui::style::Modifier;

use super::super::theme::{ColourDepth, Theme};
use super::super::wrap::line_width;
use super::render_markdown;

mod growing;

fn theme() -> Theme {
    Theme::by_name("dark", ColourDepth::True).expect("it is on the list")
}

fn lines(text: &str, width: usize) -> Vec<String> {
    render_markdown(text, width, &theme()).iter().map(ToString::to_string).collect()
}

#[test]
fn f1_markdown_looks_like_this() {
    for (text, width, expected) in [
        ("", 40, vec![]),
        ("\n\n \n", 40, vec![]),
        ("one\ntwo", 40, vec!["one two"]),
        ("one  \ntwo", 40, vec!["one", "two"]),
        ("one\n\n\n\ntwo\n\n", 40, vec!["one", "", "two"]),
        ("# Head\ntext\n## Next", 40, vec!["Head", "", "text", "", "Next"]),
        ("Head\n====\ntext", 40, vec!["Head", "", "text"]),
        ("*a* **b** ~~c~~ `d`", 40, vec!["a b c d"]),
        ("a\n***\nb", 10, vec!["a", "", "──────────", "", "b"]),
        ("[text](http://a.b)", 40, vec!["text (http://a.b)"]),
        ("[a \\> \\*b](<a \\> \\*b>)", 40, vec!["a > *b"]),
        ("[http://a.b](http://evil.b \"t\")", 60, vec!["http://a.b (http://evil.b \"t\")"]),
        ("<http://a.b> <a@b.c>", 40, vec!["http://a.b a@b.c"]),
        ("![alt](pic.png)", 40, vec!["image: alt (pic.png)"]),
        ("- a\n- b\n\n- c", 40, vec!["• a", "• b", "• c"]),
        ("- a\n  more\n\n  para\n- b", 40, vec!["• a more", "", "  para", "• b"]),
        ("- a\n  - b\n    - c\n- d", 40, vec!["• a", "  • b", "    • c", "• d"]),
        ("3. a\n3. b\n\n3. c", 40, vec!["3. a", "4. b", "5. c"]),
        ("1. a\n   - b\n2. c", 40, vec!["1. a", "   • b", "2. c"]),
        ("- a\n* b", 40, vec!["• a", "", "• b"]),
        ("-\n- b", 40, vec!["•", "• b"]),
        ("- [ ] a\n- [x] b", 40, vec!["• [ ] a", "• [x] b"]),
        ("- one two three", 10, vec!["• one two", "  three"]),
        ("> a\n> b\n>\n> c", 40, vec!["│ a b", "│", "│ c"]),
        ("> a\n>> b", 40, vec!["│ a", "│", "│ │ b"]),
        ("> - a\n> - b", 40, vec!["│ • a", "│ • b"]),
        ("a\n> b\n\nc", 40, vec!["a", "", "│ b", "", "c"]),
        (
            "```rust\nfn a() {}\n\n\nb\n\n```\nc",
            40,
            vec!["  rust", "  fn a() {}", "", "", "  b", "", "c"],
        ),
        ("```\na\n", 40, vec!["  a"]),
        ("    code\n\n    more\n\ntext", 40, vec!["  code", "", "  more", "", "text"]),
        ("- a\n  ```sh\n  ls\n  ```\n- b", 40, vec!["• a", "", "    sh", "    ls", "• b"]),
        ("```\nabcdefghij\n```", 6, vec!["  abcd", "  efgh", "  ij"]),
        ("```\n          x  \n```", 8, vec!["      x"]),
        ("```rust\nfn a() {}\t", 4, vec!["rust", "fn a", "() {", "}"]),
        ("text[^1].\n\n[^1]: note", 40, vec!["text[^1].", "", "[^1]: note"]),
        ("a <b>c</b> <br> d", 40, vec!["a <b>c</b>", " d"]),
        ("<div>\nx\n</div>\n\ny", 40, vec!["<div>", "x", "</div>", "", "y"]),
        ("it is $a_b$ and $5", 40, vec!["it is $a_b$ and $5"]),
        ("$$\nx\n$$", 40, vec!["$$", "x", "$$"]),
        (
            "[t][n]\n\n[n]: http://x\n[m]: http://y",
            40,
            vec!["[t][n]", "", "[n]: http://x", "[m]: http://y"],
        ),
        ("a\r\nb\r\n\r\nc\rd", 40, vec!["a b", "", "c d"]),
    ] {
        assert_eq!(lines(text, width), expected, "{text:?}");
    }
}

#[test]
fn f1_tables_fit_the_width() {
    let table = "|Name|Long head|\n|:--|--:|\n|a|one two three four|\n|b|漢字|\n";
    assert_eq!(
        lines(table, 60),
        [
            "Name │          Long head",
            "─────┼───────────────────",
            "a    │ one two three four",
            "b    │               漢字",
        ]
    );
    assert_eq!(
        lines(table, 18),
        [
            "Name │   Long head",
            "─────┼────────────",
            "a    │     one two",
            "     │  three four",
            "b    │        漢字",
        ]
    );
    assert_eq!(
        lines(table, 11),
        [
            "• Name: a",
            "  Long",
            "    head:",
            "    one two",
            "    three",
            "    four",
            "• Name: b",
            "  Long",
            "    head:",
            "    漢字",
        ]
    );
    assert_eq!(
        lines("|a|b|\n|-|-|\n|x<br>y|`c|d`|\n", 40)[2..],
        ["x │ `c".to_owned(), "y │".to_owned()]
    );
}

#[test]
fn f1_styles_say_what_words_are() {
    let theme = theme();
    let lines = render_markdown("**b** *i* ~~s~~ `c`\n\n# H\n\n> q", 40, &theme);
    let has = |at: usize, text: &str, modifier: Modifier| {
        let span = lines[at].spans.iter().find(|span| span.content == text);
        span.is_some_and(|span| span.style.add_modifier.contains(modifier))
    };
    assert!(has(0, "b", Modifier::BOLD) && has(0, "i", Modifier::ITALIC));
    assert!(has(0, "s", Modifier::CROSSED_OUT) && has(2, "H", Modifier::BOLD));
    let code = lines[0].spans.iter().find(|span| span.content == "c").expect("the code");
    assert_eq!(code.style, theme.code);
    assert_eq!(render_markdown("`c`", 40, &Theme::plain_theme())[0].to_string(), "`c`");
}

#[test]
fn z10_f1_nothing_in_markdown_steers_the_terminal() {
    let bad = "\u{1b}[2J\u{202e}\u{9b}1m\u{7}";
    for text in [
        format!("a {bad} b"),
        format!("# {bad}"),
        format!("[x]({bad})"),
        format!("[x](<http://a/{bad}> \"{bad}\")"),
        format!("![{bad}]({bad})"),
        format!("```{bad}\n{bad}\n```"),
        format!("|{bad}|b|\n|-|-|\n|{bad}|`{bad}`|"),
        format!("- {bad}\n  > {bad}"),
        format!("[^{bad}]: {bad}"),
        format!("<b {bad}>\n\nx <i {bad}>"),
        format!("[n]: http://{bad}"),
        format!("${bad}$ $${bad}$$"),
        "&#27;[2J &#x9b;1m &#x202e; &#7; `&#27;` [a](&#27;) &NewLine;&Tab;".to_owned(),
    ] {
        for width in [0, 1, 2, 7, 80] {
            for line in render_markdown(&text, width, &theme()) {
                let line = line.to_string();
                let bad = |c: char| c.is_control() || weir_core::view::plain::is_deceptive(c);
                assert!(!line.contains(bad), "{text:?}: {line:?}");
            }
        }
    }
}

/// How long it takes shows by itself when it is not linear: every one of these is large.
#[test]
fn z10_f1_deep_and_long_text_ends() {
    const MANY: usize = 10_000;
    for text in [
        ">".repeat(MANY) + "x",
        "> ".repeat(MANY) + "x\n" + &"> ".repeat(MANY) + "y",
        "*".repeat(MANY) + "x",
        "* ".repeat(MANY) + "x",
        "*a ".repeat(MANY),
        "[".repeat(MANY),
        "![".repeat(MANY) + "a" + &"](b)".repeat(MANY),
        "`".repeat(MANY) + "a",
        "- ".repeat(MANY),
        (0..200).map(|deep| format!("{}- x\n", "  ".repeat(deep))).collect(),
        "x".repeat(1 << 20),
        "word ".repeat(200_000),
        "漢".repeat(100_000),
        "e\u{301}".repeat(100_000),
        "\u{200b}".repeat(20_000),
        "שלום ".repeat(20_000),
        "|a".repeat(3000) + "\n" + &"|-".repeat(3000) + "\n" + &"|b\n".repeat(500),
        "```\n".to_owned() + &"x".repeat(1 << 20),
        "<!--".to_owned() + &"a\n\n".repeat(MANY),
        "$".repeat(MANY),
        "\n".repeat(1 << 20),
        "[a]: b\n".repeat(MANY),
    ] {
        let lines = render_markdown(&text, 40, &theme());
        assert!(lines.iter().all(|line| line_width(line) <= 40), "{:?}", text.get(..20));
        assert!(lines.last().is_none_or(|line| line_width(line) > 0));
    }
}

/// Nothing is lost where a text is cut for its length.
#[test]
fn z10_f1_long_blocks_are_cut_and_not_lost() {
    let words: String = (0..20_000).map(|at| format!("w{at} ")).collect();
    let rows: String = (0..5000).map(|at| format!("| r{at} | x |\n")).collect();
    let points: String = (0..5000).map(|at| format!("  - p{at}\n")).collect();
    let breaks: String = (0..5000).map(|at| format!("line {at} here\n")).collect();
    for (text, marks) in [
        (words, "w"),
        (format!("| a | b |\n|---|---|\n{rows}"), "r"),
        (format!("- top\n{points}"), "p"),
        (breaks, ""),
    ] {
        let shown = lines(&text, 60).join("\n");
        let found: Vec<usize> = shown
            .split(|c: char| c.is_whitespace() || c == '│')
            .filter_map(|word| word.strip_prefix(marks)?.parse().ok())
            .collect();
        let count = if marks == "w" { 20_000 } else { 5000 };
        assert_eq!(found, (0..count).collect::<Vec<_>>(), "{marks}");
    }
    let head = lines(&format!("| a | b |\n|---|---|\n{}", "| r | x |\n".repeat(5000)), 60);
    assert!(
        head.iter().filter(|line| line.starts_with("a │ b")).count() > 1,
        "the head comes again"
    );
}
