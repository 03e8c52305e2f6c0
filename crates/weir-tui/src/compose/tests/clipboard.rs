//! What the clipboard holds: asked for, there later, in the place that was kept for it.

use std::sync::Arc;

use super::*;
use crate::link::ClipboardContent;

const ASKED: &str = "[reading the clipboard]";

fn picture(bytes: usize) -> ClipboardContent {
    ClipboardContent::Image { ending: "png".into(), bytes: vec![7; bytes].into() }
}

fn text(text: &str) -> ClipboardContent {
    ClipboardContent::Text(text.into())
}

/// The ticket of the question that these keys end with.
fn asked(composer: &mut Composer, keys: &str) -> CommandTicket {
    match last(composer, keys) {
        KeyOutcome::Clipboard(ticket) => ticket,
        other => panic!("{keys} is {other:?}"),
    }
}

#[test]
fn f1_a_picture_of_the_clipboard_stands_in_the_place_that_was_kept_for_it() {
    for (before, after, shown, left) in [
        ("", "", "[image: pasted-1.png, 34 kB] |", 1),
        ("see <C-a>", "", "[image: pasted-1.png, 34 kB] |see ", 1),
        ("see ", "what", "see [image: pasted-1.png, 34 kB] what|", 1),
        ("a<C-j>b<Up>", "<Down>c", "a[image: pasted-1.png, 34 kB] \nbc|", 1),
        // It is one thing: a key takes it away, and undoing brings it back.
        ("see ", "<BS><BS>", "see |", 0),
        ("see ", "<BS><BS><C-_>", "see [image: pasted-1.png, 34 kB]| ", 1),
        ("see ", "<C-w>", "see |", 0),
        ("see ", "<C-w><C-y>", "see [image: pasted-1.png, 34 kB] |", 1),
    ] {
        // Whether the keys come before the picture or after it.
        for late in [true, false] {
            let mut composer = with(before);
            let ticket = asked(&mut composer, "<C-v>");
            if late {
                typed(&mut composer, after);
            }
            assert!(composer.receive_clipboard(ticket, Some(&picture(34_567))));
            if !late {
                typed(&mut composer, after);
            }
            let state = state(&composer).replace("]| ", "] |");
            assert_eq!(state, shown.replace("]| ", "] |"), "{before} {after} {late}");
            assert_eq!(composer.current_message().attached.len(), left, "{before} {after} {late}");
            assert!(!composer.receive_clipboard(ticket, Some(&picture(1))), "once");
        }
    }
}

#[test]
fn f1_a_picture_of_the_clipboard_is_sent_as_its_bytes() {
    let mut composer = with("what is ");
    let first = asked(&mut composer, "<C-v>");
    assert_eq!(state(&composer), format!("what is {ASKED} |"));
    assert_eq!(last(&mut composer, "<C-v>"), KeyOutcome::Took, "one look at a time");
    // What is not there yet keeps the message back, and says so.
    assert_eq!(last(&mut composer, "<Enter>"), KeyOutcome::Took);
    assert!(composer.take_trouble().is_some_and(|why| why.contains("still being read")));
    assert_eq!(last(&mut composer, "<C-g>"), KeyOutcome::Took, "an editor would lose its place");
    assert!(composer.take_trouble().is_some());
    composer.receive_clipboard(first, Some(&picture(20)));
    let jpeg = ClipboardContent::Image { ending: "jpg".into(), bytes: vec![9; 2_000_000].into() };
    let second = asked(&mut composer, "<C-v>");
    composer.receive_clipboard(second, Some(&jpeg));
    let bytes = |name: &str, bytes: Vec<u8>| {
        let bytes: Arc<[u8]> = bytes.into();
        MessageAttachment::Bytes { name: name.into(), bytes }
    };
    let written = WrittenMessage {
        text: "what is [image: pasted-1.png, 20 bytes] [image: pasted-2.jpg, 2.0 MB] ".into(),
        attached: vec![
            bytes("pasted-1.png", vec![7; 20]),
            bytes("pasted-2.jpg", vec![9; 2_000_000]),
        ],
        kind: WrittenKind::Words,
    };
    assert_eq!(last(&mut composer, "<Enter>"), KeyOutcome::Send(written.clone()));
    // Given back they are things again; one that is pasted meanwhile has another name.
    let third = asked(&mut composer, "<C-v>");
    composer.receive_clipboard(third, Some(&picture(20)));
    composer.give_back(&written);
    let names: Vec<MessageAttachment> = composer.current_message().attached;
    assert_eq!(names.len(), 3);
    assert_eq!(names[..2], written.attached);
    assert_eq!(names[2], bytes("pasted-3.png", vec![7; 20]));
}

