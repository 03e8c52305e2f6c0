//! Which model goes on where another one failed, and what it may not do (V8).

use std::sync::Arc;

use super::Session;
use super::switch_tests::config;
use crate::config::SessionConfig;
use crate::effect::Effect;
use crate::event::{Event, ModelFailed, ModelSwitched, SwitchCause};
use crate::ids::{InputId, SessionId, Timestamp, TurnId};
use crate::input::{EffectAnswer, PersonCommand, PersonMessage, SessionCommand, SessionInput};
use crate::label::Label;
use crate::message::MessageBlock;
use crate::model::{FailureClass, ModelReply, Price};
use crate::profile::{Limits, PermissionMode};
use crate::routing::{ModelRouting, RouteRule};
use crate::tool::{ToolGroup, ToolSpec};

const NOW: Timestamp = Timestamp(1_000);

fn with_fallback(fallback: &[&str]) -> SessionConfig {
    SessionConfig {
        routing: ModelRouting {
            home: Some("script/one".into()),
            fallback: fallback.iter().map(ToString::to_string).collect(),
            ..ModelRouting::default()
        },
        ..config("agent", PermissionMode::Ask)
    }
}

fn answer(session: &mut Session, answer: EffectAnswer) -> Vec<Event> {
    session.handle(NOW, SessionInput::Answer(answer))
}

/// A session whose first request was sent.
pub(super) fn asking(config: SessionConfig) -> Session {
    let mut session = Session::new(SessionId::new("s"));
    let open =
        SessionCommand::Open { engine: "test".into(), config: Arc::new(config), parent: None };
    session.handle(NOW, SessionInput::Command(open));
    let content = vec![MessageBlock::text("Hello.")];
    let say = PersonCommand::from(PersonMessage { content, ..PersonMessage::default() });
    session.handle(NOW, SessionInput::Command(say.sent_by("ann")));
    let seen = EffectAnswer::Seen {
        notes: Vec::new(),
        skills: Vec::new(),
        label: Label::default(),
        input: InputId(1),
        recipe: None,
    };
    answer(&mut session, seen);
    session
}

fn sent(session: &mut Session) {
    let (turn, bytes, prefix_bytes, prefix_expected) = (TurnId(1), 100, 0, 0);
    answer(session, EffectAnswer::Prepared { turn, bytes, prefix_bytes, prefix_expected });
}

fn failed(session: &mut Session, class: FailureClass) -> Vec<Event> {
    let message = "it broke".to_owned();
    let reply = ModelReply::Failed { class, message, retry_after_ms: None };
    let (turn, images, jitter) = (TurnId(1), Vec::new(), 0);
    answer(session, EffectAnswer::Replied { turn, reply, images, jitter, streamed: 0 })
}

fn first_failure(facts: &[Event]) -> &ModelFailed {
    let found = facts.iter().find_map(|fact| match fact {
        Event::ModelFailed(failed) => Some(failed),
        _ => None,
    });
    found.expect("it failed")
}

/// The settings with another model.
fn named(session: &Session, name: &str) -> SessionConfig {
    let mut config = session.config().expect("open").as_ref().clone();
    config.model.model.name = name.into();
    config
}

fn ready(session: &mut Session, name: &str, config: Result<SessionConfig, String>) -> Vec<Event> {
    let (model, config) = (name.to_owned(), config.map(Arc::new));
    answer(session, EffectAnswer::ModelReady { model, config })
}

fn switched(facts: &[Event]) -> &ModelSwitched {
    let Some(Event::ModelSwitched(switched)) = facts.first() else { panic!("{facts:?}") };
    switched
}

#[test]
fn v8_only_what_another_model_can_help_with_is_passed_on() {
    for (class, passed_on) in [
        (FailureClass::Auth, true),
        (FailureClass::NotFound, true),
        (FailureClass::ToolsRefused, true),
        (FailureClass::Refused, false),
        (FailureClass::InvalidRequest, false),
        (FailureClass::ContextOverflow, false),
    ] {
        let mut session = asking(with_fallback(&["b"]));
        sent(&mut session);
        let facts = failed(&mut session, class);
        assert_eq!(first_failure(&facts).next.is_some(), passed_on, "{class:?}");
        assert_eq!(session.run().is_some(), passed_on, "{class:?}: the run goes on or ends");
    }
    // What may pass is tried again first.
    let mut session = asking(with_fallback(&["b"]));
    for attempt in 1..=6 {
        sent(&mut session);
        let facts = failed(&mut session, FailureClass::Overloaded);
        let retried = matches!(facts.first(), Some(Event::ModelRetried(_)));
        assert_eq!(retried, attempt < 6, "attempt {attempt}");
    }
    assert_eq!(session.todo(), [Effect::SwitchModel]);
}

