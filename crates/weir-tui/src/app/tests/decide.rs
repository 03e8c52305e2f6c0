//! Decisions begun by a command: what is shown first, and which keys say yes to it and which do not.

use crossterm::event::{KeyCode, KeyModifiers};

use super::made::Face;
use crate::compose::WrittenKind;
use crate::link::{
    CommandTicket, DecisionKind, DecisionRequest, DecisionReview, ReportKind, UiCommand, UiUpdate,
};

/// What is asked to be shown.
fn review_wished(face: &mut Face) -> (DecisionRequest, CommandTicket) {
    let wished = face.wished();
    match &wished[..] {
        [UiCommand::Review { request, ticket }] => (request.clone(), *ticket),
        other => panic!("{other:?}"),
    }
}

/// A face before which `/skills accept notes` was typed.
fn typed() -> (Face, DecisionRequest, CommandTicket) {
    let mut face = Face::open(80, 24);
    face.say("/skills accept notes");
    let (request, ticket) = review_wished(&mut face);
    (face, request, ticket)
}

fn shown(request: &DecisionRequest, text: &str, as_shown: &str) -> Box<DecisionReview> {
    Box::new(DecisionReview {
        request: request.clone(),
        text: text.into(),
        question: "Accept it?".into(),
        as_shown: as_shown.into(),
        editable: None,
        changed: false,
    })
}

/// The same, after a short text was shown and seen.
fn read() -> (Face, DecisionRequest) {
    let (mut face, request, ticket) = typed();
    let review = shown(&request, "notes (new)\nWrite it \u{202E}down.\n", "hash1");
    face.news(&UiUpdate::Review { ticket, review });
    let shot = face.shot();
    for part in ["/skills accept notes", "notes (new)", "Write it <U+202E>down.", "Accept it?"] {
        assert!(shot.contains(part), "{part} in {shot}");
    }
    (face, request)
}

fn decided(face: &mut Face) -> Vec<(DecisionRequest, String)> {
    let wished = face.wished().into_iter();
    let decided = wished.map(|one| match one {
        UiCommand::Decide { request, as_shown, .. } => (request, as_shown),
        other => panic!("{other:?}"),
    });
    decided.collect()
}

#[test]
fn r10_a_yes_to_what_was_read_does_exactly_that() {
    let (mut face, request) = read();
    assert_eq!((request.kind, request.name()), (DecisionKind::SkillAccept, "notes"));
    face.wait(600);
    face.press(KeyCode::Char('y'));
    let wished = face.wished();
    let [UiCommand::Decide { request: done, as_shown, ticket }] = &wished[..] else {
        panic!("{wished:?}")
    };
    assert_eq!((done, as_shown.as_str()), (&request, "hash1"));
    // A second one is nothing, and what was done is told where the talk is.
    face.wait(600);
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), []);
    let text = "Accepted: /skills/notes.".to_owned();
    face.news(&UiUpdate::Decided { ticket: *ticket, text });
    assert!(face.app.screens.is_empty());
    assert!(face.shot().contains("Accepted: /skills/notes."), "{}", face.shot());
}

#[test]
fn r10_no_key_by_mistake_says_yes() {
    // Before anything is shown, and before it was painted.
    let (mut face, request, ticket) = typed();
    face.wait(2_000);
    face.press(KeyCode::Char('y'));
    face.news(&UiUpdate::Review { ticket, review: shown(&request, "short", "hash1") });
    face.now = face.now.plus_ms(2_000);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), []);
    // Held down: it never pauses.
    for _ in 0..100 {
        face.shot();
        face.wait(33);
        face.press(KeyCode::Char('y'));
    }
    assert_eq!(decided(&mut face), []);
    // Enter, Enter held down, what is pasted, and Esc with a letter behind it.
    for _ in 0..40 {
        face.wait(600);
        face.press(KeyCode::Enter);
    }
    face.app.handle_paste("y", face.now);
    face.app.handle_paste("yes\ny\n", face.now);
    face.wait(600);
    face.chord(KeyCode::Char('y'), KeyModifiers::ALT);
    face.wait(600);
    face.control('y');
    assert_eq!(decided(&mut face), []);
    // What was pasted is no pause either.
    face.wait(600);
    face.app.handle_paste("y", face.now);
    face.wait(100);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), []);
    assert_eq!(face.app.screens.len(), 1);
    face.wait(600);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face).len(), 1);
}

