//! What a diff looks like, its bounds, and that nothing in it reaches the terminal.

use proptest::prelude::*;
use ratatui::style::Modifier;

use super::super::theme::{ColourDepth, Theme};
use super::super::wrap::line_width;
use super::render_diff;

const DIFF: &str = "\
diff --git a/x.rs b/x.rs
--- a/x.rs
+++ b/x.rs
@@ -9,4 +9,4 @@ fn a()
 same
-let a = 1;
+let a = 2;
--- not a head
+++ not a head
\\ No newline at end of file
";

fn theme() -> Theme {
    Theme::by_name("dark", ColourDepth::True).expect("it is on the list")
}

fn lines(diff: &str, width: usize, lines_max: usize) -> Vec<String> {
    render_diff(diff, width, lines_max, &theme()).iter().map(ToString::to_string).collect()
}

#[test]
fn f1_a_diff_has_numbers_and_signs() {
    assert_eq!(
        lines(DIFF, 40, 100),
        [
            "diff --git a/x.rs b/x.rs",
            "--- a/x.rs",
            "+++ b/x.rs",
            "@@ -9,4 +9,4 @@ fn a()",
            " 9   same",
            "10 - let a = 1;",
            "10 + let a = 2;",
            "11 - -- not a head",
            "11 + ++ not a head",
            "\\ No newline at end of file",
        ]
    );
    // Narrow lines have no numbers; broken ones keep their edge.
    assert_eq!(
        lines("@@ -1 +1 @@\n-abcdefghijkl\n", 9, 100),
        ["@@ -1 +1 ", "  @@", "- abcdefg", "  hijkl",]
    );
    assert_eq!(
        lines("@@ -1 +1 @@\n-aaaaaaaaaabbbbbbbbbbcc\n", 22, 100)[1..],
        ["1 - aaaaaaaaaabbbbbbbb", "    bbcc",]
    );
    // Without heads the signs count.
    assert_eq!(lines("-a\n+b\n c\nd", 40, 100), ["- a", "+ b", "  c", "d"]);
}

#[test]
fn f1_a_diff_marks_what_changed_within_a_line() {
    let lines = render_diff(DIFF, 40, 100, &theme());
    let marked = |at: usize| -> Vec<String> {
        let spans = lines[at].spans.iter();
        let spans = spans.filter(|span| span.style.add_modifier.contains(Modifier::UNDERLINED));
        spans.map(|span| span.content.to_string()).collect()
    };
    assert_eq!((marked(5), marked(6)), (vec!["1".to_owned()], vec!["2".to_owned()]));
    assert_eq!(marked(4), Vec::<String>::new());
}

#[test]
fn f1_a_long_diff_says_how_much_is_left() {
    let long = "+x\n".repeat(2000);
    for (lines_max, last, count) in
        [(0, None, 0), (1, Some("… 2,000 more lines"), 1), (10, Some("… 1,991 more lines"), 10)]
    {
        let lines = lines(&long, 40, lines_max);
        assert_eq!(lines.len(), count);
        assert_eq!(lines.last().map(String::as_str), last);
    }
    assert_eq!(lines("+a\n+b\n", 40, 2), ["+ a", "+ b"]);
    assert_eq!(lines("+a\n+b\n+c\n", 40, 2), ["+ a", "… 2 more lines"]);
    assert_eq!(lines("+aaaaaaaaaaaa\n+b\n", 6, 2), ["+ aaaa", "… 1 m…"]);
    assert_eq!(lines("+aaaaaaaaaaaa\n", 32, 2), ["+ aaaaaaaaaaaa"]);
    let wide = format!("+{}\n+y\n", "x".repeat(5 << 20));
    let shown = lines(&wide, 80, 1000).join("");
    assert!(shown.contains("… 5,240,880 more characters"), "{}", &shown[shown.len() - 100..]);
}

#[test]
fn z10_f1_nothing_in_a_diff_reaches_the_terminal() {
    let bad = "\u{1b}[2J\u{202e}\r\u{7}";
    let diff =
        format!("--- {bad}\n+++ {bad}\n@@ -1,2 +1,2 @@ {bad}\n {bad}\n-{bad}\n+{bad}\n{bad}");
    for width in [0, 1, 2, 30] {
        let text = lines(&diff, width, 1000).concat();
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
}

proptest! {
    #[test]
    fn z10_f1_diffs_fit(
        parts in prop::collection::vec("@@ -1,3 \\+1,3 @@|[+\\- ]\\PC{0,30}|\\PC{0,9}|--- a|[+-]漢字", 0..20),
        width in 2_usize..40,
        lines_max in 0_usize..30,
    ) {
        let lines = render_diff(&parts.join("\n"), width, lines_max, &theme());
        prop_assert!(lines.len() <= lines_max);
        for line in lines {
            prop_assert!(line_width(&line) <= width, "{line:?}");
            prop_assert!(!line.to_string().contains(char::is_control));
        }
    }
}
