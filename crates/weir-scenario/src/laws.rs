//! The laws of the journal, checked on every play.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use anyhow::{Context as _, ensure};
use weir_core::event::Event;
use weir_core::ids::{SessionId, Timestamp};
use weir_core::message::{Message, MessageBlock, Role, plain_text};
use weir_core::model::Usage;
use weir_core::session::{Session, child};
use weir_core::tool::ResultEffect;
use weir_core::view::transcript::{PlacedFact, SettledTranscript, Transcript};
use weir_engine::blobs::mentioned_blobs;
use weir_engine::folded::FoldedSession;
use weir_engine::hub::PublishedFact;
use weir_engine::open_asks::{list_open_asks, list_open_requests};
use weir_engine::ports::{ASK_KINDS, Store};

use crate::play::Played;

/// Checks the laws on everything that a play left: its session and the sub-agents of it.
///
/// # Errors
/// The first law that does not hold, by its number.
pub fn check_all(played: &Played) -> anyhow::Result<()> {
    check(&played.facts, &played.requests)?;
    for (agent, left) in &played.agents {
        let requests = left.heard.requests.lock().unwrap_or_else(PoisonError::into_inner);
        check(&left.facts, &requests).with_context(|| format!("sub-agent {agent}"))?;
        let lost = left.heard.wire.lost();
        // Another model is told everything anew, once in each dialect, and the journal says so.
        let switched = |fact: &&PublishedFact| fact.event.kind() == "model.switched";
        let breaks = left.facts.iter().filter(switched).count();
        let mut by_dialect: BTreeMap<&str, usize> = BTreeMap::new();
        lost.iter().for_each(|(dialect, ..)| *by_dialect.entry(dialect).or_default() += 1);
        ensure!(
            by_dialect.values().all(|times| *times <= breaks),
            "Q8, P2: sub-agent {agent} lost bytes: {lost:?}"
        );
    }
    children_are_accounted_for(played)
}

/// What a store keeps of what waits for a person, and of the run that ended last, is what the journal
/// says: also after a crash between any two steps (R5).
///
/// # Errors
/// The store cannot be read, or it keeps something else.
pub async fn kept_asks_are_those_of_the_journal(
    store: &dyn Store,
    id: &SessionId,
) -> anyhow::Result<()> {
    let Some(folded) = FoldedSession::load(store, id).await? else { return Ok(()) };
    let mut whole = FoldedSession::new(id.clone());
    whole.catch_up(store).await?;
    ensure!(
        format!("{folded:?}") == format!("{whole:?}"),
        "law 10: a look from the snapshot on shows something else than the whole journal"
    );
    let session = &folded.session;
    let approvals = session.open_approvals().map(|(name, _)| name.to_string());
    let agents = session.agents_ask().map(|asked| asked.request.approval.to_string());
    let questions = session.open_questions().map(|(name, _)| name.to_string());
    let open: BTreeSet<String> = approvals.chain(agents).chain(questions).collect();
    let kept = list_open_asks(store).await?;
    let kept: BTreeSet<String> =
        kept.iter().map(|open| open.asked.fact.name().to_owned()).collect();
    ensure!(kept == open, "R5: {kept:?} is kept as open, and {open:?} is");
    let requests = list_open_requests(store, session).await?;
    let journaled = folded.open_requests();
    ensure!(
        requests == journaled,
        "R5: {requests:?} is told as open, and the journal says {journaled:?}"
    );
    let ended = store.ended_runs(Timestamp(0)).await?;
    let ended = ended.iter().find(|record| record.session == *id).map(|record| record.seq);
    let facts = store.read_records(id, 1, usize::MAX).await?;
    let last = facts.iter().rfind(|record| record.kind == "run.finished").map(|last| last.seq);
    ensure!(ended == last, "R5: the last run that ended is kept at {ended:?}, and is at {last:?}");
    Ok(())
}