#[test]
fn r10_a_long_text_is_agreed_to_only_at_its_end() {
    let (mut face, request, ticket) = typed();
    let long: String = (0..200).map(|n| format!("line {n}\n")).collect();
    face.news(&UiUpdate::Review { ticket, review: shown(&request, &long, "hash1") });
    assert!(face.shot().contains("read on"), "{}", face.shot());
    face.wait(5_000);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), []);
    assert!(face.shot().contains("Read it to its end first"), "{}", face.shot());
    face.wait(600);
    face.press(KeyCode::End);
    // Its end has not been painted yet.
    face.now = face.now.plus_ms(600);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), []);
    assert!(face.shot().contains("line 199"), "{}", face.shot());
    face.wait(600);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), [(request, "hash1".to_owned())]);
}

#[test]
fn r10_no_room_to_read_is_no_yes() {
    for rows in [1, 2, 3] {
        let mut face = Face::open(80, rows);
        face.app.typed("/skills accept notes");
        face.wishes = face.app.take_wishes();
        let (request, ticket) = review_wished(&mut face);
        face.news(&UiUpdate::Review { ticket, review: shown(&request, "one line", "h") });
        face.shot();
        face.wait(2_000);
        face.press(KeyCode::Char('y'));
        assert_eq!(decided(&mut face), [], "{rows} rows");
    }
}

#[test]
fn r10_a_no_and_an_escape_change_nothing() {
    for code in [KeyCode::Char('n'), KeyCode::Char('q'), KeyCode::Esc] {
        let (mut face, _) = read();
        face.wait(600);
        face.press(code);
        assert!(face.app.screens.is_empty(), "{code:?}");
        assert_eq!(face.wished(), [], "{code:?}");
    }
}

#[test]
fn r10_what_changed_meanwhile_is_shown_anew_and_agreed_to_anew() {
    let (mut face, request) = read();
    face.wait(600);
    face.press(KeyCode::Char('y'));
    let wished = face.wished();
    let [UiCommand::Decide { ticket, .. }] = &wished[..] else { panic!("{wished:?}") };
    let mut review = shown(&request, "another text", "hash2");
    review.changed = true;
    face.news(&UiUpdate::Review { ticket: *ticket, review });
    // Before it was painted it cannot have been read.
    face.now = face.now.plus_ms(2_000);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), []);
    let shot = face.shot();
    assert!(shot.contains("It changed meanwhile") || shot.contains("Read it"), "{shot}");
    assert!(shot.contains("another text"), "{shot}");
    face.wait(600);
    face.press(KeyCode::Char('y'));
    assert_eq!(decided(&mut face), [(request, "hash2".to_owned())]);
}

#[test]
fn r10_why_nothing_can_be_decided_is_shown_and_is_no_question() {
    let (mut face, _, ticket) = typed();
    face.news(&UiUpdate::Failed { ticket, why: "no skill notes waits".into() });
    let shot = face.shot();
    assert!(
        shot.contains("no skill notes waits") && shot.contains("Nothing was changed"),
        "{shot}"
    );
    face.wait(2_000);
    face.press(KeyCode::Char('y'));
    assert_eq!(face.wished(), []);
}

#[test]
fn r10_words_that_are_no_decision_stay_what_they_were() {
    let mut face = Face::open(80, 24);
    for (line, expected) in [
        ("/memory accept all of it", ReportKind::Memory),
        ("/memory search accept m3", ReportKind::Memory),
        ("/memory inbox", ReportKind::Memory),
        ("/skills show notes", ReportKind::Skills),
        ("/mcp-servers", ReportKind::Mcp),
        ("/trust list", ReportKind::Trust),
        ("/approvals", ReportKind::Approvals),
    ] {
        face.app.typed(line);
        let wished = face.app.take_wishes();
        let is_report =
            matches!(&wished[..], [UiCommand::Report { report, .. }] if *report == expected);
        assert!(is_report, "{line}: {wished:?}");
        face.app.screens.clear();
    }
    for line in ["/skills accept", "/skills accept a --yes", "/permissions add Shell(x)"] {
        face.app.typed(line);
        assert_eq!(face.app.take_wishes(), [], "{line}");
        assert!(face.app.screens.is_empty());
        assert!(face.shot().contains("Type /"), "{line}: {}", face.shot());
        face.app.composer.set_text("");
    }
}

