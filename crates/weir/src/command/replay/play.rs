//! Plays facts through a fresh session, one input at a time, and stops at the first difference. Not here:
//! their places, and what holds for single facts (`fold`).

use std::collections::VecDeque;
use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use serde::Serialize;
use serde_json::Value;
use tokio::task::spawn_blocking;
use weir_core::event::Event;
use weir_core::governance::filter::one_line;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::input::SessionInput;
use weir_core::session::Session;

use super::BATCHES_AHEAD;
use super::fold::{FoldedFact, FoldedPart, fold_facts};
use super::input::{ReplayInput, event_fields, input_of_event, is_same_event};
use super::source::JournalFact;

/// What playing came to.
#[derive(Debug, Default)]
pub(super) struct ReplayResult {
    pub(super) facts: u64,
    pub(super) runs: u64,
    pub(super) turns: u64,
    pub(super) calls: u64,
    pub(super) difference: Option<JournalDifference>,
}

impl ReplayResult {
    /// Of a journal that cannot be read: whatever was played of it counts for nothing.
    pub(super) fn of_damage(damage: JournalDifference) -> ReplayResult {
        ReplayResult { difference: Some(damage), ..ReplayResult::default() }
    }

    /// Of a journal without a fact.
    pub(super) fn of_nothing() -> ReplayResult {
        ReplayResult::of_damage(JournalDifference::damaged_journal(0, "there are no events"))
    }

    fn count_fact(&mut self, event: &Event) {
        self.facts += 1;
        match event {
            Event::RunStarted(_) => self.runs += 1,
            Event::TurnStarted(_) => self.turns += 1,
            Event::CallProposed(_) => self.calls += 1,
            _ => (),
        }
    }
}

/// The first place where the journal is not what it should be.
#[derive(Debug, Serialize)]
pub(super) struct JournalDifference {
    /// Number of the fact; 0: the journal as a whole.
    pub(super) seq: Seq,
    /// What is wrong.
    pub(super) why: String,
    /// What should have stood there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<Box<Value>>,
    /// What stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) found: Option<Box<Value>>,
}

impl JournalDifference {
    /// The journal cannot be played from here.
    pub(super) fn damaged_journal(seq: Seq, why: impl Into<String>) -> JournalDifference {
        JournalDifference { seq, why: why.into(), expected: None, found: None }
    }

    fn between_events(
        seq: Seq,
        expected: Option<&Event>,
        found: Option<&Event>,
    ) -> JournalDifference {
        let boxed = |event: Option<&Event>| event.map(|event| Box::new(event_fields(event)));
        let name = |event: Option<&Event>| event.map_or("nothing", Event::kind).to_owned();
        let why = format!("expected {}, found {}", name(expected), name(found));
        JournalDifference { seq, why, expected: boxed(expected), found: boxed(found) }
    }
}

impl fmt::Display for JournalDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seq > 0 {
            write!(f, "event {}: ", self.seq)?;
        }
        f.write_str(&one_line(&self.why))?;
        if let (Some(expected), Some(found)) = (&self.expected, &self.found) {
            // Only what differs: a fact can be long.
            let (expected, found) = differing_fields(expected, found);
            let [expected, found] = [expected, found].map(|value| one_line(&value.to_string()));
            write!(f, "\n  expected {expected}\n  found    {found}")?;
        }
        Ok(())
    }
}

/// The fields in which two objects differ.
fn differing_fields(a: &Value, b: &Value) -> (Value, Value) {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return (a.clone(), b.clone()) };
    let only = |x: &serde_json::Map<String, Value>, y: &serde_json::Map<String, Value>| {
        let fields = x.iter().filter(|(name, value)| y.get(*name) != Some(value));
        Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    (only(a, b), only(b, a))
}

/// Plays all of `facts`: one thread folds them, another makes every decision again. A fact that cannot be read is
/// told before any difference, wherever it stands.
pub(super) async fn replay_facts<F>(id: SessionId, facts: F) -> anyhow::Result<ReplayResult>
where
    F: Iterator<Item = Result<JournalFact, JournalDifference>> + Send + 'static,
{
    let (to, parts) = sync_channel(BATCHES_AHEAD);
    let (back, played) = sync_channel(BATCHES_AHEAD);
    let player = JournalPlayer::new(id.clone());
    let folding = spawn_blocking(move || fold_facts(id, facts, &to, &played));
    let playing = spawn_blocking(move || player.play_parts(&parts, &back));
    let (folded, played) = (folding.await?, playing.await?);
    Ok(match folded {
        Ok(()) => played,
        Err(damage) => ReplayResult::of_damage(damage),
    })
}