/// Law 9: each sub-agent was announced before it began, ended once, and counts once in the session
/// that started it: in tokens, money and files.
fn children_are_accounted_for(played: &Played) -> anyhow::Result<()> {
    let root = (SessionId::new("scenario"), &played.facts);
    let agents = played.agents.iter().map(|(id, left)| (id.clone(), &left.facts));
    for (id, facts) in std::iter::once(root).chain(agents) {
        let session = fold(&id, facts.iter().map(|fact| (fact, (*fact.event).clone())));
        let mut own = Usage::default();
        let mut spawned = BTreeMap::new();
        for fact in facts {
            match fact.event.as_ref() {
                Event::ModelReplied(f) => own.add(&f.usage),
                Event::ModelRetried(f) => own.add(&f.usage),
                Event::ModelFailed(f) => own.add(&f.usage),
                Event::RunRemembered(f) => own.add(&f.usage),
                Event::HelperAsked(f) => own.add(&f.usage),
                Event::ContextSummarised(f) => own.add(&f.usage),
                Event::ContextCondensing(f) => f.cut.iter().for_each(|cut| own.add(&cut.usage)),
                Event::RecipePlanned(f) => own.add(&f.usage),
                Event::CallJudged(f) => {
                    f.inspection.judge_use.iter().for_each(|used| own.add(&used.usage));
                }
                Event::CallFinished(f) => f.news.iter().for_each(|news| {
                    if let ResultEffect::Used { usage, .. } = news {
                        own.add(usage);
                    }
                }),
                Event::AgentSpawned(f) => {
                    ensure!(spawned.insert(f.agent.clone(), f).is_none(), "{} twice", f.agent);
                }
                Event::AgentFinished(f) => {
                    ensure!(spawned.remove(&f.agent).is_some(), "law 9: {} ended twice", f.agent);
                    own.add(&f.usage);
                    let left = played.agents.get(&f.agent).map(|left| &left.facts);
                    let left = left.with_context(|| format!("{} left no journal", f.agent))?;
                    let child = fold(&f.agent, left.iter().map(|f| (f, (*f.event).clone())));
                    ensure!(*child.usage() == f.usage, "law 9: {} used something else", f.agent);
                }
                _ => (),
            }
        }
        ensure!(*session.usage() == own, "law 9: {id} does not count everything once");
        ensure!(spawned.is_empty(), "law 9: {:?} never ended", spawned.keys());
    }
    for id in played.agents.keys() {
        let parent = child::parent_of(id).map(|(parent, _)| parent).context("a child's name")?;
        let facts = played.agents.get(&parent).map_or(&played.facts, |left| &left.facts);
        let announced = |fact: &PublishedFact| match fact.event.as_ref() {
            Event::AgentSpawned(f) => f.agent == *id,
            _ => false,
        };
        ensure!(facts.iter().any(announced), "law 9: {id} was never announced");
    }
    Ok(())
}

/// Checks all laws that a finished journal can be held against. `requests` are the histories that
/// were sent, in order.
///
/// # Errors
/// The first law that does not hold, by its number.
pub fn check(facts: &[PublishedFact], requests: &[Vec<Arc<Message>>]) -> anyhow::Result<()> {
    replay_is_the_same(facts)?;
    // Few in each play, since there are thousands; plays differ in their length, so the places do.
    snapshots_hold_the_fold(facts, facts.len() / 2 + 1)?;
    kept_views_hold_the_fold(facts, facts.len() / 2 + 1)?;
    calls_are_judged_and_answered_once(facts)?;
    requests_extend_each_other(facts, requests)?;
    what_binds_is_kept(facts, requests)?;
    crate::recipes::steps_are_made_once(facts)?;
    for request in requests {
        calls_have_results(request)?;
    }
    Ok(())
}

/// Law 1: folding the journal again, from its bytes, gives the same state.
fn replay_is_the_same(facts: &[PublishedFact]) -> anyhow::Result<()> {
    let id = SessionId::new("replayed");
    let once = fold(&id, facts.iter().map(|fact| (fact, (*fact.event).clone())));
    let read = |fact: &PublishedFact| Event::from_payload(fact.event.kind(), &fact.event.payload());
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

fn fold<'a>(id: &SessionId, facts: impl Iterator<Item = (&'a PublishedFact, Event)>) -> Session {
    let mut session = Session::new(id.clone());
    for (fact, event) in facts {
        session.apply(fact.ts, &event);
    }
    session
}

/// Law 10: a session that is kept and opened again after each `stride` facts is the one whose facts were all
/// folded, and whoever looks at it by way of its snapshot sees what the whole journal shows (Q10).
///
/// # Errors
/// The place after which it is another, or a fold that has no snapshot.
pub fn snapshots_hold_the_fold(facts: &[PublishedFact], stride: usize) -> anyhow::Result<()> {
    let id = SessionId::new("kept");
    let (mut all, mut kept) = (FoldedSession::new(id.clone()), Session::new(id.clone()));
    let mut asks = Vec::new();
    for (at, fact) in facts.iter().enumerate() {
        all.apply_fact(fact);
        kept.apply(fact.ts, &fact.event);
        asks.extend(ASK_KINDS.contains(&fact.event.kind()).then(|| fact.clone()));
        let is_last = at + 1 == facts.len();
        if is_last || (at + facts.len()).is_multiple_of(stride.max(1)) {
            let whole = format!("{:?}", all.session);
            ensure!(
                whole == format!("{kept:?}"),
                "law 10: from a snapshot on, the session is another at fact {}",
                fact.seq
            );
            let snapshot = kept.to_snapshot("hash");
            let snapshot = snapshot.with_context(|| format!("law 10: fact {}", fact.seq))?;
            kept = snapshot.restore(&id).with_context(|| format!("law 10: fact {}", fact.seq))?;
            ensure!(
                whole == format!("{kept:?}"),
                "law 10: the snapshot at fact {} holds another session",
                fact.seq
            );
            let look = FoldedSession::of_session(kept.clone(), &asks);
            ensure!(
                format!("{look:?}") == format!("{all:?}"),
                "law 10: a look from the snapshot at fact {} shows something else",
                fact.seq
            );
        }
    }
    Ok(())
}