#[test]
fn r10_verbs_are_completed_and_enter_says_what_was_typed() {
    let mut face = Face::open(80, 24);
    face.type_in("/skills acc");
    let shot = face.shot();
    assert!(shot.contains("accept") && shot.contains("Accepts a proposed skill"), "{shot}");
    face.press(KeyCode::Tab);
    face.type_in("notes");
    face.press(KeyCode::Enter);
    let (request, _) = review_wished(&mut face);
    assert_eq!(request.typed_line(), "/skills accept notes");
    // Words that begin like a verb are searched for all the same.
    let mut face = Face::open(80, 24);
    face.say("/memory acc");
    let wished = face.wished();
    assert!(
        matches!(&wished[..], [UiCommand::Report { arguments, .. }] if arguments == "acc"),
        "{wished:?}"
    );
}

/// A face before which `/memory accept m3` was typed and a fact is shown, which may be changed.
fn shown_fact() -> (Face, DecisionRequest) {
    let mut face = Face::open(80, 24);
    face.say("/memory accept m3 --private");
    let (request, ticket) = review_wished(&mut face);
    let review = shown(&request, "m3 Use tabs.\n", "hash1");
    let editable = Some("Use tabs.".to_owned());
    let review = Box::new(DecisionReview { editable, ..*review });
    face.news(&UiUpdate::Review { ticket, review });
    (face, request)
}

#[test]
fn r10_words_are_changed_in_the_box_and_shown_once_more() {
    let (mut face, request) = shown_fact();
    assert!(face.shot().contains("edit"), "{}", face.shot());
    face.wait(600);
    face.press(KeyCode::Char('e'));
    assert!(face.app.screens.is_empty(), "the box has them");
    assert_eq!(face.wished(), [], "nothing is decided");
    let line = "/memory accept m3 --private --text Use tabs.";
    let written = face.app.composer.current_message();
    assert_eq!((written.text.as_str(), written.kind), (line, WrittenKind::Command));
    face.press(KeyCode::Backspace);
    for c in " only.".chars() {
        face.press(KeyCode::Char(c));
    }
    face.press(KeyCode::Enter);
    let (again, _) = review_wished(&mut face);
    assert_eq!(again.own_words.as_deref(), Some("Use tabs only."));
    assert_eq!((again.kind, again.name(), &again.flags), (request.kind, "m3", &request.flags));
}

#[test]
fn r10_no_key_by_mistake_edits() {
    // Before it was painted, right after it was, and held down.
    let (mut face, _) = shown_fact();
    face.now = face.now.plus_ms(2_000);
    face.press(KeyCode::Char('e'));
    face.shot();
    face.wait(100);
    face.press(KeyCode::Char('e'));
    assert!(face.shot().contains("That was too quick"), "{}", face.shot());
    for _ in 0..50 {
        face.wait(33);
        face.press(KeyCode::Char('e'));
    }
    // With another key, and what is pasted.
    face.wait(600);
    face.chord(KeyCode::Char('e'), KeyModifiers::ALT);
    face.wait(600);
    face.control('e');
    face.wait(600);
    face.app.handle_paste("e", face.now);
    assert_eq!(face.app.screens.len(), 1, "it is still shown");
    assert_eq!(face.wished(), []);
    // Esc and n leave it as it is.
    for key in [KeyCode::Esc, KeyCode::Char('n')] {
        let (mut face, _) = shown_fact();
        face.shot();
        face.wait(600);
        face.press(key);
        assert!(face.app.screens.is_empty());
        assert_eq!(face.app.composer.current_message().text, "");
        assert_eq!(face.wished(), []);
    }
    // Where no word can be changed it is no key.
    let (mut face, _) = read();
    face.wait(600);
    face.press(KeyCode::Char('e'));
    assert_eq!(face.app.screens.len(), 1);
    assert!(!face.shot().contains("edit"), "{}", face.shot());
}
