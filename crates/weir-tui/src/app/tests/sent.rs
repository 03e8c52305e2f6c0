//! What leaves the box, and what comes back into it.

use crossterm::event::KeyCode;
use weir_core::ids::SessionId;

use super::made::Face;
use crate::app::AppFrame;
use crate::link::{
    ClipboardContent, MessageAttachment, NoticeTone, OpenSessionInfo, UiCommand, UiUpdate,
};
use crate::terminal::TerminalSize;

/// What stands in the box.
fn boxed(face: &Face) -> String {
    face.app.composer.current_message().text
}

#[test]
fn f1_a_pasted_text_is_said_and_never_run_however_it_begins() {
    for begins in ["![logo](a.png)", "/quit", "/help me"] {
        let long = format!("{begins}\n{}", "line\n".repeat(12));
        let mut face = Face::open(80, 24);
        for _ in 0..2 {
            face.app.handle_paste(&long, face.now);
            face.press(KeyCode::Enter);
            let wished = face.wished();
            let [UiCommand::Say { text, client_id, .. }] = &wished[..] else {
                panic!("{wished:?}")
            };
            assert_eq!(text.trim_start(), long);
            assert!(!face.app.leaving && face.app.screens.is_empty());
            // Refused it comes back, and is still no command.
            let (client_id, why) = (client_id.clone(), "paused".into());
            face.news(&UiUpdate::Refused { client_id, why });
            assert_eq!(boxed(&face).trim_start(), long);
            face.press(KeyCode::Enter);
            assert!(matches!(&face.wished()[..], [UiCommand::Say { .. }]), "{begins}");
            face.app.composer.set_text("");
        }
        // What is seen in the box counts.
        face.app.composer.set_text("!ls");
        face.press(KeyCode::Enter);
        assert!(matches!(&face.wished()[..], [UiCommand::Shell { .. }]));
    }
}

#[test]
fn f1_what_does_not_fit_the_box_is_told() {
    let mut face = Face::open(80, 24);
    face.app.handle_paste(&"x".repeat(33 << 20), face.now);
    let hint = face.app.hint.as_ref().expect("it is told");
    assert!(hint.text.contains("at most 32 MB"), "{}", hint.text);
}

#[test]
fn f1_what_waits_for_a_session_has_a_bound() {
    let mut face = Face::shut(80, 24);
    for at in 0..70 {
        face.app.typed(&format!("message {at}"));
    }
    assert_eq!(face.app.held.len(), 64);
    assert_eq!(face.app.held[63].text, "message 63");
    assert!(boxed(&face).contains("message 64") && boxed(&face).contains("message 69"));
}

