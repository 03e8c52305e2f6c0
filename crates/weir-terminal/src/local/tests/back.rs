//! Going back: files, conversation, both; and back again.

use weir_core::message::plain_text;
use weir_tui::link::{RewindScope, TextKind};

use super::*;

const TWICE: &str = "calls: write_file {\"path\": \"note.txt\", \"content\": \"two\\n\"}\n\n\
     says: first done\n\n\
     calls: write_file {\"path\": \"note.txt\", \"content\": \"three\\n\"}\n\n\
     says: second done\n\nsays: third\n";

async fn both_said(house: &House) -> (Face, Seq, Seq) {
    let flags = SessionOverrides { permission: Some(PermissionMode::AutoEdit), ..house.flags() };
    let mut face = house.opened(SessionTarget::New, flags).await;
    face.say("write two").await;
    let (first, _) = face.fact("input.accepted").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    face.say("write three").await;
    let (second, _) = face.fact("input.accepted").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    assert_eq!(house.read("work/note.txt").as_deref(), Some("three\n"));
    (face, first, second)
}

/// Waits for the fact and the line that say so, whichever comes first; the line.
async fn put_back(face: &mut Face) -> String {
    let is_one = |news: &UiUpdate| match news {
        UiUpdate::Fact { event, .. } => event.kind() == "checkpoint.restored",
        UiUpdate::Notice { tone, .. } => *tone == NoticeTone::Good,
        _ => false,
    };
    let both = [face.until("the fact or the line", is_one).await, face.until("both", is_one).await];
    let said = both.into_iter().find_map(|news| match news {
        UiUpdate::Notice { text, .. } => Some(text),
        _ => None,
    });
    said.expect("a line")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_going_back_is_shown_first_and_takes_files_and_conversation() {
    let house = House::new(TWICE);
    let (mut face, first, second) = both_said(&house).await;
    face.wish(UiCommand::Preview { before: first, ticket: 7 }).await;
    let shown = face.until("a preview", |news| matches!(news, UiUpdate::Text { .. })).await;
    let UiUpdate::Text { ticket: 7, text, kind: TextKind::Diff, .. } = shown else { panic!() };
    assert!(text.contains("-three") && text.contains("+one"), "{text}");
    assert_eq!(house.read("work/note.txt").as_deref(), Some("three\n"), "only shown");

    let original = face.id();
    face.wish(UiCommand::Rewind { before: second, back: RewindScope::Both }).await;
    assert!(put_back(&mut face).await.contains("note.txt"));
    assert_eq!(house.read("work/note.txt").as_deref(), Some("two\n"));
    face.until("the copy", |news| matches!(news, UiUpdate::Opened { .. })).await;
    assert_ne!(face.id(), original, "the original stays as it was");
    let mut said = Vec::new();
    for _ in 0..face.known {
        let fact = face.until("a fact", |news| matches!(news, UiUpdate::Fact { .. })).await;
        if let UiUpdate::Fact { event, .. } = fact
            && let Event::InputAccepted(input) = event.as_ref()
        {
            said.push(plain_text(&input.content));
        }
    }
    assert_eq!(said, ["write two"]);
    face.say("write three again").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    assert_eq!(house.read("work/note.txt").as_deref(), Some("three\n"));

    // A copy also takes back what its original changed.
    face.wish(UiCommand::Rewind { before: first, back: RewindScope::Files }).await;
    put_back(&mut face).await;
    assert_eq!(house.read("work/note.txt").as_deref(), Some("one\n"));
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_undo_takes_the_last_run_back_and_brings_it_back() {
    let house = House::new(TWICE);
    let (mut face, _, _) = both_said(&house).await;
    for expected in ["two\n", "three\n"] {
        face.wish(UiCommand::Undo).await;
        put_back(&mut face).await;
        assert_eq!(house.read("work/note.txt").as_deref(), Some(expected));
    }
    // What somebody changed since is left alone, and said.
    house.write("work/note.txt", "mine\n");
    face.wish(UiCommand::Undo).await;
    let said = face.notice(NoticeTone::Quiet).await;
    assert!(said.contains("left alone") && said.contains("note.txt"), "{said}");
    assert_eq!(house.read("work/note.txt").as_deref(), Some("mine\n"));
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_where_nothing_was_said_there_is_nothing_to_go_back_to() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    for wish in [UiCommand::Undo, UiCommand::Rewind { before: 3, back: RewindScope::Both }] {
        face.wish(wish).await;
        assert!(face.notice(NoticeTone::Bad).await.contains("nothing"));
    }
    face.say("hello").await;
    face.finished().await;
    // The place of another fact is refused.
    face.wish(UiCommand::Rewind { before: 1, back: RewindScope::Conversation }).await;
    assert!(face.notice(NoticeTone::Bad).await.contains("no message of yours"));
    face.leave().await;
}
