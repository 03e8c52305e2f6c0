//! Every cell of the printed policy, played in a session (U1): what is asked can be allowed by whoever is
//! there, once, and nobody there is a refusal. What stays closed stands here with its reason. Not here:
//! which cell says what (`policy`).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weir_core::event::{Decision, Event, NOBODY};
use weir_core::governance::label::Label;
use weir_core::governance::policy::{LINKED, OWN, PolicyCell, SAID, policy_cells, policy_rules};
use weir_core::governance::way_out::{WayChange, ways_text};
use weir_core::governance::{FilterContext, GateName, Verdict, filter_result};
use weir_core::ids::{CallId, CheckpointId};
use weir_core::input::EffectAnswer;
use weir_core::message::plain_text;
use weir_core::profile::{PermissionMode, built_in_profiles};
use weir_core::session::SessionConfig;
use weir_core::tool::{Effects, HostEffect, RawResult, ResultEffect};

use crate::played::{self, Played, inspection};

const FETCHES: &str = "web_fetch";
/// The page that the person named, and that leads to the link of the table.
const PAGE: &str = "https://said.example/";

/// Kinds that nobody can let pass, the gate that says so, and the reason: the hard floor, the lists, and
/// Weir's own settings are what U1 excepts.
const CLOSED: &[(&str, &str, &str)] = &[
    ("read an ignored file", "paths", "the ignore list hides it (G6): the person changes the list"),
    ("change a protected file", "paths", "the protect list (G6): the person changes the list"),
    (
        "read through a link that leads out",
        "paths",
        "hard floor (Z6): the real path is named, and that is the kind `read outside`",
    ),
    ("read a key", "floor", "hard floor (Z3): stores of keys"),
    ("change Weir's own settings", "floor", "G5: no tool changes them, whoever agrees"),
    ("delete the workspace", "paths", "hard floor (Z3): the root of the workspace"),
    ("run a command of the hard floor", "floor", "hard floor (Z3): commands"),
];

/// Kinds of which the same call does not ask again after a yes.
const VOUCHED: &[(&str, &str)] = &[(
    "fetch a listed host, address built here",
    "the yes makes this very address one that the person agreed to, at a host that they listed",
)];

/// Why a cell that denies may.
fn reason_closed(cell: &PolicyCell) -> Option<&'static str> {
    let gate = cell.judgement.gate.as_ref().map_or("", GateName::as_str);
    let by_plan = cell.judgement.rule.as_deref() == Some("mode plan");
    let closed = || CLOSED.iter().find(|(kind, by, _)| *kind == cell.kind && *by == gate);
    match () {
        () if !cell.has_tool && gate == "visible" => Some("the profile has no such tool (G5)"),
        () if cell.mode == PermissionMode::Plan && by_plan => Some("the mode plan changes nothing"),
        () => closed().map(|(_, _, why)| *why),
    }
}

fn place(cell: &PolicyCell) -> String {
    let PolicyCell { profile, mode, kind, taint, .. } = cell;
    format!("{profile}, {mode}, {kind}, {}", taint.as_str())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Attended,
    Alone,
}

fn config(cell: &PolicyCell, presence: Presence) -> SessionConfig {
    let profile = built_in_profiles().into_iter().find(|profile| profile.name == cell.profile);
    let tools: Vec<&str> = cell.has_tool.then_some(cell.tool).into_iter().collect();
    SessionConfig {
        permission: cell.mode,
        rules: policy_rules(),
        attended: presence == Presence::Attended,
        own_addresses: BTreeSet::from([OWN.to_owned()]),
        ..played::config_with(profile.expect("the table has built-in profiles"), &tools)
    }
}