/// The ticket of a look at the clipboard.
fn asked(face: &mut Face) -> u64 {
    match &face.wished()[..] {
        [UiCommand::Clipboard(ticket)] => *ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn f1_a_picture_of_the_clipboard_goes_from_the_key_to_the_message() {
    let bytes: std::sync::Arc<[u8]> = vec![1; 1_500].into();
    let keys: [fn(&mut Face); 3] = [
        |face| face.control('v'),
        |face| {
            face.app.handle_paste("", face.now);
            face.wishes.extend(face.app.take_wishes());
        },
        |face| face.say("/paste"),
    ];
    for key in keys {
        let mut face = Face::open(80, 24);
        key(&mut face);
        let ticket = asked(&mut face);
        assert!(face.shot().contains("[reading the clipboard]"));
        let clip = ClipboardContent::Image { ending: "png".into(), bytes: bytes.clone() };
        face.news(&UiUpdate::Clipboard { ticket, clip });
        assert!(face.shot().contains("[image: pasted-1.png, 1 kB]"));
        face.say("look");
        let wished = face.wished();
        let [UiCommand::Say { text, attached, client_id }] = &wished[..] else {
            panic!("{wished:?}")
        };
        assert_eq!(text, "[image: pasted-1.png, 1 kB] look");
        let sent = MessageAttachment::Bytes { name: "pasted-1.png".into(), bytes: bytes.clone() };
        assert_eq!(attached[..], *std::slice::from_ref(&sent));
        // Refused it comes back whole.
        let (client_id, why) = (client_id.clone(), "paused".into());
        face.news(&UiUpdate::Refused { client_id, why });
        assert_eq!(face.app.composer.current_message().attached, [sent]);
    }
}

#[test]
fn f1_a_clipboard_that_cannot_be_read_says_why_and_takes_nothing() {
    let mut face = Face::open(80, 24);
    face.type_in("see ");
    face.control('v');
    let ticket = asked(&mut face);
    let why = "There is no picture in the clipboard. Copy one, or save the picture as a file and \
               name it with @";
    face.news(&UiUpdate::Failed { ticket, why: why.into() });
    assert_eq!(boxed(&face), "see ");
    face.shot();
    let printed = face.printed.join(" ");
    let words: Vec<&str> = printed.split_whitespace().collect();
    assert!(words.join(" ").contains(why), "all of it stays to be read: {printed}");
    // The answer to nobody's question changes nothing.
    face.news(&UiUpdate::Failed { ticket, why: "late".into() });
    face.news(&UiUpdate::Clipboard { ticket, clip: ClipboardContent::Text("late".into()) });
    assert_eq!(boxed(&face), "see ");
    assert!(!face.shot().contains("late"));
}

#[test]
fn f1_what_was_told_before_a_session_was_open_stays() {
    let mut face = Face::shut(80, 24);
    face.control('v');
    let ticket = asked(&mut face);
    // All of it comes before anything is painted: the machine is busy.
    face.news(&UiUpdate::Failed { ticket, why: "No clipboard can be reached".into() });
    face.opened(0);
    face.shot();
    let told = |face: &Face| face.printed.iter().filter(|l| l.contains("No clipboard")).count();
    assert_eq!(told(&face), 1, "{:?}", face.printed);
    assert_eq!(face.app.fold.transcript.len(), 1, "Ctrl-O shows it");
    face.shot();
    assert_eq!(told(&face), 1);
}

#[test]
fn f1_what_was_not_printed_of_the_session_before_is_and_nothing_else() {
    let mut face = Face::open(80, 24);
    face.news(&UiUpdate::Notice { tone: NoticeTone::Bad, text: "said in the first".into() });
    face.news(&UiUpdate::Opened {
        session: Some(SessionId::new("0198")),
        known: 0,
        about: Box::new(OpenSessionInfo {
            notes: vec!["said in the second".into()],
            ..OpenSessionInfo::default()
        }),
        named: Vec::new(),
    });
    face.shot();
    for text in ["said in the first", "said in the second"] {
        let count = face.printed.iter().filter(|line| line.contains(text)).count();
        assert_eq!(count, 1, "{text}: {:?}", face.printed);
    }
    assert_eq!(face.app.fold.transcript.len(), 1);
}

#[test]
fn q21_a_face_rests_while_nothing_runs_and_nothing_lies_over_the_chat() {
    let size = TerminalSize { columns: 80, rows: 24 };
    let mut face = Face::open(80, 24);
    drop(face.app.next_frame(size));
    assert!(face.app.is_at_rest());
    face.begin("Go.");
    assert!(!face.app.is_at_rest());
    face.replied("```rust\nfn main() {}\n```");
    face.ended("completed", None);
    assert!(!face.app.is_at_rest(), "it is not painted yet");
    drop(face.app.next_frame(size));
    assert!(face.app.is_at_rest());
    face.control('o');
    assert!(!face.app.is_at_rest(), "the whole conversation has code in it");
}

#[test]
fn q21_a_long_text_is_printed_by_parts_in_its_order_and_whole() {
    const REPLIES: usize = 25;
    const LINES: usize = 100;
    let named = |reply: usize, line: usize| format!("- point {reply}.{line}");
    let mut face = Face::open(80, 24);
    face.begin("Go.");
    for reply in 0..REPLIES {
        let lines: Vec<String> = (0..LINES).map(|line| named(reply, line)).collect();
        face.replied(&lines.join("\n"));
    }
    face.ended("completed", None);
    let size = TerminalSize { columns: 80, rows: 24 };
    let (mut frames, mut printed) = (0, Vec::new());
    loop {
        let AppFrame::Chat(frame) = face.app.next_frame(size) else {
            panic!("nothing lies over the chat")
        };
        frames += 1;
        assert!(frame.finished.len() < 1_200, "{} lines at once", frame.finished.len());
        printed.extend(frame.finished.iter().map(ToString::to_string));
        assert_eq!(face.app.is_at_rest(), !face.app.is_dirty());
        if face.app.is_at_rest() {
            break;
        }
    }
    assert_eq!(frames, 3, "each takes as many answers as it has room for");
    let points: Vec<&str> = printed.iter().filter_map(|line| line.split("point ").nth(1)).collect();
    let replies = 0..REPLIES;
    let wanted: Vec<String> =
        replies.flat_map(|reply| (0..LINES).map(move |line| format!("{reply}.{line}"))).collect();
    assert_eq!(points, wanted);
}
