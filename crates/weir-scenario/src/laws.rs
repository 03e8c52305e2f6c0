//! The laws of the journal, checked on every play.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{bail, ensure};
use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::message::{Block, Message, Role};
use weir_core::session::Session;
use weir_engine::hub::Fact;

/// Checks all laws that a finished journal can be held against. `requests` are the histories that
/// were sent, in order.
///
/// # Errors
/// The first law that does not hold, by its number.
pub fn check(facts: &[Fact], requests: &[Vec<Arc<Message>>]) -> anyhow::Result<()> {
    replay_is_the_same(facts)?;
    calls_are_judged_and_answered_once(facts)?;
    requests_extend_each_other(facts, requests)?;
    for request in requests {
        calls_have_results(request)?;
    }
    Ok(())
}

/// Law 1: folding the journal again, from its bytes, gives the same state.
fn replay_is_the_same(facts: &[Fact]) -> anyhow::Result<()> {
    let id = SessionId::new("replayed");
    let once = fold(&id, facts.iter().map(|fact| (fact, (*fact.event).clone())));
    let read = |fact: &Fact| Event::from_payload(fact.event.kind(), &fact.event.payload());
    let mut again = Vec::new();
    for fact in facts {
        again.push((fact, read(fact)?));
    }
    let again = fold(&id, again.into_iter());
    ensure!(
        format!("{once:?}") == format!("{again:?}"),
        "law 1: replaying the journal gives another session"
    );
    Ok(())
}

fn fold<'a>(id: &SessionId, facts: impl Iterator<Item = (&'a Fact, Event)>) -> Session {
    let mut session = Session::new(id.clone());
    for (fact, event) in facts {
        session.apply(fact.ts, &event);
    }
    session
}

/// Law 3: a call starts only after it was judged to pass, and is answered exactly once.
fn calls_are_judged_and_answered_once(facts: &[Fact]) -> anyhow::Result<()> {
    let mut proposed = BTreeSet::new();
    let mut judged = BTreeSet::new();
    let mut started = BTreeSet::new();
    let mut answered = BTreeSet::new();
    let (mut runs, mut finished) = (0, 0);
    for fact in facts {
        match fact.event.as_ref() {
            Event::CallProposed(f) => ensure!(proposed.insert(f.call), "{} proposed twice", f.call),
            Event::CallJudged(f) => ensure!(judged.insert(f.call), "{} judged twice", f.call),
            Event::CallStarted(f) => {
                ensure!(judged.contains(&f.call), "law 3: {} started before it was judged", f.call);
                ensure!(started.insert(f.call), "law 3: {} started twice", f.call);
            }
            Event::CallFinished(f) => {
                ensure!(answered.insert(f.call), "law 3: {} answered twice", f.call);
            }
            Event::CallUnknown(f) => {
                ensure!(answered.insert(f.call), "law 3: {} answered twice", f.call);
            }
            Event::RunStarted(_) => runs += 1,
            Event::RunFinished(_) => finished += 1,
            _ => (),
        }
    }
    ensure!(runs == finished, "L3: {runs} runs started and {finished} finished");
    let open = proposed.difference(&answered).count();
    let waits = open_question(facts);
    ensure!(open == 0 || waits, "law 3: {open} calls were never answered");
    Ok(())
}

fn open_question(facts: &[Fact]) -> bool {
    let mut open = 0;
    for fact in facts {
        match fact.event.as_ref() {
            Event::QuestionAsked(_) => open += 1,
            Event::QuestionAnswered(_) => open -= 1,
            _ => (),
        }
    }
    open > 0
}

/// Law 4: each request extends the one before, but for journaled breaks.
fn requests_extend_each_other(
    facts: &[Fact],
    requests: &[Vec<Arc<Message>>],
) -> anyhow::Result<()> {
    let broken = |fact: &Fact| matches!(fact.event.as_ref(), Event::HistoryQuarantined(_));
    if facts.iter().any(broken) {
        return Ok(());
    }
    for (at, pair) in requests.windows(2).enumerate() {
        let kept = pair[0].iter().zip(&pair[1]).take_while(|(a, b)| a == b).count();
        if kept < pair[0].len() {
            bail!("law 4: request {} does not extend the one before (kept {kept})", at + 2);
        }
    }
    Ok(())
}

/// Law 5: every call in a request has its result, and the other way round.
fn calls_have_results(request: &[Arc<Message>]) -> anyhow::Result<()> {
    let mut open = BTreeSet::new();
    for message in request {
        if message.role == Role::Assistant {
            ensure!(open.is_empty(), "law 5: calls {open:?} have no result");
        }
        for block in &message.blocks {
            match block {
                Block::Call(call) => ensure!(open.insert(call.call), "law 5: {} twice", call.call),
                Block::Result { call, .. } => {
                    ensure!(open.remove(call), "law 5: a result of {call} without its call");
                }
                _ => (),
            }
        }
    }
    ensure!(open.is_empty(), "law 5: the last calls {open:?} have no result");
    Ok(())
}
