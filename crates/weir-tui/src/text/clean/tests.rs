//! What is written out, what stays, and what a progress bar leaves.

use std::borrow::Cow;

use proptest::prelude::*;

use super::{clean_line, clean_print, clean_text, plain_output};

#[test]
fn z10_f1_nothing_that_steers_a_terminal_stays() {
    for (text, expected) in [
        ("plain", "plain"),
        ("\u{1b}[31mred", "<U+001B>[31mred"),
        ("\u{1b}]0;title\u{7}", "<U+001B>]0;title<U+0007>"),
        ("\u{9b}2J", "<U+009B>2J"),
        ("a\u{7f}b\0", "a<U+007F>b<U+0000>"),
        ("x\u{202e}y\u{200b}z", "x<U+202E>y<U+200B>z"),
        ("\u{2066}\u{feff}", "<U+2066><U+FEFF>"),
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\tx", "    x"),
        ("ab\tx\ty", "ab  x   y"),
        ("漢\tx", "漢  x"),
        ("a\n\tb", "a\n    b"),
        ("e\u{301}", "e\u{301}"),
        ("שלום", "שלום"),
        // Joiners stay inside of emoji only.
        ("👩\u{200d}👧", "👩\u{200d}👧"),
        ("👩🏽\u{200d}🚀", "👩🏽\u{200d}🚀"),
        ("❤\u{fe0f}\u{200d}🔥", "❤\u{fe0f}\u{200d}🔥"),
        ("1\u{fe0f}\u{20e3}", "1\u{fe0f}\u{20e3}"),
        ("1\u{fe0f}", "1<U+FE0F>"),
        ("a\u{fe0f}", "a<U+FE0F>"),
        ("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}<U+FE0F>"),
        ("a\u{200d}b", "a<U+200D>b"),
        ("👩\u{200d}b", "👩<U+200D>b"),
        ("漢\u{fe0f}", "漢<U+FE0F>"),
    ] {
        assert_eq!(clean_text(text), expected, "{text:?}");
    }
    assert_eq!(clean_line("a\nb\r\nc"), "a b c");
}

#[test]
fn a15_what_is_printed_keeps_its_tabs_and_nothing_else_that_steers() {
    let table = [
        ("a\tb\n\tc\r\n", "a\tb\n\tc\n"),
        ("\t\u{1b}]52;c;ZXZpbA==\u{7}", "\t<U+001B>]52;c;ZXZpbA==<U+0007>"),
        ("\u{9b}2J\u{202e}x\u{2066}\u{8}", "<U+009B>2J<U+202E>x<U+2066><U+0008>"),
    ];
    for (text, expected) in table {
        assert_eq!(clean_print(text), expected, "{text:?}");
    }
    assert!(matches!(clean_print("a\tb\n"), Cow::Borrowed(_)));
}

#[test]
fn f1_clean_text_is_not_copied() {
    for text in ["", "plain\ntext", "naïve 漢字 👩\u{200d}👧"] {
        assert!(matches!(clean_text(text), Cow::Borrowed(_)), "{text}");
        assert!(matches!(plain_output(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn z10_f1_output_of_programs_is_what_they_left_on_the_screen() {
    for (text, expected) in [
        ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{9d}0;t\u{9c}text\u{9b}31m!", "text!"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("100%\r5", "500%"),
        ("loading\r\u{1b}[Kdone", "done"),
        ("abc\u{1b}[2K\rx", "x"),
        ("ab\u{8}c", "ac"),
        ("\u{8}\u{8}x", "x"),
        ("a\u{1b}[3Cb", "a   b"),
        ("abc\u{1b}[2DX", "aXc"),
        ("abc\u{1b}[1GX", "Xbc"),
        ("a\r\nb\n", "a\nb\n"),
        ("\u{1b}(Bx\u{1b}7y\u{1b}=z", "xyz"),
        ("up\u{1b}[5Aup", "upup"),
        // What does not end must not hide what follows.
        ("\u{1b}]0;never ends\nnext", "0;never ends\nnext"),
        ("\u{9d}0;never ends\u{9d}0;t\u{9c}text", "0;never endstext"),
        ("\u{1b}[", ""),
        ("\u{1b}", ""),
        ("\u{1b}\u{1b}[31mx", "x"),
        ("\u{1b}[31\u{202e}x", "31<U+202E>x"),
        ("a\tb\u{1b}[m", "a   b"),
    ] {
        assert_eq!(plain_output(text), expected, "{text:?}");
    }
}

#[test]
fn z10_f1_five_megabytes_of_every_kind() {
    const SIZE: usize = 5 << 20;
    let strings = ["\u{1b}]", "\u{9d}", "\u{90}\u{9e}"];
    let others = ["\u{1b}[31m", "\t", "\r", "\u{8}x", "\u{202e}", "a\u{1b}[999C", "漢"];
    for piece in strings.into_iter().chain(others) {
        let text = piece.repeat(SIZE / piece.len() / 10);
        assert!(!clean_text(&text).contains('\u{1b}'));
        let left = plain_output(&text);
        assert!(!left.contains(|c: char| c.is_control() && c != '\n'), "{piece:?}");
    }
}

proptest! {
    #[test]
    fn z10_f1_no_control_is_left(text in "\\PC{0,40}|[\\x00-\\x9f\u{200b}-\u{202e}]{0,40}|(?s).{0,60}") {
        for out in [clean_text(&text), plain_output(&text)] {
            prop_assert!(!out.contains(|c: char| c.is_control() && c != '\n'));
        }
        let once = clean_text(&text);
        prop_assert_eq!(&clean_text(&once), &once);
    }
}