/// Arguments that name all that a call would touch.
fn arguments(effects: &Effects) -> Value {
    let paths: Vec<&str> = effects.paths.iter().map(|at| at.path.as_str()).collect();
    let commands: Vec<&str> = effects.commands.iter().map(|one| one.command.as_str()).collect();
    let urls: Vec<&str> = effects.hosts.iter().map(|host| host.url.as_str()).collect();
    let to: Vec<&str> = effects.sends.iter().map(|send| send.recipient.as_str()).collect();
    let words: Vec<&String> = effects.queries.iter().flat_map(|query| &query.words).collect();
    json!({ "paths": paths, "commands": commands, "urls": urls, "to": to, "words": words })
}

/// A session that stands where the cell is met.
fn before(cell: &PolicyCell, presence: Presence) -> Played {
    Played::open(config(cell, presence), SAID, cell.label.clone())
}

/// The page that the person named is fetched, and brings the link of the table.
fn fetch_page(played: &mut Played) {
    let url = PAGE.to_owned();
    let (method, host) = ("GET".to_owned(), "said.example".to_owned());
    let host = HostEffect { method, host, url, secret: None };
    let effects = Effects { hosts: vec![host], ..Effects::default() };
    let call = played.turn(1, &[(FETCHES, json!({ "url": PAGE }))])[0];
    played.inspect(call, inspection(effects));
    if played.judged(call).verdict == Verdict::Ask {
        played.decide(call, Decision::Once);
    }
    let links = ResultEffect::Links { links: vec![LINKED.to_owned()] };
    let raw = RawResult { news: vec![links], ..RawResult::ok("A page.") };
    let label = Label::default();
    let context = FilterContext::of_plain_result(call, &label);
    let clean = filter_result(raw, &context).clean;
    played.answer(EffectAnswer::Returned { call, clean, notes: Vec::new() });
}

/// The files that it touches are saved, where a call waits for that.
fn save(played: &mut Played, call: CallId, effects: &Effects) {
    if inspection(effects.clone()).needs_checkpoint() {
        let checkpoint = CheckpointId::new("k");
        played.answer(EffectAnswer::Saved { call, checkpoint, paths: Vec::new() });
    }
}

fn is_refused_by_nobody(played: &Played, call: CallId) -> bool {
    played.facts.iter().any(|fact| {
        matches!(fact, Event::ApprovalResolved(f)
            if f.call == call && f.by == NOBODY && f.decision == Decision::Deny)
    })
}

/// The cell is met, twice by the same call where a person lets the first pass. Returns why it is closed.
fn play_attended(cell: &PolicyCell) -> Option<&'static str> {
    let at = place(cell);
    let mut played = before(cell, Presence::Attended);
    let input = arguments(&cell.effects);
    let follows = cell.tool == FETCHES && cell.has_tool;
    if follows {
        fetch_page(&mut played);
    }
    let twice = [(cell.tool, input.clone()), (cell.tool, input)];
    let calls = played.turn(if follows { 2 } else { 1 }, &twice);
    let (first, second) = (calls[0], calls[1]);
    played.inspect(first, inspection(cell.effects.clone()));
    let judged = played.judged(first);
    let (verdict, gate) = (judged.verdict, judged.gate.clone());
    let exact = judged.gates.iter().any(|opinion| opinion.exact);
    let bound = judged.gates.iter().any(|opinion| opinion.bound);
    let printed = (cell.judgement.verdict, cell.judgement.gate.clone());
    assert_eq!((verdict, gate), printed, "{at}: a session does what is printed");
    match verdict {
        Verdict::Deny => {
            let why = reason_closed(cell);
            assert!(why.is_some(), "{at}: a dead end: {:?}", cell.judgement);
            assert!(!played.has_started(first), "{at}");
            return why;
        }
        // Also a lasting answer counts once where the cell is exact and no lease can be bound to it (U8).
        Verdict::Ask if exact && !bound => played.decide(first, Decision::Session),
        Verdict::Ask => played.decide(first, Decision::Once),
        Verdict::Allow => (),
    }
    save(&mut played, first, &cell.effects);
    assert!(played.has_started(first), "{at}: nothing else stands in the way");
    if verdict == Verdict::Ask {
        played.inspect(second, inspection(cell.effects.clone()));
        let vouched = VOUCHED.iter().any(|(kind, _)| *kind == cell.kind);
        let expected = if vouched { Verdict::Allow } else { Verdict::Ask };
        let again = played.judged(second);
        assert_eq!(again.verdict, expected, "{at}: the yes was for one call: {:?}", again.reason);
    }
    None
}

