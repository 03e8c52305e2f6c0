//! What a foreign server asks the model, as the session sees it (R3): a step of the server's call and of no
//! other, chosen by foreign words, judged and asked about like any call. And lists that changed, told once.

use serde_json::{Value, json};
use weir_core::event::{AlertName, CallFinished, Decision, Event};
use weir_core::governance::label::Label;
use weir_core::governance::{FilterContext, GateName, Verdict, filter_result};
use weir_core::ids::CallId;
use weir_core::input::{EffectAnswer, SessionCommand};
use weir_core::session::SessionConfig;
use weir_core::tool::{EffectClass, Effects, Inspection, RawResult};

use crate::played::{self, Played};

const TOOL: &str = "mcp__git__push";
const ASKED: &str = "mcp__git__sampling";

fn question() -> Value {
    json!({ "messages": [{ "role": "user", "text": "2+2?" }], "tokens_max": 9 })
}

fn asks(server: &str) -> Inspection {
    let effects = Effects {
        samples: Some(server.to_owned()),
        reads_from: vec![format!("mcp:{server}")],
        ..Effects::default()
    };
    Inspection::new(EffectClass::Read, effects, "It asks the model")
}

/// A session in which a call of the server runs.
fn running() -> (Played, CallId) {
    let config = played::config(&[TOOL]);
    let mut played = Played::open(config, "Go.", Label::default());
    let call = played.turn(1, &[(TOOL, json!({}))])[0];
    let reads = Effects { reads_from: vec!["mcp:git".into()], ..Effects::default() };
    played.inspect(call, Inspection::new(EffectClass::Read, reads, "Push"));
    assert!(played.has_started(call));
    (played, call)
}

fn ask(played: &mut Played, of: CallId, number: u32, tool: &str) -> Option<CallId> {
    let before = played.facts.len();
    let (tool, input) = (tool.to_owned(), question());
    played.command(SessionCommand::Step { of, number, tool, input });
    played.facts[before..].iter().find_map(|fact| match fact {
        Event::CallProposed(f) => Some(f.call),
        _ => None,
    })
}

fn returned(played: &mut Played, call: CallId, raw: RawResult) {
    let label = Label::external("mcp:git");
    let clean = filter_result(raw, &FilterContext::of_plain_result(call, &label)).clean;
    played.answer(EffectAnswer::Returned { call, clean, notes: Vec::new() });
}

fn finished(played: &Played, call: CallId) -> Option<&CallFinished> {
    played.facts.iter().find_map(|fact| match fact {
        Event::CallFinished(f) if f.call == call => Some(f),
        _ => None,
    })
}

#[test]
fn r3_a_servers_question_is_asked_about_and_answered_as_a_call_of_its_own() {
    let (mut played, call) = running();
    let step = ask(&mut played, call, 1, ASKED).expect("its call runs");
    played.inspect(step, asks("git"));
    let judged = played.judged(step);
    assert_eq!((judged.verdict, judged.gate.clone()), (Verdict::Ask, Some(GateName::Sampling)));
    let asked = played.asked(step)[0].clone();
    assert_eq!(asked.input, question(), "all of it is shown");
    assert!(asked.label.origins.contains("mcp:git"), "the words are the server's: {}", asked.label);
    let rules: Vec<&str> = asked.rules.iter().map(|rule| rule.text()).collect();
    assert_eq!(rules, ["Mcp(git:sampling)"]);
    assert!(played.session.waits_by_steps(call), "a person's time is not the call's");
    played.decide(step, Decision::Once);
    assert!(played.has_started(step));
    returned(&mut played, step, RawResult::ok("4"));
    let (of, end) = played.session.step_end(step).expect("it is answered");
    assert_eq!((of, end.ok, end.text.as_str()), (call, true, "4"));
}

#[test]
fn r3_only_the_server_whose_call_runs_asks_and_by_no_other_name() {
    let (mut played, call) = running();
    for (of, number, tool) in [
        (call, 1, "mcp__hub__sampling"),
        (call, 1, "run_shell"),
        (call, 1, TOOL),
        (call, 2, ASKED),
        (CallId(99), 1, ASKED),
    ] {
        assert_eq!(ask(&mut played, of, number, tool), None, "{of} {number} {tool}");
    }
    // The model does not make such a call: it has no tool of that name.
    let mut other = Played::open(played::config(&[TOOL]), "Go.", Label::default());
    let forged = other.turn(1, &[(ASKED, question())])[0];
    other.inspect(forged, asks("git"));
    let judged = other.judged(forged);
    assert_eq!((judged.verdict, judged.gate.clone()), (Verdict::Deny, Some(GateName::Visible)));
}

#[test]
fn r3_a_question_that_is_open_when_its_call_ends_is_withdrawn() {
    let (mut played, call) = running();
    let step = ask(&mut played, call, 1, ASKED).expect("its call runs");
    played.inspect(step, asks("git"));
    assert_eq!(played.asked(step).len(), 1);
    returned(&mut played, call, RawResult::ok("pushed"));
    let ended = finished(&played, step).expect("nobody waits for it");
    let text = weir_core::message::plain_text(&ended.result);
    assert_eq!((ended.ok, text.as_str()), (false, "Not asked: the call of the server has ended."));
    assert!(!played.has_started(step));
}

#[test]
fn r3_nobody_there_is_a_no_to_a_servers_question() {
    let config = SessionConfig { attended: false, ..played::config(&[TOOL]) };
    let mut played = Played::open(config, "Go.", Label::default());
    let call = played.turn(1, &[(TOOL, json!({}))])[0];
    let reads = Effects { reads_from: vec!["mcp:git".into()], ..Effects::default() };
    played.inspect(call, Inspection::new(EffectClass::Read, reads, "Push"));
    let step = ask(&mut played, call, 1, ASKED).expect("its call runs");
    played.inspect(step, asks("git"));
    assert!(finished(&played, step).is_some_and(|ended| !ended.ok));
    assert!(!played.has_started(step));
}

#[test]
fn r3_a_changed_list_is_told_once_and_each_change_anew() {
    let (mut played, _) = running();
    for detail in ["a is new", "a is new", "b is new", "a is new"] {
        played.command(SessionCommand::ToolsChanged(detail.into()));
    }
    let told = |played: &Played| {
        let alerts = played.facts.iter().filter_map(|fact| match fact {
            Event::AlertRaised(f) => Some((f.alert.clone(), f.detail.clone())),
            _ => None,
        });
        alerts.collect::<Vec<_>>()
    };
    let of = |detail: &str| (AlertName::ToolsChanged, detail.to_owned());
    assert_eq!(told(&played), [of("a is new"), of("b is new")]);
    for n in 0..500 {
        played.command(SessionCommand::ToolsChanged(format!("{n} is new")));
    }
    assert_eq!(told(&played).len(), 64, "a server that goes on changing fills no journal");
}