struct JournalPlayer {
    /// Driven by inputs. Ahead of the journal by what is in `expected`.
    session: Session,
    /// Facts that must come next, with the moment they were recorded at.
    expected: VecDeque<(Timestamp, Event)>,
}

impl JournalPlayer {
    fn new(id: SessionId) -> JournalPlayer {
        JournalPlayer { session: Session::new(id), expected: VecDeque::new() }
    }

    /// Plays what comes until it ends, or is not what it should be. What was played goes back.
    fn play_parts(
        mut self,
        parts: &Receiver<FoldedPart>,
        back: &SyncSender<Vec<FoldedFact>>,
    ) -> ReplayResult {
        let mut played = ReplayResult::default();
        for part in parts {
            let checked = match part {
                FoldedPart::Facts(mut facts) => {
                    let checked = self.play_facts(&mut facts, &mut played);
                    // Where there is no room, or nobody takes them any more, they are let go here.
                    let _ = back.try_send(facts);
                    checked
                }
                FoldedPart::Broken(difference) => Err(difference),
                FoldedPart::End(_) if played.facts == 0 => return ReplayResult::of_nothing(),
                FoldedPart::End(fold) => self.check_journal_end(&fold),
            };
            if let Err(difference) = checked {
                played.difference = Some(difference);
                return played;
            }
        }
        played
    }

    fn play_facts(
        &mut self,
        facts: &mut [FoldedFact],
        played: &mut ReplayResult,
    ) -> Result<(), JournalDifference> {
        for fact in facts {
            self.play_fact(fact)?;
            played.count_fact(&fact.event);
        }
        Ok(())
    }

    /// The fact must be what follows, or something from outside that is taken.
    fn play_fact(&mut self, fact: &mut FoldedFact) -> Result<(), JournalDifference> {
        if let Some(before) = fact.before.take()
            && !self.expected.is_empty()
        {
            self.expected.clear();
            self.session = *before;
        }
        match self.expected.pop_front() {
            Some((ts, event)) if ts == fact.ts && is_same_event(&event, &fact.event) => Ok(()),
            Some((_, event)) => {
                Err(JournalDifference::between_events(fact.seq, Some(&event), Some(&fact.event)))
            }
            None => self.apply_outside_input(fact),
        }
    }

    /// Hands in what came from outside; what follows from it is expected next.
    fn apply_outside_input(&mut self, fact: &FoldedFact) -> Result<(), JournalDifference> {
        self.session.pass_over_steps(&fact.event);
        let input = match input_of_event(&self.session, &fact.event) {
            ReplayInput::Whole(input) => *input,
            ReplayInput::Nothing => SessionInput::Tick,
            ReplayInput::Fact => {
                self.session.apply(fact.ts, &fact.event);
                let followed = self.session.handle(fact.ts, SessionInput::Tick);
                self.expect_facts(fact.ts, followed);
                return Ok(());
            }
        };
        let mut facts = VecDeque::from(self.session.handle(fact.ts, input));
        let first = facts.pop_front();
        match &first {
            Some(event) if is_same_event(event, &fact.event) => {
                self.expect_facts(fact.ts, facts);
                Ok(())
            }
            other => {
                Err(JournalDifference::between_events(fact.seq, other.as_ref(), Some(&fact.event)))
            }
        }
    }

    fn expect_facts(&mut self, ts: Timestamp, facts: impl IntoIterator<Item = Event>) {
        self.expected.extend(facts.into_iter().map(|event| (ts, event)));
    }

    /// Everything that follows was recorded, and both sessions are in the same state.
    fn check_journal_end(&self, fold: &Session) -> Result<(), JournalDifference> {
        let last = fold.fact_count();
        if let Some((_, event)) = self.expected.front() {
            return Err(JournalDifference::between_events(last + 1, Some(event), None));
        }
        let played = &self.session;
        let is_same = played.fact_count() == last
            && played.status() == fold.status()
            && played.history() == fold.history()
            && played.queued_inputs() == fold.queued_inputs()
            && played.task_list() == fold.task_list()
            && played.media() == fold.media()
            && played.usage() == fold.usage();
        if !is_same {
            let why = "reading the journal leads to a different state than replaying it";
            return Err(JournalDifference::damaged_journal(last, why));
        }
        Ok(())
    }
}
