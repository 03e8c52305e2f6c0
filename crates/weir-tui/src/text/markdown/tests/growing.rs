//! A text that comes in crumbs, and texts of everything that means something.

use proptest::prelude::*;
use ratatui::text::Line;

use super::super::super::wrap::line_width;
use super::super::{GrowingMarkdown, LongCode, render_markdown, render_whole};
use super::theme;

#[test]
fn f1_code_settles_line_by_line_and_points_one_by_one() {
    let theme = theme();
    let mut growing = GrowingMarkdown::default();
    let settled = |growing: &mut GrowingMarkdown, text: &str| -> Vec<String> {
        growing.push(text);
        growing.take_final_lines(40, &theme).iter().map(ToString::to_string).collect()
    };
    assert_eq!(settled(&mut growing, "text"), Vec::<String>::new());
    assert_eq!(settled(&mut growing, "\n\n- a\n- b"), ["text"]);
    assert_eq!(settled(&mut growing, "\n- c"), ["", "• a", "• b"][..2]);
    assert_eq!(
        settled(&mut growing, "\n```rust\nlet a;\nle"),
        ["• b", "• c", "", "  rust", "  let a;"]
    );
    assert_eq!(settled(&mut growing, "t b;\n"), ["  let b;"]);
    assert_eq!(settled(&mut growing, "```\nend"), Vec::<String>::new());
    let rest: Vec<String> = growing.finish(40, &theme).iter().map(ToString::to_string).collect();
    assert_eq!(rest, ["", "end"]);
    assert_eq!(growing.text(), "");
}

#[test]
fn f1_long_text_in_crumbs() {
    let theme = theme();
    let kinds = [
        "A paragraph with **bold** words and `code` in it.\n\n".repeat(1500),
        "word ".repeat(20_000),
        format!("```rust\n{}```\n", "let a = 1; // x\n".repeat(600)),
        "- point\n".repeat(5000),
    ];
    for text in kinds {
        let mut growing = GrowingMarkdown::default();
        let mut out = Vec::new();
        for crumb in text.as_bytes().chunks(4) {
            growing.push(std::str::from_utf8(crumb).expect("it is ASCII"));
            out.extend(growing.take_final_lines(80, &theme));
        }
        out.extend(growing.finish(80, &theme));
        assert!(out == render_markdown(&text, 80, &theme), "{:?}", &text[..10]);
    }
}