#[test]
fn v8_the_turn_goes_on_with_the_next_model_and_a_replay_knows_where_it_is() {
    let mut session = asking(with_fallback(&["b", "c"]));
    sent(&mut session);
    let mut journal = failed(&mut session, FailureClass::Auth);
    assert_eq!(session.todo(), [Effect::SwitchModel], "nothing is asked before");
    assert!(ready(&mut session, "c", Err("late".into())).is_empty(), "it was not asked for");
    journal.extend(ready(&mut session, "b", Err("it is away".into())));
    assert_eq!(session.model_wish().map(|wish| wish.model).as_deref(), Some("c"));
    let config = named(&session, "c");
    journal.extend(ready(&mut session, "c", Ok(config)));
    let now = session.config().expect("open");
    assert_eq!((now.model.model.name.as_str(), now.routing.away.as_deref()), ("c", Some("c")));
    let (turn, not_before) = (TurnId(1), Timestamp::default());
    assert_eq!(session.todo(), [Effect::Prepare { turn, not_before }], "the same turn");
    let mut again = asking(with_fallback(&["b", "c"]));
    sent(&mut again);
    journal.iter().for_each(|fact| again.apply(NOW, fact));
    assert_eq!(format!("{again:?}"), format!("{session:?}"));
    // None is left: the run ends with what to do.
    sent(&mut session);
    let facts = failed(&mut session, FailureClass::Auth);
    assert_eq!(first_failure(&facts).next, None);
    assert!(session.run().is_none());
}

#[test]
fn v8_another_model_brings_no_right_and_keeps_every_bound() {
    let mut session = asking(with_fallback(&["b"]));
    sent(&mut session);
    failed(&mut session, FailureClass::Auth);
    let kept = session.config().expect("open").clone();
    let wide = SessionConfig {
        permission: PermissionMode::Full,
        limits: Limits { max_iterations: 9_999, ..Limits::default() },
        workspace: "/".into(),
        attended: true,
        ..named(&session, "b")
    };
    ready(&mut session, "b", Ok(wide));
    let now = session.config().expect("open").as_ref().clone();
    let (model, routing) = (now.model.clone(), now.routing.clone());
    assert_eq!(model.model.name, "b");
    assert_eq!(now, SessionConfig { model, routing, ..kept.as_ref().clone() });
}

/// `(what holds, what the other model brings, has that a price, what holds then)`
#[test]
fn r11_a_bound_that_comes_with_a_model_is_added_and_replaces_none() {
    let bounds =
        |budget_usd, budget_tokens| Limits { budget_usd, budget_tokens, ..Limits::default() };
    for (holds, brings, has_price, then) in [
        // A schedule: a model with a price is bounded in USD, one without in tokens.
        (bounds(None, Some(900)), bounds(Some(1.0), None), true, bounds(Some(1.0), Some(900))),
        (bounds(Some(1.0), None), bounds(None, Some(900)), false, bounds(Some(1.0), Some(900))),
        (bounds(Some(1.0), Some(5)), bounds(Some(9.0), Some(9)), true, bounds(Some(1.0), Some(5))),
        (bounds(None, None), bounds(None, None), true, bounds(None, None)),
    ] {
        let price = Price { input: 1.0, output: 1.0, cache_read: 0.0, cache_write: 0.0 };
        let mut config = SessionConfig { limits: holds, ..with_fallback(&["b"]) };
        config.model.price = Some(price);
        let mut session = asking(config);
        sent(&mut session);
        failed(&mut session, FailureClass::NotFound);
        let mut to = SessionConfig { limits: brings, ..named(&session, "b") };
        to.model.price = has_price.then_some(price);
        let facts = ready(&mut session, "b", Ok(to));
        assert_eq!(switched(&facts).refused, None, "{holds:?} {brings:?}");
        assert_eq!(session.config().expect("open").limits, then, "{holds:?} {brings:?}");
    }
}

/// `(limits, has it a price, is it spoken with)`
#[test]
fn v8_a_budget_in_money_refuses_a_model_without_a_price() {
    let usd = Limits { budget_usd: Some(1.0), ..Limits::default() };
    let both = Limits { budget_tokens: Some(1_000), ..usd };
    let of_session = Limits { session_usd: Some(1.0), ..both };
    for (limits, has_price, expected) in [
        (Limits::default(), false, true),
        (usd, false, false),
        (usd, true, true),
        (both, false, true),
        (of_session, false, false),
    ] {
        let price = Price { input: 1.0, output: 1.0, cache_read: 0.0, cache_write: 0.0 };
        let mut config = SessionConfig { limits, ..with_fallback(&["b"]) };
        config.model.price = Some(price);
        let mut session = asking(config);
        sent(&mut session);
        failed(&mut session, FailureClass::NotFound);
        let mut to = named(&session, "b");
        to.model.price = has_price.then_some(price);
        let facts = ready(&mut session, "b", Ok(to));
        assert_eq!(switched(&facts).refused.is_none(), expected, "{limits:?} {has_price}");
        assert_eq!(session.run().is_some(), expected, "no other fallback is left");
    }
}

