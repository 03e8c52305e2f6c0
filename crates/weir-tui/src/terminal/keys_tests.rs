//! Tables of bytes and what they mean.

use super::*;

fn feed(pieces: &[&[u8]]) -> Vec<TerminalInput> {
    let mut parser = KeyParser::default();
    let mut out = Vec::new();
    for piece in pieces {
        parser.feed(piece, &mut out);
    }
    parser.flush_idle(&mut out);
    out
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> TerminalInput {
    TerminalInput::Key(KeyEvent::new(code, modifiers))
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
const ALT: KeyModifiers = KeyModifiers::ALT;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

#[test]
fn f1_bytes_become_keys() {
    let cases: &[(&[u8], &[TerminalInput])] = &[
        (b"a", &[key(KeyCode::Char('a'), NONE)]),
        (b"A", &[key(KeyCode::Char('A'), SHIFT)]),
        ("ä漢".as_bytes(), &[key(KeyCode::Char('ä'), NONE), key(KeyCode::Char('漢'), NONE)]),
        (b"\r", &[key(KeyCode::Enter, NONE)]),
        (b"\n", &[key(KeyCode::Char('j'), CTRL)]),
        (b"\t", &[key(KeyCode::Tab, NONE)]),
        (b"\x7f", &[key(KeyCode::Backspace, NONE)]),
        (b"\x03", &[key(KeyCode::Char('c'), CTRL)]),
        (b"\0", &[key(KeyCode::Char(' '), CTRL)]),
        (b"\x1f", &[key(KeyCode::Char('7'), CTRL)]),
        (b"\x1b", &[key(KeyCode::Esc, NONE)]),
        (b"\x1b\x1b", &[key(KeyCode::Esc, NONE), key(KeyCode::Esc, NONE)]),
        (b"\x1bx", &[key(KeyCode::Char('x'), ALT)]),
        (b"\x1b\r", &[key(KeyCode::Enter, ALT)]),
        (b"\x1b]", &[key(KeyCode::Char(']'), ALT)]),
        (b"\x1b[", &[key(KeyCode::Char('['), ALT)]),
        (b"\x1bO", &[key(KeyCode::Char('O'), ALT | SHIFT)]),
        (b"\x1b\x7f", &[key(KeyCode::Backspace, ALT)]),
        (b"\x1b[A", &[key(KeyCode::Up, NONE)]),
        (b"\x1bOA", &[key(KeyCode::Up, NONE)]),
        (b"\x1bOM", &[key(KeyCode::Enter, NONE)]),
        (b"\x1bOP", &[key(KeyCode::F(1), NONE)]),
        (b"\x1b[[B", &[key(KeyCode::F(2), NONE)]),
        (b"\x1b[15~", &[key(KeyCode::F(5), NONE)]),
        (b"\x1b[24~", &[key(KeyCode::F(12), NONE)]),
        (b"\x1b[3~", &[key(KeyCode::Delete, NONE)]),
        (b"\x1b[1;5C", &[key(KeyCode::Right, CTRL)]),
        (b"\x1b[3;3~", &[key(KeyCode::Delete, ALT)]),
        (b"\x1b\x1b[D", &[key(KeyCode::Left, ALT)]),
        (b"\x1b[Z", &[key(KeyCode::BackTab, SHIFT)]),
        (b"\x1b[9;2u", &[key(KeyCode::BackTab, SHIFT)]),
        (b"\x1b[27u", &[key(KeyCode::Esc, NONE)]),
        (b"\x1b[13;2u", &[key(KeyCode::Enter, SHIFT)]),
        (b"\x1b[27;2;13~", &[key(KeyCode::Enter, SHIFT)]),
        (b"\x1b[99;5u", &[key(KeyCode::Char('c'), CTRL)]),
        (b"\x1b[97;1:3u", &[]),
        (b"\x1b[97;1:2u", &[key(KeyCode::Char('a'), NONE)]),
        (b"\x1b[57414u", &[key(KeyCode::Enter, NONE)]),
        (b"\x1b[57441;2u", &[]),
        (b"\x1b[I", &[TerminalInput::Focus(FocusChange::Gained)]),
        (b"\x1b[O", &[TerminalInput::Focus(FocusChange::Lost)]),
        (b"\x1b[0n", &[TerminalInput::Answer]),
        (b"\x1b\x1b[0n", &[key(KeyCode::Esc, NONE), TerminalInput::Answer]),
        (b"\x1b\x1b[O", &[key(KeyCode::Esc, NONE), TerminalInput::Focus(FocusChange::Lost)]),
        (b"\x1b\x1b[200~a\x1b[201~", &[key(KeyCode::Esc, NONE), TerminalInput::Paste("a".into())]),
        (b"\x1b[?1u\x1b[?62;22c\x1b[12;40R", &[]),
        (b"\x1b]11;rgb:0/0/0\x1b\\a", &[key(KeyCode::Char('a'), NONE)]),
        (b"\x1b]11;rgb:0/0/0\x07a", &[key(KeyCode::Char('a'), NONE)]),
        (b"\x1bP>|term\x1b\\", &[]),
        (b"\xff\xc3", &[]),
        (b"\xc3\xc3\xa4", &[key(KeyCode::Char('ä'), NONE)]),
        (b"\x1b[12", &[]),
        (b"\x1b[1\x1b[A", &[key(KeyCode::Up, NONE)]),
        (b"\x1b[201~", &[]),
    ];
    for (bytes, wanted) in cases {
        assert_eq!(feed(&[bytes]), *wanted, "{:?}", String::from_utf8_lossy(bytes));
        // A slow line gives the same bytes one by one.
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(feed(&single), *wanted, "{:?}, torn", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn f1_a_paste_comes_as_one_wherever_it_is_torn() {
    let bytes = "x\x1b[200~one\rtwo\r\nthree\x1b[31m ä\x1b[201~y".as_bytes();
    let wanted = [
        key(KeyCode::Char('x'), NONE),
        TerminalInput::Paste("one\ntwo\nthree\x1b[31m ä".into()),
        key(KeyCode::Char('y'), NONE),
    ];
    for first in 0..bytes.len() {
        for second in first..bytes.len() {
            let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(feed(&pieces), wanted, "{first} {second}");
        }
    }
}

#[test]
fn f1_a_paste_of_five_megabytes_comes_whole_and_a_larger_one_in_parts() {
    for (size, parts) in [(5 << 20, 1), (PASTE_BYTES_MAX + 100_000, 2)] {
        let body = "ä b\n".repeat(size / 5);
        let sent = format!("\x1b[200~{body}\x1b[201~");
        let pieces: Vec<&[u8]> = sent.as_bytes().chunks(4095).collect();
        let got = feed(&pieces);
        let texts: Vec<&str> = got
            .iter()
            .map(|input| match input {
                TerminalInput::Paste(text) => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts.len(), parts);
        assert!(texts.concat() == body, "not what was pasted");
    }
}

#[test]
fn f1_a_paste_that_is_not_marked_is_told_from_typing() {
    let lines = "a line of text\r".repeat(20);
    for (bytes, paste) in [
        (lines.as_bytes(), true),
        ("x".repeat(2000).as_bytes(), true),
        (b"please do this and that, and do it as soon as you can, thank you very much\r", false),
        (b"yes\rno\r", false),
        ("\x1b[A\r\x1b[B".repeat(20).as_bytes(), false),
    ] {
        let got = feed(&[bytes]);
        let pasted = matches!(got.as_slice(), [TerminalInput::Paste(_)]);
        assert_eq!(pasted, paste, "{:?}", String::from_utf8_lossy(bytes));
    }
    // Once a terminal has marked a paste, what is not marked was typed.
    let got = feed(&[b"\x1b[200~a\x1b[201~", lines.as_bytes()]);
    assert_eq!(got.len(), 1 + lines.len());
    // The rest of a paste in a second read belongs to it.
    let got = feed(&[lines.as_bytes(), b"the end\r"]);
    assert_eq!(got.last(), Some(&TerminalInput::Paste("the end\n".into())));
}

#[test]
fn f1_an_endless_sequence_is_dropped() {
    let mut parser = KeyParser::default();
    let mut out = Vec::new();
    for _ in 0..10_000 {
        parser.feed(b"\x1b]0;1;1;1;1", &mut out);
    }
    assert!(parser.rest.len() <= 2 * SEQUENCE_BYTES_MAX);
}
