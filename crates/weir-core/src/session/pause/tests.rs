//! What a paused run owes, and what it does not.

use std::sync::Arc;

use crate::effect::Effect;
use crate::event::{Event, RunStatus};
use crate::ids::{CallId, InputId, SessionId, Timestamp, TurnId};
use crate::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use crate::label::Label;
use crate::message::MessageBlock;
use crate::model::{ModelReply, ReplyBlock, ReplyCall, StopReason, Usage};
use crate::profile::PermissionMode;
use crate::session::Session;
use crate::session::switch_tests::config;

const START: Timestamp = Timestamp(1_000_000);

fn tell(session: &mut Session, now: Timestamp, command: PersonCommand) -> Vec<Event> {
    session.handle(now, SessionInput::Command(command.sent_by("ada")))
}

fn say(session: &mut Session, words: &str) -> Vec<Event> {
    let content = vec![MessageBlock::text(words)];
    let said = PersonMessage { content, ..PersonMessage::default() };
    tell(session, START, said.into())
}

fn answer(session: &mut Session, answer: EffectAnswer) -> Vec<Event> {
    session.handle(START, SessionInput::Answer(answer))
}

/// A session in which something was said, with this wall time for a run.
fn begun_session(run_timeout_ms: Option<u64>) -> Session {
    let mut config = config("agent", PermissionMode::Ask);
    config.limits.run_timeout_ms = run_timeout_ms;
    let mut session = Session::new(SessionId::new("s"));
    let open =
        SessionCommand::Open { engine: "test".into(), config: Arc::new(config), parent: None };
    session.handle(START, SessionInput::Command(open));
    say(&mut session, "Look.");
    session
}

fn see(session: &mut Session) {
    let (notes, skills, label) = (Vec::new(), Vec::new(), Label::default());
    let input = InputId(1);
    answer(session, EffectAnswer::Seen { notes, skills, label, input, recipe: None });
}

fn prepared() -> EffectAnswer {
    let (turn, bytes, prefix_bytes, prefix_expected) = (TurnId(1), 100, 0, 0);
    EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected }
}