#[test]
fn u1_a_present_person_can_let_every_cell_pass_exactly_and_once() {
    let met: BTreeSet<&str> = policy_cells().iter().filter_map(play_attended).collect();
    for (kind, _, why) in CLOSED {
        assert!(met.contains(why), "{kind} is not closed any more: take its line away");
    }
}

#[test]
fn u1_where_nobody_is_present_every_question_is_a_refusal() {
    let mut asked = 0;
    // No page leads to a link where nobody may let it be fetched.
    for cell in policy_cells().iter().filter(|cell| cell.tool != FETCHES) {
        let mut played = before(cell, Presence::Alone);
        let call = played.turn(1, &[(cell.tool, arguments(&cell.effects))])[0];
        played.inspect(call, inspection(cell.effects.clone()));
        let asks = played.judged(call).verdict == Verdict::Ask;
        assert_eq!(asks, cell.judgement.verdict == Verdict::Ask, "{}", place(cell));
        if asks {
            asked += 1;
            assert!(is_refused_by_nobody(&played, call), "{}", place(cell));
            assert!(!played.has_started(call), "{}", place(cell));
        }
    }
    assert!(asked > 0, "some cells ask");
}

#[test]
fn u11_the_model_reads_the_ways_of_a_refusal_and_goes_one() {
    let (mut told, mut gone) = (0, 0);
    let to_strangers = |cell: &&PolicyCell| cell.tool != FETCHES && cell.has_tool;
    for cell in policy_cells().iter().filter(to_strangers) {
        let at = place(cell);
        let mut played = before(cell, Presence::Attended);
        let call = played.turn(1, &[(cell.tool, arguments(&cell.effects))])[0];
        played.inspect(call, inspection(cell.effects.clone()));
        let asks = played.judged(call).verdict == Verdict::Ask;
        assert!(!asks || played.judged(call).ways.is_empty(), "{at}: a person is asked");

        let mut played = before(cell, Presence::Alone);
        let call = played.turn(1, &[(cell.tool, arguments(&cell.effects))])[0];
        played.inspect(call, inspection(cell.effects.clone()));
        let judged = played.judged(call);
        let ways = judged.ways.clone();
        if judged.verdict == Verdict::Allow || ways.is_empty() {
            assert!(ways.is_empty(), "{at}: nothing was refused");
            continue;
        }
        told += 1;
        let answers = played.facts.iter().find_map(|fact| match fact {
            Event::CallFinished(f) if f.call == call => Some(plain_text(&f.result)),
            _ => None,
        });
        let answer = answers.expect("it is answered");
        assert!(answer.ends_with(&ways_text(&ways)), "{at}: {answer}");
        let own = WayChange::Recipient { to: OWN.to_owned() };
        if ways.iter().any(|way| way.change == own) {
            let mut effects = cell.effects.clone();
            effects.sends.iter_mut().for_each(|send| OWN.clone_into(&mut send.recipient));
            for act in &mut effects.acts {
                act.to = vec![OWN.to_owned()];
                act.control.iter_mut().for_each(|one| OWN.clone_into(&mut one.value));
            }
            let call = played.turn(2, &[(cell.tool, json!({ "to": OWN }))])[0];
            played.inspect(call, inspection(effects));
            assert!(played.has_started(call), "{at}: the way that was said");
            gone += 1;
        }
    }
    assert!(told > 100 && gone > 10, "{told} refusals told of ways, {gone} were gone");
}
