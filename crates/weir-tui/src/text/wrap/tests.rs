//! Where lines break, and that nothing is lost by it.

use proptest::prelude::*;
use ratatui::style::{Style, Stylize as _};
use ratatui::text::{Line, Span};

use super::{cut_line, line_width, text_width, wrap_exact, wrap_line};

fn texts(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

#[test]
fn f1_lines_break_between_words() {
    for (text, width, hang, expected) in [
        ("", 5, 0, vec![""]),
        ("one two three", 7, 0, vec!["one two", "three"]),
        ("one two three", 8, 2, vec!["one two", "  three"]),
        ("one   two", 5, 0, vec!["one", "two"]),
        ("abcdefgh", 3, 0, vec!["abc", "def", "gh"]),
        ("a abcdefgh", 4, 0, vec!["a", "abcd", "efgh"]),
        ("abcdefgh ij", 6, 2, vec!["abcdef", "  gh", "  ij"]),
        ("  indented text", 10, 0, vec!["  indented", "text"]),
        ("        x", 4, 0, vec!["   x"]),
        ("ab  ", 3, 0, vec!["ab "]),
        ("a bcde", 5, 2, vec!["a", "  bcd", "  e"]),
        ("\u{301} abcd", 4, 2, vec!["\u{301} abc", "  d"]),
        ("漢字漢字", 5, 0, vec!["漢字", "漢字"]),
        ("ab漢字。", 6, 0, vec!["ab漢", "字。"]),
        ("漢", 1, 0, vec!["·"]),
        ("a漢b", 1, 0, vec!["a", "·", "b"]),
        ("ab", 0, 0, vec![""]),
        ("a b", 1, 9, vec!["a", "b"]),
        ("e\u{301}e\u{301}e\u{301}", 2, 0, vec!["e\u{301}e\u{301}", "e\u{301}"]),
        ("👩\u{200d}👧👩\u{200d}👧", 3, 0, vec!["👩\u{200d}👧", "👩\u{200d}👧"]),
        ("שלום עולם", 5, 0, vec!["שלום", "עולם"]),
    ] {
        assert_eq!(texts(&wrap_line(&Line::from(text), width, hang)), expected, "{text:?} {width}");
    }
    assert_eq!(texts(&wrap_exact(&Line::from("a  b  c"), 3, 0)), ["a  ", "b  ", "c"]);
}

#[test]
fn f1_styles_go_on_over_a_break() {
    let line = Line::from(vec![Span::raw("one "), "two three".bold(), Span::raw(" four")]);
    let lines = wrap_line(&line, 8, 0);
    let bold = Style::new().bold();
    assert_eq!(lines[0].spans, [Span::raw("one "), Span::styled("two", bold)]);
    assert_eq!(lines[1].spans[0], Span::styled("three", bold));
    assert_eq!(texts(&lines), ["one two", "three", "four"]);
    // A mark in another span stays with its letter.
    let parted = Line::from(vec![Span::raw("ae"), "\u{301}b".bold()]);
    let lines = wrap_line(&parted, 2, 0);
    assert_eq!(texts(&lines), ["ae\u{301}", "b"]);
    assert_eq!(lines[0].spans, [Span::raw("ae\u{301}")]);
}

#[test]
fn f1_what_does_not_fit_is_cut_where_one_sees_it() {
    for (text, width, expected) in [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("", 0, ""),
        ("漢字漢", 4, "漢…"),
        ("漢字", 4, "漢字"),
        ("e\u{301}bc", 2, "e\u{301}…"),
    ] {
        assert_eq!(cut_line(Line::from(text), width).to_string(), expected, "{text} {width}");
    }
}

#[test]
fn z10_f1_five_megabytes_in_one_line() {
    for piece in ["word ", "x", "漢", "\u{301}", "👩\u{200d}", " "] {
        let text = piece.repeat((5 << 20) / piece.len() / 10);
        let lines = wrap_line(&Line::from(text), 80, 2);
        assert!(lines.iter().all(|line| line_width(line) <= 80), "{piece:?}");
    }
}

#[test]
fn f1_what_is_joined_and_wider_than_the_line_is_shown_in_parts() {
    let cases = [
        ("👩\u{301}\u{200d}👩", 2, vec!["👩\u{301}\u{200d}", "👩"]),
        ("a👩\u{301}\u{200d}👩b", 3, vec!["a👩\u{301}\u{200d}", "👩b"]),
        (" \u{acb}\u{c82}", 2, vec![" ", "\u{acb}\u{c82}"]),
    ];
    for (text, cells, expected) in cases {
        assert_eq!(texts(&wrap_exact(&Line::from(text), cells, 0)), expected, "{text}");
        let letters = |lines: &[String]| lines.concat().replace(' ', "");
        let wrapped = texts(&wrap_line(&Line::from(text), cells, 0));
        assert_eq!(letters(&wrapped), text.replace(' ', ""), "{text}");
    }
}

proptest! {
    #[test]
    fn f1_wrapping_keeps_the_text(
        parts in prop::collection::vec("[a-c ]{0,6}|[漢字。 ]{0,4}|[א-ת ]{0,5}|\\PC{0,6}|[e\u{301}👩\u{200d}]{0,4}", 0..6),
        cells in 2_usize..20,
        hang in 0_usize..6,
    ) {
        let spans: Vec<Span<'_>> = parts.iter().map(|part| Span::raw(part.as_str())).collect();
        let line = Line::from(spans);
        let whole: String = parts.concat();
        let letters = |text: &str| text.replace(' ', "");
        let lines = wrap_line(&line, cells, hang);
        prop_assert!(!lines.is_empty());
        prop_assert_eq!(letters(&texts(&lines).concat()), letters(&whole));
        prop_assert!(lines.iter().all(|line| line_width(line) <= cells));
        let exact = wrap_exact(&line, cells, 0);
        prop_assert_eq!(texts(&exact).concat(), whole);
        prop_assert!(exact.iter().all(|line| line_width(line) <= cells));
        prop_assert!(text_width(&cut_line(line, cells).to_string()) <= cells);
    }

    #[test]
    fn f1_the_narrowest_widths_end(text in "\\PC{0,30}", cells in 0_usize..3, hang in 0_usize..4) {
        let lines = wrap_line(&Line::from(text.as_str()), cells, hang);
        prop_assert!(lines.iter().all(|line| line_width(line) <= cells));
    }
}