/// The model asks for one call.
fn replied() -> EffectAnswer {
    let (tool, arguments) = ("read_file".into(), r#"{"path":"a"}"#.into());
    let call = ReplyCall { wire_id: "w1".into(), tool, arguments, seal: None };
    reply_of(ReplyBlock::Call(call), StopReason::Calls)
}

fn reply_of(block: ReplyBlock, stop: StopReason) -> EffectAnswer {
    let (blocks, usage) = (vec![block], Usage::default());
    let reply = ModelReply::Whole { blocks, stop, usage, repairs: Vec::new() };
    EffectAnswer::Replied { turn: TurnId(1), reply, images: Vec::new(), jitter: 0, streamed: 0 }
}

/// What is owed and may begin.
fn begins(session: &Session) -> Vec<Effect> {
    let mut owed = session.todo();
    owed.retain(|effect| !session.holds_back(effect));
    owed
}

#[test]
fn r5_a_request_that_was_not_sent_waits_until_the_run_goes_on() {
    let mut session = begun_session(None);
    see(&mut session);
    assert!(matches!(begins(&session).as_slice(), [Effect::Prepare { .. }]));
    tell(&mut session, START, PersonCommand::Pause);
    assert_eq!(session.paused_by(), Some("ada"));
    assert!(begins(&session).is_empty());
    assert!(answer(&mut session, prepared()).is_empty(), "it is made ready anew afterwards");
    tell(&mut session, START, PersonCommand::Resume);
    assert!(matches!(begins(&session).as_slice(), [Effect::Prepare { .. }]));
}

#[test]
fn r5_what_is_under_way_is_finished_and_the_next_call_waits() {
    let mut session = begun_session(None);
    see(&mut session);
    answer(&mut session, prepared());
    tell(&mut session, START, PersonCommand::Pause);
    assert_eq!(begins(&session), [Effect::Ask { turn: TurnId(1) }], "the model is being asked");
    answer(&mut session, replied());
    assert_eq!(session.todo(), [Effect::Inspect { call: CallId(1) }]);
    assert!(begins(&session).is_empty());
    // Another life of the program knows it too.
    let resume = SessionCommand::Resume { engine: "test".into() };
    session.handle(START, SessionInput::Command(resume));
    assert_eq!((session.paused_by(), begins(&session).len()), (Some("ada"), 0));
    tell(&mut session, START, PersonCommand::Resume);
    assert_eq!(begins(&session), [Effect::Inspect { call: CallId(1) }]);
}

#[test]
fn r5_the_time_of_a_paused_run_stands_still() {
    let mut session = begun_session(Some(1_000));
    let after = |ms: u64| START.plus_ms(ms);
    tell(&mut session, after(400), PersonCommand::Pause);
    assert!(!session.todo().iter().any(|effect| matches!(effect, Effect::Wait { .. })));
    assert!(session.handle(after(9_000), SessionInput::Tick).is_empty());
    // A program that was away meanwhile counts no time twice.
    let resume = SessionCommand::Resume { engine: "test".into() };
    session.handle(after(9_500), SessionInput::Command(resume));
    tell(&mut session, after(10_400), PersonCommand::Resume);
    assert!(session.todo().contains(&Effect::Wait { until: after(11_000) }));
    assert!(session.handle(after(10_999), SessionInput::Tick).is_empty());
    let facts = session.handle(after(11_000), SessionInput::Tick);
    assert!(matches!(facts.first(), Some(Event::LimitReached(_))), "{facts:?}");
}

#[test]
fn r5_pausing_is_told_once_and_ending_the_run_ends_it() {
    let mut session = begun_session(None);
    assert!(tell(&mut session, START, PersonCommand::Resume).is_empty());
    assert_eq!(tell(&mut session, START, PersonCommand::Pause).len(), 1);
    assert!(tell(&mut session, START, PersonCommand::Pause).is_empty(), "it is paused already");
    let facts = tell(&mut session, START, PersonCommand::Cancel);
    let Some(Event::RunFinished(end)) = facts.last() else { panic!("{facts:?}") };
    assert_eq!(end.status, RunStatus::Cancelled);
    assert_eq!(session.paused_by(), None);
    assert!(tell(&mut session, START, PersonCommand::Pause).is_empty(), "no run is on");
}

#[test]
fn r5_what_was_said_meanwhile_begins_no_run_until_the_paused_one_goes_on() {
    let mut session = begun_session(None);
    see(&mut session);
    answer(&mut session, prepared());
    tell(&mut session, START, PersonCommand::Pause);
    say(&mut session, "And more.");
    let last = ReplyBlock::Said(MessageBlock::text("Done."));
    let facts = answer(&mut session, reply_of(last, StopReason::End));
    assert!(matches!(facts.as_slice(), [Event::ModelReplied(_)]), "{facts:?}");
    assert_eq!((session.paused_by(), session.todo()), (Some("ada"), Vec::new()));
    // With nothing that waits it ends, whoever goes on; and whoever ends it ends it.
    let withdraw = PersonCommand::Withdraw { input: InputId(2) };
    for (command, status) in
        [(withdraw, RunStatus::Completed), (PersonCommand::Cancel, RunStatus::Cancelled)]
    {
        let facts = tell(&mut session.clone(), START, command);
        let Some(Event::RunFinished(end)) = facts.last() else { panic!("{facts:?}") };
        assert_eq!(end.status, status);
    }
    let facts = tell(&mut session, START, PersonCommand::Resume);
    let [Event::RunResumed(_), Event::RunFinished(end), Event::RunStarted(_)] = facts.as_slice()
    else {
        panic!("{facts:?}")
    };
    assert_eq!(end.status, RunStatus::Completed);
    assert_eq!(begins(&session), [Effect::Look]);
}

#[test]
fn r5_an_agent_that_is_begun_anew_in_a_paused_run_has_the_time_that_was_left() {
    let mut session = begun_session(Some(1_000));
    let after = |ms: u64| START.plus_ms(ms);
    tell(&mut session, after(400), PersonCommand::Pause);
    let share = session.agent_share(CallId(1), after(90_000));
    assert_eq!(share.run_timeout_ms, Some(600));
}