/// Law 10, for what a person sees of a session: kept and read again at each `stride`th place at which nothing
/// is open, it changes with every later fact as that does which was folded from the beginning (Q10).
///
/// # Errors
/// The place after which it is another, or a fold that has no form as JSON.
pub fn kept_views_hold_the_fold(facts: &[PublishedFact], stride: usize) -> anyhow::Result<()> {
    let (mut whole, mut kept) = (Transcript::default(), Transcript::default());
    for (n, fact) in facts.iter().enumerate() {
        let at = PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() };
        let (expected, found) = (whole.apply(&at), kept.apply(&at));
        ensure!(
            expected == found,
            "law 10: fact {} changes what was kept in another way: {found:?} instead of {expected:?}",
            fact.seq
        );
        if !(n + facts.len()).is_multiple_of(stride.max(1)) {
            continue;
        }
        let settled = whole.to_settled();
        ensure!(
            settled == kept.to_settled(),
            "law 10: what was kept is another at fact {}: {:?} instead of {settled:?}",
            fact.seq,
            kept.to_settled()
        );
        if let Some(settled) = settled {
            let text = serde_json::to_string(&settled)?;
            let read: SettledTranscript = serde_json::from_str(&text)?;
            ensure!(read == settled, "law 10: at fact {} {text} is read as {read:?}", fact.seq);
            kept = read.to_transcript();
        }
    }
    Ok(())
}

/// Law 3: a call starts only after it was judged to pass, and is answered exactly once.
fn calls_are_judged_and_answered_once(facts: &[PublishedFact]) -> anyhow::Result<()> {
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

fn open_question(facts: &[PublishedFact]) -> bool {
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
    facts: &[PublishedFact],
    requests: &[Vec<Arc<Message>>],
) -> anyhow::Result<()> {
    let broken = |fact: &PublishedFact| matches!(fact.event.as_ref(), Event::HistoryQuarantined(_));
    if facts.iter().any(broken) {
        return Ok(());
    }
    // Another model may not take an attachment as it is: then it stands there in another form.
    let attached = facts.iter().any(|fact| !mentioned_blobs(&fact.event).is_empty());
    let shorter = |fact: &&PublishedFact| match fact.event.as_ref() {
        Event::ContextCondensed(_) | Event::ContextUncondensed(_) => true,
        Event::SessionConfigured(f) => attached && f.reason.contains("another model"),
        _ => false,
    };
    let mut breaks = facts.iter().filter(shorter).count();
    for (at, pair) in requests.windows(2).enumerate() {
        let kept = pair[0].iter().zip(&pair[1]).take_while(|(a, b)| a == b).count();
        if kept < pair[0].len() {
            let left = breaks.checked_sub(1);
            breaks = left.with_context(|| {
                format!("law 4: request {} does not extend the one before (kept {kept})", at + 2)
            })?;
        }
    }
    Ok(())
}

/// Law 6: however much was condensed, what the person said first and what the model was told last of
/// each section stand in the request.
fn what_binds_is_kept(
    facts: &[PublishedFact],
    requests: &[Vec<Arc<Message>>],
) -> anyhow::Result<()> {
    let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return Ok(()) };
    let said = facts.iter().find_map(|fact| match fact.event.as_ref() {
        Event::InputAccepted(f) => Some(plain_text(&f.content)),
        _ => None,
    });
    let has = |request: &[Arc<Message>], text: &str| {
        request.iter().any(|message| message.plain_text().contains(text))
    };
    let said = said.filter(|said| said.len() < 1_000 && has(first, said));
    if let Some(said) = said {
        for (at, request) in requests.iter().enumerate() {
            ensure!(has(request, &said), "law 6: request {} has lost the task", at + 1);
        }
    }
    let asked = facts.iter().rposition(|f| matches!(*f.event, Event::ModelRequested(_)));
    let mut told = BTreeMap::new();
    for fact in &facts[..asked.unwrap_or(0)] {
        let notes = match fact.event.as_ref() {
            Event::SceneSeen(f) => &f.notes,
            _ => continue,
        };
        told.extend(notes.iter().map(|note| (note.section.clone(), note.text.clone())));
    }
    for (section, text) in told {
        ensure!(has(last, &text), "law 6: the last request has lost the section {section}");
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
                MessageBlock::Call(call) => {
                    ensure!(open.insert(call.call), "law 5: {} twice", call.call)
                }
                MessageBlock::Result { call, .. } => {
                    ensure!(open.remove(call), "law 5: a result of {call} without its call");
                }
                _ => (),
            }
        }
    }
    ensure!(open.is_empty(), "law 5: the last calls {open:?} have no result");
    Ok(())
}
