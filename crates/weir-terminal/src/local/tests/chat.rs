//! Talking: streams, approvals, what waits, what is ended.

use weir_core::input::PersonCommand;
use weir_core::message::plain_text;
use weir_engine::host::was_heard;
use weir_tui::link::SignalKind;

use super::*;

const WRITES: &str =
    "calls: write_file {\"path\": \"a.txt\", \"content\": \"new\"}\n\nsays: done\n";
/// Words that come so slowly that somebody can say something meanwhile.
const SLOW: &str = "pace: 50ms\nrepeat: 2000\nsays: word \n\nsays: again\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_nothing_is_written_for_a_face_that_was_only_looked_at() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    assert_eq!(face.session, None);
    let settings = face.until("settings", |news| matches!(news, UiUpdate::Settings { .. })).await;
    let UiUpdate::Settings { model, profile, permission, .. } = settings else { panic!() };
    assert!(model.starts_with("script/"), "{model}");
    assert_eq!((profile.as_str(), permission), ("agent", PermissionMode::Ask));
    face.leave().await;
    assert!(!house.at("state").exists(), "nobody said anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_is_said_is_streamed_kept_and_there_again() {
    let house = House::new("pace: 5ms\nsays: one two three four five six\n");
    let mut face = house.face().await;
    let name = face.say("count").await;
    let is_text = |news: &UiUpdate| matches!(news, UiUpdate::Signal { kind: SignalKind::Text, .. });
    let (_, accepted) = face.fact("input.accepted").await;
    let Event::InputAccepted(accepted) = accepted.as_ref() else { panic!() };
    assert_eq!(accepted.client_id.as_deref(), Some(name.as_str()));
    face.until("a stream", is_text).await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    let id = face.id();
    face.leave().await;

    let mut again = house.opened(SessionTarget::Existing(id.clone()), house.flags()).await;
    assert_eq!(again.session, Some(id.clone()));
    let mut last = 0;
    while last < again.known {
        let fact = again.until("a fact", |news| matches!(news, UiUpdate::Fact { .. })).await;
        let UiUpdate::Fact { seq, event, .. } = fact else { panic!() };
        assert_eq!(seq, last + 1, "each once, in order");
        if let Event::ModelReplied(reply) = event.as_ref() {
            assert_eq!(plain_text(&reply.content).trim(), "one two three four five six");
        }
        last = seq;
    }
    again.leave().await;
    // Looking at it changed nothing.
    let store = house.cx().local_store().expect("it opens");
    let meta =
        weir_engine::ports::Store::session_meta(store.as_ref(), &id).await.expect("it reads");
    assert_eq!(meta.expect("it is there").facts, last);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_an_approval_is_answered_each_way() {
    for (decision, reason, written) in [
        (Decision::Once, None, true),
        (Decision::Session, None, true),
        (Decision::Always, None, true),
        (Decision::Deny, Some("not this one"), false),
    ] {
        let house = House::new(WRITES);
        let mut face = house.face().await;
        face.say("write it").await;
        let approval = face.asked().await;
        face.decide(approval, decision, reason).await;
        let (_, resolved) = face.fact("approval.resolved").await;
        let Event::ApprovalResolved(resolved) = resolved.as_ref() else { panic!() };
        assert_eq!((resolved.decision, resolved.by.as_str()), (decision, PERSON));
        assert_eq!(resolved.reason.as_deref(), reason);
        let (_, finished) = face.fact("call.finished").await;
        let Event::CallFinished(finished) = finished.as_ref() else { panic!() };
        assert_eq!(finished.ok, written);
        if let Some(reason) = reason {
            assert!(plain_text(&finished.result).contains(reason), "the model is told why");
        }
        face.finished().await;
        if decision == Decision::Always {
            let rule = || house.kept_rules();
            for _ in 0..2_400 {
                if rule().contains("a.txt") {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(rule().contains("allow") && rule().contains("a.txt"), "{}", rule());
        }
        face.leave().await;
        assert_eq!(house.read("work/a.txt").is_some(), written, "{decision:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_ended_in_a_stream_and_in_an_approval_the_session_goes_on() {
    // What was cut off counts as said: the next reply is the script's next.
    let slow = SLOW.split("says: again").next().unwrap_or_default();
    let house = House::new(&format!("{slow}{SLOW}"));
    let mut face = house.face().await;
    face.say("talk").await;
    face.until("a stream", |news| matches!(news, UiUpdate::Signal { .. })).await;
    face.wish(UiCommand::Tell(PersonCommand::Cancel)).await;
    assert_eq!(face.finished().await, RunStatus::Cancelled);
    face.say("and now?").await;
    face.until("a stream", |news| matches!(news, UiUpdate::Signal { .. })).await;
    face.wish(UiCommand::Tell(PersonCommand::Cancel)).await;
    assert_eq!(face.finished().await, RunStatus::Cancelled);
    face.leave().await;

    let house = House::new(WRITES);
    let mut face = house.face().await;
    face.say("write it").await;
    face.asked().await;
    face.wish(UiCommand::Tell(PersonCommand::Cancel)).await;
    assert_eq!(face.finished().await, RunStatus::Cancelled);
    assert_eq!(house.read("work/a.txt"), None);
    face.say("well?").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_is_said_meanwhile_waits_and_can_be_taken_back() {
    let house = House::new(SLOW);
    let mut face = house.face().await;
    face.say("talk").await;
    face.until("a stream", |news| matches!(news, UiUpdate::Signal { .. })).await;
    face.say("this too").await;
    let (_, accepted) = face.fact("input.accepted").await;
    let Event::InputAccepted(accepted) = accepted.as_ref() else { panic!() };
    face.wish(UiCommand::Tell(PersonCommand::Withdraw { input: accepted.input })).await;
    face.fact("input.withdrawn").await;
    // Leaving ends what is on, so that nothing runs unowned.
    let id = face.id();
    face.leave().await;
    let store = house.cx().local_store().expect("it opens");
    let meta =
        weir_engine::ports::Store::session_meta(store.as_ref(), &id).await.expect("it reads");
    assert_eq!(meta.expect("it is there").status, "cancelled");
    assert_eq!(store.holder_text(&id).await.expect("it reads"), None, "given back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_cannot_be_said_is_given_back() {
    let house = House::new("says: hello\n");
    let mut face = house.face().await;
    let name = "mine".to_owned();
    let attached = vec![weir_tui::link::MessageAttachment::Path("no/such/file.txt".into())];
    face.wish(UiCommand::Say { text: "look".into(), attached, client_id: name.clone() }).await;
    let refused = face.until("a refusal", |news| matches!(news, UiUpdate::Refused { .. })).await;
    let UiUpdate::Refused { client_id, why } = refused else { panic!() };
    assert_eq!(client_id, name);
    assert!(why.contains("no/such/file.txt"), "{why}");
    assert!(!house.at("state/weir.db").exists(), "no session was begun for it");

    let large = |number: u8| weir_tui::link::MessageAttachment::Bytes {
        name: format!("pasted-{number}.png"),
        bytes: vec![number; 30 << 20].into(),
    };
    let attached = vec![large(1), large(2), large(3)];
    face.wish(UiCommand::Say { text: "look".into(), attached, client_id: name.clone() }).await;
    let refused = face.until("a refusal", |news| matches!(news, UiUpdate::Refused { .. })).await;
    assert!(
        matches!(&refused, UiUpdate::Refused { why, .. } if why.contains("64 MB")),
        "{refused:?}"
    );

    // Paused, nothing is said; released, it is.
    face.wish(UiCommand::Pause(Some("looking into it".into()))).await;
    let id = loop {
        let name = face.say("hello?").await;
        let heard = face
            .until("a refusal or a run", |news| {
                matches!(news, UiUpdate::Refused { .. })
                    || matches!(news, UiUpdate::Fact { event, .. } if event.kind() == "run.finished")
            })
            .await;
        if let UiUpdate::Refused { client_id, why } = heard {
            assert!(why.contains("looking into it"), "{why}");
            assert_eq!(client_id, name);
            break name;
        }
    };
    assert!(!id.is_empty());
    face.wish(UiCommand::Release).await;
    face.notice(NoticeTone::Good).await;
    face.say("now").await;
    assert_eq!(face.finished().await, RunStatus::Completed);
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_is_taken_back_before_the_end_is_not_in_another_run() {
    let house = House::new(SLOW);
    let mut face = house.face().await;
    face.say("talk").await;
    face.until("a stream", |news| matches!(news, UiUpdate::Signal { .. })).await;
    let mut inputs = Vec::new();
    for text in ["this too", "and this", "and that"] {
        face.say(text).await;
        let (_, accepted) = face.fact("input.accepted").await;
        let Event::InputAccepted(accepted) = accepted.as_ref() else { panic!() };
        inputs.push(accepted.input);
    }
    // As a face does at Esc.
    for input in inputs.into_iter().rev() {
        face.wish(UiCommand::Tell(PersonCommand::Withdraw { input })).await;
    }
    face.wish(UiCommand::Tell(PersonCommand::Cancel)).await;
    for _ in 0..3 {
        face.fact("input.withdrawn").await;
    }
    assert_eq!(face.finished().await, RunStatus::Cancelled);
    face.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f1_what_was_said_just_before_leaving_is_kept() {
    let house = House::new("says: hello\n\nsays: again\n");
    let mut face = house.face().await;
    face.say("first").await;
    face.finished().await;
    let id = face.id();
    face.say("the last word").await;
    face.leave().await;
    let store = house.cx().local_store().expect("it opens");
    let heard = was_heard(store.as_ref(), &id, "m2", 0).await;
    assert!(heard.expect("it can be read"));
    let heard = was_heard(store.as_ref(), &id, "m3", 0).await;
    assert!(!heard.expect("it can be read"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l14_the_kill_switch_is_told_before_what_it_ends() {
    let house = House::new(SLOW);
    let mut face = house.face().await;
    face.say("talk").await;
    face.until("a stream", |news| matches!(news, UiUpdate::Signal { .. })).await;
    face.wish(UiCommand::Pause(None)).await;
    let is_of_the_switch = |news: &UiUpdate| match news {
        UiUpdate::Notice { tone, .. } => *tone == NoticeTone::Bad,
        UiUpdate::Fact { event, .. } => event.kind() == "cancel.requested",
        _ => false,
    };
    let first = face.until("the kill switch", is_of_the_switch).await;
    let UiUpdate::Notice { text, .. } = &first else { panic!("{first:?}") };
    assert!(text.starts_with("Weir is paused"), "{text}");
    face.fact("cancel.requested").await;
    assert_eq!(face.finished().await, RunStatus::Paused);
    face.leave().await;
}