#[test]
fn f1_a_clipboard_with_words_is_pasted() {
    let long = "line\n".repeat(312);
    for (held, before, after, expected) in [
        ("words", "say ", "", "say words|"),
        ("two\r\nlines", "", "", "two\nlines|"),
        ("words", "say ", "on", "say wordson|"),
        ("words", "say !<Left>", "<C-a>", "|say words!"),
        ("a\nb", "say ", "x<C-j>y", "say a\nbx\ny|"),
        ("", "say ", "", "say |"),
        ("\u{1b}[2J\0x", "", "", "[2Jx|"),
        ("/tmp/shot.png", "see ", "", "see [image: shot.png] |"),
        (&long, "see ", "", "see [Pasted text #1: 312 lines] |"),
    ] {
        let mut composer = with(before);
        composer.is_file = |_| true;
        let ticket = asked(&mut composer, "<C-v>");
        typed(&mut composer, after);
        composer.receive_clipboard(ticket, Some(&text(held)));
        assert_eq!(state(&composer), expected, "{held:.20} {before} {after}");
    }
    // A command is none by being pasted, and no list opens.
    let mut composer = Composer::default();
    composer.set_named(vec![command("help", "")]);
    let ticket = asked(&mut composer, "<C-v>");
    composer.receive_clipboard(ticket, Some(&text("/help")));
    assert_eq!(last(&mut composer, "<Enter>"), sent("/help"));
}

#[test]
fn f1_nothing_stays_of_a_clipboard_that_cannot_be_read() {
    for (before, after, expected) in [
        ("", "", "|"),
        ("say ", "", "say |"),
        ("say ", "it", "say it|"),
        ("say it<Left><Left>", "<C-a>", "|say it"),
        ("say ", "<BS><BS>", "say |"),
    ] {
        let mut composer = with(before);
        let ticket = asked(&mut composer, "<C-v>");
        typed(&mut composer, after);
        assert!(composer.receive_clipboard(ticket, None));
        assert_eq!(state(&composer), expected, "{before} {after}");
        assert!(!composer.receive_clipboard(ticket, None), "once");
        // Whatever undoing brings back is nothing that goes out.
        typed(&mut composer, "<C-_><C-_><C-_>x");
        assert!(composer.current_message().attached.is_empty());
        assert!(
            !composer.current_message().text.contains('['),
            "{}",
            composer.current_message().text
        );
        assert!(
            matches!(last(&mut composer, "<Enter>"), KeyOutcome::Send(_)),
            "nothing is waited for"
        );
    }
    assert!(!Composer::default().receive_clipboard(FIRST_TICKET, Some(&text("x"))), "nobody asked");
}

#[test]
fn f1_an_empty_paste_is_a_look_at_the_clipboard() {
    let mut composer = with("see ");
    let KeyOutcome::Clipboard(ticket) = composer.handle_paste("") else { panic!("it is asked") };
    composer.receive_clipboard(ticket, Some(&picture(20)));
    assert_eq!(state(&composer), "see [image: pasted-1.png, 20 bytes] |");
    // Not while earlier messages are searched: there it would be a word.
    typed(&mut composer, "<C-r>");
    assert_eq!(composer.handle_paste(""), KeyOutcome::Took);
}

#[test]
fn f1_no_picture_goes_with_a_command_of_the_shell() {
    let mut composer = with("!cat ");
    let ticket = asked(&mut composer, "<C-v>");
    composer.receive_clipboard(ticket, Some(&picture(20)));
    assert_eq!(state(&composer), "!cat |");
    assert!(composer.take_trouble().is_some_and(|why| why.contains("command of the shell")));
    let ticket = asked(&mut composer, "<C-v>");
    composer.receive_clipboard(ticket, Some(&text("a.txt")));
    assert_eq!(state(&composer), "!cat a.txt|");
}

#[test]
fn f1_a_place_that_is_in_the_box_no_more_takes_what_comes() {
    // Up shows an earlier message; the draft with the place in it comes back with Down.
    for (clip, back) in [
        (Some(picture(20)), "draft [image: pasted-1.png, 20 bytes] |"),
        (Some(text("words")), "draft [Pasted text #1: 5 characters] |"),
    ] {
        let mut composer = Composer::new(vec!["earlier".into()]);
        typed(&mut composer, "draft ");
        let ticket = asked(&mut composer, "<C-v>");
        typed(&mut composer, "<Up>");
        assert_eq!(state(&composer), "earlier|");
        composer.receive_clipboard(ticket, clip.as_ref());
        assert_eq!(state(&composer), "earlier|");
        typed(&mut composer, "<Down>");
        assert_eq!(state(&composer), back);
    }
}