#[test]
fn f1_code_is_given_in_whole_lines_and_drawn_in_broken_ones() {
    let theme = theme();
    let code = "let all = words.iter().filter(|word| !word.is_empty()).count();";
    for (text, whole) in [
        (format!("```rust\n{code}\n```\n"), true),
        (format!("- a point\n  ```rust\n  {code}\n  ```\n"), true),
        (format!("> ```rust\n> {code}\n> ```\n"), false),
    ] {
        let has = |lines: &[Line<'_>]| lines.iter().any(|line| line.to_string().ends_with(code));
        assert_eq!(has(&render_whole(&text, 30, &theme)), whole, "{text}");
        assert!(!has(&render_markdown(&text, 30, &theme)), "{text}");
        let mut growing = GrowingMarkdown::default();
        growing.push(&text);
        assert!(!has(&growing.open_lines(30, &theme)), "{text}");
        let mut given = growing.take_final_lines(30, &theme);
        given.extend(growing.finish(30, &theme));
        assert_eq!(has(&given), whole, "{text}");
    }
}

#[test]
fn f1_a_new_width_loses_nothing() {
    let theme = theme();
    let text: String = (0..200).map(|at| format!("w{at} some text\n\n- p{at}\n\n")).collect();
    let mut growing = GrowingMarkdown::default();
    let mut out: Vec<Line<'_>> = Vec::new();
    for (at, crumb) in text.as_bytes().chunks(7).enumerate() {
        growing.push(std::str::from_utf8(crumb).expect("it is ASCII"));
        out.extend(growing.take_final_lines([80, 3, 20, 40][at % 4], &theme));
    }
    out.extend(growing.finish(10, &theme));
    let shown: String = out.iter().map(ToString::to_string).collect::<String>().replace(' ', "");
    let expected: String = (0..200).map(|at| format!("w{at}sometext•p{at}")).collect();
    assert_eq!(shown, expected);
}

/// Pieces of text that mean something together.
const CORPUS: &[&str] = &[
    "# Head",
    "text",
    " ",
    "\n",
    "\n\n",
    "- a",
    "  - b",
    "    c",
    "1. one",
    "2. two",
    "10) x",
    "> q",
    ">> r",
    "```rust",
    "```",
    "~~~",
    "fn a() {}",
    "| a | b |",
    "|---|---|",
    "|-|",
    "***",
    "---",
    "===",
    "**b**",
    "*i",
    "_",
    "`c`",
    "[l](http://a.b)",
    "[n]: http://x",
    "[^1]: note",
    "[^1]",
    "<div>",
    "</div>",
    "<!--",
    "-->",
    "$$",
    "$x$",
    "\t",
    "\r",
    "\r\n",
    "\\",
    "&#27;",
    "\u{1b}[31m",
    "\u{202e}",
    "漢字",
    "e\u{301}",
    "שלום",
    "👩\u{200d}👧",
    "word word word word word word word",
    "[ ]",
    "- [x] t",
    "![i](j)",
    "<br>",
    "    code",
    "|",
    ":-:",
    "+",
    "===\n",
    "- \n",
    ">\n",
];

fn corpus() -> impl Strategy<Value = String> {
    let piece = (0..CORPUS.len(), any::<bool>());
    prop::collection::vec(piece, 0..40).prop_map(|pieces| {
        let end = |line: bool| if line { "\n" } else { "" };
        pieces.iter().map(|(at, line)| format!("{}{}", CORPUS[*at], end(*line))).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn f1_a_text_in_pieces_is_the_same_text(
        text in corpus(),
        cuts in prop::collection::vec(0_usize..12, 1..20),
        width in 0_usize..50,
    ) {
        let theme = theme();
        let mut growing = GrowingMarkdown::default();
        let mut out = Vec::new();
        let (mut rest, mut at) = (text.as_str(), 0);
        while !rest.is_empty() {
            let cut = rest.char_indices().nth(cuts[at % cuts.len()] + 1).map_or(rest.len(), |(i, _)| i);
            growing.push(&rest[..cut]);
            (rest, at) = (&rest[cut..], at + 1);
            if at % 3 > 0 {
                out.extend(growing.take_final_lines(width, &theme));
            }
            // What is open and what was given are the text so far.
            let mut so_far = out.clone();
            so_far.extend(growing.remaining_lines(width, &theme, LongCode::Whole));
            prop_assert_eq!(so_far, render_whole(growing.text(), width, &theme));
        }
        out.extend(growing.finish(width, &theme));
        prop_assert_eq!(out, render_whole(&text, width, &theme));
    }

    #[test]
    fn z10_f1_lines_are_clean_and_fit(text in corpus(), width in 2_usize..60) {
        let lines = render_markdown(&text, width, &theme());
        for line in &lines {
            prop_assert!(line_width(line) <= width, "{line:?}");
            prop_assert!(!line.to_string().contains(char::is_control));
        }
        let empty = |line: &Line<'_>| line.to_string().trim().is_empty();
        prop_assert!(lines.first().is_none_or(|line| !empty(line)));
        prop_assert!(lines.last().is_none_or(|line| !empty(line)), "{lines:?}");
    }

    #[test]
    fn z10_f1_any_text_is_clean_and_fits(text in "(?s).{0,80}|\\PC{0,80}", width in 2_usize..30) {
        for line in render_markdown(&text, width, &theme()) {
            prop_assert!(line_width(&line) <= width);
            prop_assert!(!line.to_string().contains(char::is_control));
        }
    }
}
