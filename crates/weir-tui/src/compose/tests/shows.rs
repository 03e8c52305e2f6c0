//! The box as it is shown: rows, cursor, lists, long texts.

use super::*;
use crate::text::theme::Theme;

/// The rows, `|` where the cursor is.
fn shown(composer: &Composer, width: usize, rows: usize) -> Vec<String> {
    let (lines, (row, cell)) = composer.render_lines(width, rows, &Theme::plain_theme());
    assert!(lines.len() <= rows);
    let mark = |(index, line): (usize, &ratatui::text::Line<'_>)| {
        let text = line.to_string();
        assert!(line.width() <= width, "{text:?} in {width}");
        if index != row {
            return text;
        }
        let mut at = text.len();
        for (byte, _) in unicode_segmentation::UnicodeSegmentation::grapheme_indices(&*text, true) {
            if crate::text::wrap::text_width(&text[..byte]) >= cell {
                at = byte;
                break;
            }
        }
        format!("{}|{}", &text[..at], &text[at..])
    };
    lines.iter().enumerate().map(mark).collect()
}

#[test]
fn f1_the_box_is_shown_with_its_cursor() {
    for (keys, width, rows, expected) in [
        ("", 20, 5, vec!["> |Say something"]),
        ("", 10, 5, vec!["> |Say so…"]),
        ("hello", 20, 5, vec!["> hello|"]),
        ("hello<Left>", 20, 5, vec!["> hell|o"]),
        ("hello world", 10, 5, vec!["> hello ", "  world|"]),
        ("hello w", 10, 5, vec!["> hello w|"]),
        ("abcdefg", 10, 5, vec!["> abcdefg|"]),
        ("abcdefgh", 10, 5, vec!["> abcdefg", "  h|"]),
        ("漢字漢字<Left>", 10, 5, vec!["> 漢字漢", "  |字"]),
        ("漢字<Left>", 10, 5, vec!["> 漢|字"]),
        ("e\u{301}x<Left>", 10, 5, vec!["> e\u{301}|x"]),
        ("a<C-j>b<C-j>c<C-j>d", 10, 2, vec!["  c", "  d|"]),
        ("a<C-j>b<C-j>c<C-j>d<C-Home>", 10, 2, vec!["> |a", "  b"]),
        ("!ls", 20, 5, vec!["! ls|"]),
        ("!ls<Home>", 20, 5, vec!["! |ls"]),
        ("abc", 3, 5, vec!["ab", "c|"]),
        ("abc", 1, 2, vec!["b", "|c"]),
        ("/", 30, 5, vec!["> /|", "▸ /help  About help.", "  /model [name]  About model."]),
        ("/<Down>", 10, 5, vec!["> /|", "  /help …", "▸ /model…"]),
        ("/", 30, 2, vec!["> /|", "▸ /help  About help."]),
        ("/<Down>", 30, 2, vec!["> /|", "▸ /model [name]  About model."]),
        ("/", 30, 1, vec!["> /|"]),
        ("<C-r>", 30, 5, vec!["> ", "search: |"]),
        ("<C-r>li", 30, 5, vec!["> two", "  lines", "search: li|"]),
        ("<C-r>lix", 30, 5, vec!["> two", "  lines", "nothing more: lix|"]),
        ("<C-r>li", 30, 1, vec!["search: li|"]),
        ("<C-r>lines", 5, 1, vec!["ines|"]),
    ] {
        let mut composer = Composer::new(vec!["one".into(), "two\nlines".into()]);
        composer.set_hint("Say something");
        composer.set_named(vec![command("help", ""), command("model", "[name]")]);
        typed(&mut composer, keys);
        assert_eq!(shown(&composer, width, rows), expected, "{keys} in {width}x{rows}");
    }
}