#[test]
fn v8_a_rule_is_settled_once_before_the_first_request_of_a_run() {
    let rule =
        RouteRule { model: "small".into(), input_below: Some(10_000), ..RouteRule::default() };
    let mut config = with_fallback(&[]);
    config.routing.rules = vec![rule];
    let mut session = asking(config.clone());
    assert_eq!(session.todo(), [Effect::SwitchModel]);
    let to = named(&session, "small");
    let facts = ready(&mut session, "small", Ok(to));
    assert_eq!(switched(&facts).cause, SwitchCause::Rule);
    assert!(matches!(facts.get(1), Some(Event::TurnStarted(_))), "{facts:?}");
    // It fails: the chosen one goes on, and no rule leads back.
    sent(&mut session);
    let facts = failed(&mut session, FailureClass::NotFound);
    assert_eq!(first_failure(&facts).next.as_deref(), Some("script/one"));
    // One that cannot be had leaves the run where it is.
    let mut session = asking(config);
    let facts = ready(&mut session, "small", Err("it is away".into()));
    assert!(switched(&facts).refused.is_some() && session.run().is_some());
    assert!(matches!(facts.get(1), Some(Event::TurnStarted(_))), "{facts:?}");
}

#[test]
fn v8_what_does_not_fit_the_next_model_is_not_sent_to_it() {
    let mut session = asking(with_fallback(&["tiny", "large"]));
    sent(&mut session);
    failed(&mut session, FailureClass::Auth);
    let mut tiny = named(&session, "tiny");
    tiny.model.window = 1;
    let facts = ready(&mut session, "tiny", Ok(tiny));
    let failure = first_failure(&facts);
    assert_eq!(
        (failure.class, failure.next.as_deref()),
        (FailureClass::ContextOverflow, Some("large"))
    );
    assert_eq!(session.todo(), [Effect::SwitchModel]);
}

/// `(window of the rule's model, is it spoken with)`
#[test]
fn v8_a_rule_leads_to_no_model_whose_window_has_no_room() {
    let rule = |model: &str| RouteRule { model: model.into(), ..RouteRule::default() };
    for (window, expected) in [(0, true), (100_000, true), (100, false)] {
        let mut config = with_fallback(&[]);
        config.system = "s".repeat(4_000).into();
        config.routing.rules = vec![rule("small"), rule("next")];
        let mut session = asking(config);
        let mut small = named(&session, "small");
        small.model.window = window;
        let facts = ready(&mut session, "small", Ok(small));
        let refused = switched(&facts).refused.as_deref();
        assert_eq!(refused.is_none(), expected, "{window}");
        if let Some(why) = refused {
            assert!(why.contains("window of 100 tokens has no room"), "{why}");
            let wish = session.model_wish().map(|wish| wish.model);
            assert_eq!(wish.as_deref(), Some("next"), "the next rule counts");
        }
    }
}

#[test]
fn v8_a_run_goes_home_where_there_is_room_or_room_can_be_made() {
    for (window, expected) in [(100_000, true), (100, false)] {
        let mut config = with_fallback(&["b"]);
        config.routing.away = Some("b".into());
        config.system = "s".repeat(4_000).into();
        let mut session = asking(config);
        assert_eq!(session.model_wish().map(|wish| wish.cause), Some(SwitchCause::Chosen));
        let mut home = named(&session, "one");
        home.model.window = window;
        let facts = ready(&mut session, "script/one", Ok(home));
        assert_eq!(switched(&facts).refused.is_none(), expected, "{window}");
        assert!(matches!(facts.get(1), Some(Event::TurnStarted(_))), "{facts:?}");
    }
}

