//! Pasted texts, pictures that are dropped.

use super::*;

#[test]
fn f1_long_pastes_are_one_thing() {
    let long = "line\n".repeat(312);
    for (keys, expected) in [
        ("", "ab[Pasted text #1: 312 lines]|"),
        ("<BS>", "ab|"),
        ("<Left><Left>", "a|b[Pasted text #1: 312 lines]"),
        ("<Left><Del>", "ab|"),
        ("<C-w>", "|"),
        ("<C-w><C-y>x", "ab[Pasted text #1: 312 lines]x|"),
        ("<BS><C-_>", "ab[Pasted text #1: 312 lines]|"),
        ("<M-u><C-_>", "ab[Pasted text #1: 312 lines]|"),
    ] {
        let mut composer = with("ab");
        composer.handle_paste(&long.replace('\n', "\r"));
        typed(&mut composer, keys);
        assert_eq!(state(&composer), expected, "{keys}");
    }
    let mut composer = with("ab");
    composer.handle_paste(&long);
    composer.handle_paste(&"x".repeat(2000));
    typed(&mut composer, "<Left>");
    let all = format!("ab{long}{}", "x".repeat(2000));
    assert_eq!(state(&composer), "ab[Pasted text #1: 312 lines]|[Pasted text #2: 2000 characters]");
    assert_eq!(composer.current_message().text, all);
    typed(&mut composer, "<M-u><C-Home><Right><Right><M-u>");
    let both = format!("ab{long}|{}", "x".repeat(2000));
    assert!(state(&composer) == both, "both stand there as they are");
    assert_eq!(composer.current_message().text, all);
}

#[test]
fn f1_short_pastes_are_text() {
    let mut composer = with("a");
    assert_eq!(composer.handle_paste("one\r\ntwo\u{1b}[31m\0\t\u{7}"), KeyOutcome::Took);
    assert_eq!(state(&composer), "aone\ntwo[31m\t\u{7}|");
    assert_eq!(last(&mut composer, "<Enter>"), sent("aone\ntwo[31m\t\u{7}"));
    composer.set_named(vec![command("help-me", "")]);
    composer.handle_paste("/help");
    assert_eq!(last(&mut composer, "<Enter>"), sent("/help"), "what is pasted opens no list");
    composer.handle_paste(&"x".repeat(PASTED_BYTES_MAX + 1));
    assert!(composer.is_empty());
    assert!(composer.take_trouble().is_some_and(|why| why.contains("at most 32 MB")));
}

#[test]
fn f1_dropped_pictures_go_along() {
    for (pasted, expected) in [
        ("/tmp/shot.png", "[image: shot.png] |"),
        ("'/tmp/my shot.PNG' ", "[image: my shot.PNG] |"),
        ("/tmp/my\\ shot.jpeg", "[image: my shot.jpeg] |"),
        ("@pics/a.webp", "[image: a.webp] |"),
        ("/tmp/notes.txt", "/tmp/notes.txt|"),
        ("/absent/shot.png", "/absent/shot.png|"),
        ("see /tmp/shot.png", "see /tmp/shot.png|"),
    ] {
        let is_file = |path: &str| !path.starts_with("/absent");
        let mut composer = Composer { is_file, ..Composer::default() };
        composer.handle_paste(pasted);
        assert_eq!(state(&composer), expected, "{pasted}");
    }
    let mut composer = with("!file ");
    composer.is_file = |_| true;
    composer.handle_paste("/tmp/shot.png");
    assert_eq!(state(&composer), "!file /tmp/shot.png|", "a shell knows paths and no pictures");
    let mut composer = with("what is ");
    composer.is_file = |_| true;
    composer.handle_paste("/tmp/shot.png");
    let bytes = MessageAttachment::Bytes { name: "pasted-1.png".into(), bytes: [1, 2].into() };
    composer.attach_file(bytes.clone());
    let written = WrittenMessage {
        text: "what is [image: shot.png] [image: pasted-1.png, 2 bytes] ".into(),
        attached: vec![MessageAttachment::Path("/tmp/shot.png".into()), bytes],
        kind: WrittenKind::Words,
    };
    assert_eq!(composer.current_message(), written);
    assert_eq!(last(&mut composer, "<Enter>"), KeyOutcome::Send(written.clone()));
    typed(&mut composer, "since");
    composer.give_back(&written);
    assert_eq!(composer.current_message().attached, written.attached);
    assert_eq!(composer.current_message().text, format!("{}\nsince", written.text));
    composer.apply_edited_text("only [image: shot.png]!");
    assert_eq!(state(&composer), "only [image: shot.png]!|");
    assert_eq!(
        composer.current_message().attached,
        [MessageAttachment::Path("/tmp/shot.png".into())]
    );
    typed(&mut composer, "<Left><M-u>");
    assert_eq!(state(&composer), "only /tmp/shot.png|!");
}