#[test]
fn f1_rows_are_gone_through_as_they_are_shown() {
    let mut composer = with("hello world again");
    assert_eq!(shown(&composer, 10, 5), ["> hello ", "  world ", "  again|"]);
    typed(&mut composer, "<Up>");
    assert_eq!(shown(&composer, 10, 5), ["> hello ", "  world| ", "  again"]);
    typed(&mut composer, "<Up><Left><Left>");
    assert_eq!(shown(&composer, 10, 5), ["> hel|lo ", "  world ", "  again"]);
    typed(&mut composer, "<Down><Down>");
    assert_eq!(shown(&composer, 10, 5), ["> hello ", "  world ", "  aga|in"]);
}

#[test]
fn f1_the_box_scrolls_no_more_than_it_must() {
    let mut composer = with("a<C-j>b<C-j>c<C-j>d<C-j>e");
    assert_eq!(shown(&composer, 10, 3), ["  c", "  d", "  e|"]);
    typed(&mut composer, "<Up><Up>");
    assert_eq!(shown(&composer, 10, 3), ["  c|", "  d", "  e"]);
    typed(&mut composer, "<Up>");
    assert_eq!(shown(&composer, 10, 3), ["  b|", "  c", "  d"]);
    typed(&mut composer, "<Down><Down>");
    assert_eq!(shown(&composer, 10, 3), ["  b", "  c", "  d|"]);
    assert_eq!(shown(&composer, 10, 9), ["> a", "  b", "  c", "  d|", "  e"]);
    typed(&mut composer, "<C-End><BS><BS>");
    assert_eq!(shown(&composer, 10, 3), ["  b", "  c", "  d|"]);
}

#[test]
fn f1_five_megabytes_are_one_token_and_can_be_unfolded() {
    let rows = "a line of a long text, about so long as lines are\n".repeat(100_000);
    let one = "x".repeat(5 << 20);
    for (text, label, first) in [
        (&rows, "> [Pasted text #1: 100000 lines]|", "  a line of a long text, about so long as"),
        (&one, "> [Pasted text #1: 5242880 characters]|", "  xxxxxxx"),
    ] {
        let mut composer = Composer::default();
        composer.handle_paste(text);
        assert_eq!(shown(&composer, 45, 5), [label]);
        typed(&mut composer, "<M-u>end");
        let seen = shown(&composer, 45, 5);
        assert!(seen.len() == 5 && seen[0].starts_with(first) && seen[4].ends_with("end|"));
        typed(&mut composer, "<C-Home>start<Down><Up>");
        assert!(shown(&composer, 45, 5)[0].starts_with("> start|"));
        let KeyOutcome::Send(written) = last(&mut composer, "<Enter>") else {
            panic!("it is sent")
        };
        assert_eq!(written.text, format!("start{text}end"));
    }
}

#[test]
fn f1_a_long_list_is_shown_in_part() {
    let mut composer = Composer::default();
    composer.set_named((10..40).map(|n| command(&format!("c{n}"), "")).collect());
    typed(&mut composer, "/");
    let seen = shown(&composer, 30, 20);
    assert_eq!((seen.len(), seen[1].as_str()), (9, "▸ /c10  About c10."));
    typed(&mut composer, "<Down><Down><Down><Down><Down><Down><Down><Down><Down>");
    let seen = shown(&composer, 30, 20);
    assert_eq!((seen[1].as_str(), seen[8].as_str()), ("  /c12  About c12.", "▸ /c19  About c19."));
}

#[test]
fn f1_z10_names_of_files_steer_nothing() {
    let mut composer = Composer::default();
    let KeyOutcome::Files { ticket, .. } = last(&mut composer, "@") else { panic!("it asks") };
    composer.receive_files(ticket, vec!["a\u{1b}[2Jb\u{202e}".into()]);
    assert_eq!(shown(&composer, 40, 5)[1], "▸ a<U+001B>[2Jb<U+202E>");
    composer.attach_file(MessageAttachment::Path("/x/\u{1b}[2J\u{202e}.png".into()));
    assert_eq!(shown(&composer, 60, 5), ["> @[image: [2J<U+202E>.png] |"]);
}
