//! A session whose server may cut what it is sent, and what it takes for a cut (R6).

use std::sync::Arc;

use super::Session;
use super::switch_tests::config;
use crate::config::SessionConfig;
use crate::effect::Effect;
use crate::event::Event;
use crate::ids::{InputId, SessionId, Timestamp, TurnId};
use crate::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use crate::label::Label;
use crate::message::MessageBlock;
use crate::model::{ModelReply, ReplyBlock, StopReason, Usage};
use crate::profile::PermissionMode;

const NOW: Timestamp = Timestamp(1_000);

fn answer(session: &mut Session, answer: EffectAnswer) -> Vec<Event> {
    session.handle(NOW, SessionInput::Answer(answer))
}

/// A session with a server of somebody's own, and a prompt of so many bytes.
fn local_session(system: usize, change: impl FnOnce(&mut SessionConfig)) -> Session {
    let mut config = config("agent", PermissionMode::Ask);
    config.system = "s".repeat(system).into();
    config.model.may_cut = true;
    config.model.window = 32_768;
    change(&mut config);
    let mut session = Session::new(SessionId::new("s"));
    let open =
        SessionCommand::Open { engine: "test".into(), config: Arc::new(config), parent: None };
    session.handle(NOW, SessionInput::Command(open));
    session
}

/// The person says something, and the request with it is sent.
fn say(session: &mut Session, text: &str) {
    let content = vec![MessageBlock::text(text)];
    let said = PersonCommand::from(PersonMessage { content, ..PersonMessage::default() });
    session.handle(NOW, SessionInput::Command(said.sent_by("ann")));
    let (notes, skills, label) = (Vec::new(), Vec::new(), Label::default());
    let input = InputId(session.next.input);
    answer(session, EffectAnswer::Seen { notes, skills, label, input, recipe: None });
    request(session);
}

/// What the open turn asks is sent.
fn request(session: &mut Session) {
    let turn = session.turn.as_ref().expect("a turn is due").id;
    let (bytes, prefix_bytes, prefix_expected) = (100, 0, 0);
    answer(session, EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected });
}

/// A whole reply, which the server counted so.
fn reply(session: &mut Session, said: Vec<MessageBlock>, usage: Usage) -> Vec<Event> {
    let turn = TurnId(session.next.turn);
    let blocks = said.into_iter().map(ReplyBlock::Said).collect();
    let reply = ModelReply::Whole { blocks, stop: StopReason::End, usage, repairs: Vec::new() };
    let (images, jitter, streamed) = (Vec::new(), 0, 0);
    answer(session, EffectAnswer::Replied { turn, reply, images, jitter, streamed })
}

fn counted(input: u64) -> Usage {
    Usage { input, output: 100, ..Usage::default() }
}

#[test]
fn r6_what_a_local_model_thought_between_two_requests_is_no_cut() {
    let mut session = local_session(16_000, |_| ());
    say(&mut session, "Hello.");
    let thought = MessageBlock::Thinking { text: "Hm, ".repeat(3_000), seal: None };
    let first = reply(&mut session, vec![thought, MessageBlock::text("Hi.")], counted(4_100));
    assert!(matches!(first.first(), Some(Event::ModelReplied(_))), "{first:?}");
    say(&mut session, "And again.");
    assert!(session.next_tokens() < 4_300, "{}", session.next_tokens());
    let second = reply(&mut session, vec![MessageBlock::text("Again.")], counted(4_150));
    assert!(matches!(second.first(), Some(Event::ModelReplied(_))), "{second:?}");
    assert_eq!(session.window_tokens(), 32_768);
}

#[test]
fn r6_a_window_that_a_cut_made_small_grows_again_with_what_it_holds() {
    let mut session = local_session(16_000, |_| ());
    say(&mut session, &"Hello. ".repeat(1_000));
    for tokens in [6_000, 6_010, 6_020] {
        reply(&mut session, vec![MessageBlock::text("Hi.")], counted(tokens));
        say(&mut session, "Go on.");
    }
    reply(&mut session, vec![MessageBlock::text("Hi.")], counted(6_030));
    say(&mut session, &"More. ".repeat(1_000));
    // It does not grow, though something was added.
    let facts = reply(&mut session, vec![MessageBlock::text("What?")], counted(5_800));
    assert!(matches!(facts.first(), Some(Event::ContextCondensing(_))), "{facts:?}");
    assert_eq!(session.window_tokens(), 5_800);
    // Another count shows that it has more.
    let Some(Event::ContextCondensing(cut)) = facts.first() else { panic!("{facts:?}") };
    let mut again = cut.clone();
    again.cut.as_mut().expect("it was cut").usage.input = 5_900;
    session.apply(NOW, &again.into());
    assert_eq!(session.window_tokens(), 5_900);
    session.window.note_reply(&counted(5_901));
    assert_eq!(session.window_tokens(), 32_768);
}

#[test]
fn r6_what_cannot_be_made_shorter_is_asked_of_a_fallback() {
    for (fallback, goes_on) in [(vec!["large".to_owned()], true), (Vec::new(), false)] {
        let mut session = local_session(40_000, |config| {
            config.routing.home = Some("script/one".into());
            config.routing.fallback = fallback.clone();
        });
        say(&mut session, "Hello.");
        let facts = reply(&mut session, vec![MessageBlock::text("What?")], counted(2_000));
        let Some(Event::ModelFailed(failed)) = facts.first() else { panic!("{facts:?}") };
        assert_eq!(failed.next.is_some(), goes_on);
        assert_eq!(failed.usage, counted(2_000), "it is paid");
        assert!(failed.message.contains("cut off the rest without a word"), "{}", failed.message);
        assert_eq!(failed.message.contains("Begin a new session"), !goes_on, "{}", failed.message);
        assert_eq!(session.run().is_some(), goes_on);
        assert_eq!(session.todo().contains(&Effect::SwitchModel), goes_on);
    }
}