#[test]
fn f1_a_pasted_text_is_no_command_however_it_begins() {
    for begins in ["![logo](a.png)", "/quit now", "/tmp/x"] {
        let long = format!("{begins}\n{}", "line\n".repeat(12));
        let spaced = format!(" {long}");
        let mut composer = Composer::default();
        composer.handle_paste(&long);
        assert_eq!(state(&composer), "[Pasted text #1: 13 lines]|");
        let KeyOutcome::Send(written) = last(&mut composer, "<Enter>") else { panic!("{begins}") };
        assert_eq!((written.kind, written.shell_command()), (WrittenKind::Words, None), "{begins}");
        assert_eq!(written.text, long);
        // Neither is it one when it comes back: refused, from the history, from an editor, unfolded.
        composer.give_back(&written);
        assert_eq!(composer.current_message().kind, WrittenKind::Words, "{begins}");
        assert_eq!(composer.current_message().text, spaced);
        composer.set_text("");
        typed(&mut composer, "<Up>");
        assert_eq!(
            composer.current_message(),
            WrittenMessage { text: spaced.clone(), ..WrittenMessage::default() }
        );
        for unfold in [
            |c: &mut Composer| c.apply_edited_text(&c.current_message().text),
            |c: &mut Composer| {
                typed(c, "<M-u>");
            },
        ] {
            composer.set_text("");
            composer.handle_paste(&long);
            unfold(&mut composer);
            assert!(state(&composer).starts_with(&format!(" {begins}")), "{begins}");
            assert_eq!(composer.current_message().kind, WrittenKind::Words, "{begins}");
        }
    }
    // A sign that is seen counts, whatever is pasted after it; and it does so again.
    let mut composer = with("!cat ");
    composer.handle_paste(&"x\n".repeat(20));
    let KeyOutcome::Send(written) = last(&mut composer, "<Enter>") else { panic!("it is sent") };
    assert_eq!(written.kind, WrittenKind::Shell);
    assert!(written.shell_command().is_some_and(|line| line.starts_with("cat x\nx")));
    composer.give_back(&written);
    assert_eq!(composer.current_message().kind, WrittenKind::Shell);
    composer.set_text("");
    composer.apply_edited_text("!ls");
    assert_eq!(
        composer.current_message().kind,
        WrittenKind::Shell,
        "the person wrote it in the editor"
    );
}

#[test]
fn f1_what_comes_from_outside_ends_what_the_key_before_began() {
    for change in [
        |c: &mut Composer| c.set_text("new"),
        |c: &mut Composer| c.set_text(""),
        |c: &mut Composer| c.apply_edited_text("new"),
        |c: &mut Composer| c.give_back(&WrittenMessage::seen("new")),
        |c: &mut Composer| assert_eq!(c.handle_paste("new"), KeyOutcome::Took),
        |c: &mut Composer| c.attach_file(MessageAttachment::Path("/tmp/a.png".into())),
    ] {
        let mut composer = with("one<C-w>two<C-j>three<C-w><C-y>");
        change(&mut composer);
        let before = state(&composer);
        typed(&mut composer, "<M-y>");
        assert_eq!(
            state(&composer),
            before,
            "nothing of what was put in is sought in another text"
        );
    }
}