#[test]
fn v8_a_run_that_begins_with_a_priced_model_is_not_judged_by_the_one_that_stood_in() {
    let price = Price { input: 1.0, output: 1.0, cache_read: 0.0, cache_write: 0.0 };
    let mut config = with_fallback(&["b"]);
    config.routing.away = Some("b".into());
    config.limits.budget_usd = Some(1.0);
    let mut session = asking(config.clone());
    assert_eq!(session.todo(), [Effect::SwitchModel]);
    let mut home = named(&session, "one");
    home.model.price = Some(price);
    let facts = ready(&mut session, "script/one", Ok(home));
    assert!(matches!(facts.get(1), Some(Event::TurnStarted(_))), "{facts:?}");
    // Where it cannot be had, the bound holds for the one that is there.
    let mut session = asking(config);
    let facts = ready(&mut session, "script/one", Err("it is away".into()));
    assert!(matches!(facts.get(1), Some(Event::LimitReached(_))), "{facts:?}");
    assert!(session.run().is_none());
}

/// `(budget in USD, does another model go on)`
#[test]
fn v8_what_a_failed_model_cost_counts_before_the_next_one_is_asked() {
    let price = Price { input: 1_000.0, output: 1_000.0, cache_read: 0.0, cache_write: 0.0 };
    for (budget, expected) in [(Some(0.000_1), false), (Some(1_000.0), true), (None, true)] {
        let mut config = with_fallback(&["b"]);
        config.limits.budget_usd = budget;
        config.limits.max_iterations = 1;
        config.model.price = Some(price);
        config.system = "s".repeat(4_000).into();
        let mut session = asking(config);
        sent(&mut session);
        let (message, retry_after_ms) = ("it broke".to_owned(), Some(u64::MAX));
        let reply = ModelReply::Failed { class: FailureClass::StreamCut, message, retry_after_ms };
        let (turn, images, jitter, streamed) = (TurnId(1), Vec::new(), 0, 100);
        let facts =
            answer(&mut session, EffectAnswer::Replied { turn, reply, images, jitter, streamed });
        assert_eq!(first_failure(&facts).next.as_deref(), Some("b"));
        assert!(first_failure(&facts).cost_usd > Some(0.000_1));
        let stopped = facts.iter().any(|fact| matches!(fact, Event::LimitReached(_)));
        assert_eq!((stopped, session.run().is_some()), (!expected, expected), "{facts:?}");
    }
}

#[test]
fn v5_a_server_that_takes_no_tools_is_asked_once_more_with_them_in_the_prompt() {
    let config = || {
        let mut config = with_fallback(&["b"]);
        config.model.abilities = ["tools", "text_calls", "images"].map(String::from).to_vec();
        let schema = serde_json::json!({ "type": "object" });
        config.tools = Arc::new(vec![ToolSpec::new("look", "Looks.", ToolGroup::Read, schema)]);
        config
    };
    let mut session = asking(config());
    sent(&mut session);
    let before = session.request(TurnId(1)).expect("a request");
    let journal = failed(&mut session, FailureClass::ToolsRefused);
    let [Event::ToolsRefused(refused)] = journal.as_slice() else { panic!("{journal:?}") };
    assert_eq!((refused.turn, refused.model.as_str()), (TurnId(1), "script/one"));
    let (turn, not_before) = (TurnId(1), Timestamp::default());
    assert_eq!(session.todo(), [Effect::Prepare { turn, not_before }], "the same turn");
    let after = session.request(turn).expect("a request");
    assert_eq!(after.model.abilities, ["text_tools", "images"]);
    assert_eq!(session.config().expect("open").model, *after.model);
    assert_eq!((&after.tools, &after.history), (&before.tools, &before.history));
    // What is lost of the prefix is journaled with its cause.
    let prepared =
        EffectAnswer::Prepared { turn, bytes: 100, prefix_bytes: 0, prefix_expected: 90 };
    let asked = answer(&mut session, prepared);
    let Some(Event::ModelRequested(asked)) = asked.first() else { panic!("{asked:?}") };
    let why = "the tools of script/one stand in its prompt now";
    assert_eq!(asked.prefix_lost.as_deref(), Some(why));
    // A replay knows where it is.
    let mut again = asking(config());
    sent(&mut again);
    journal.iter().for_each(|fact| again.apply(NOW, fact));
    again.apply(NOW, &Event::ModelRequested(asked.clone()));
    assert_eq!(format!("{again:?}"), format!("{session:?}"));
    // Once: who says so again is passed over like one that broke.
    let facts = failed(&mut session, FailureClass::ToolsRefused);
    assert_eq!(first_failure(&facts).next.as_deref(), Some("b"));
}

#[test]
fn v5_a_model_that_was_offered_no_tools_has_nothing_to_be_asked_again_with() {
    let mut session = asking(with_fallback(&[]));
    sent(&mut session);
    let facts = failed(&mut session, FailureClass::ToolsRefused);
    assert_eq!(first_failure(&facts).class, FailureClass::ToolsRefused);
    assert!(session.run().is_none());
}
