//! Plays facts through a fresh session, one input at a time, and stops at the first difference.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use weir_core::event::{Event, ModelReplied};
use weir_core::governance::filter::one_line;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::input::SessionInput;
use weir_core::message::{Message, MessageBlock};
use weir_core::session::Session;

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

/// Plays all of `lines`.
pub(super) fn replay_facts(lines: &[JournalFact]) -> ReplayResult {
    let mut played = ReplayResult::default();
    let Some(first) = lines.first() else {
        played.difference = Some(JournalDifference::damaged_journal(0, "there are no events"));
        return played;
    };
    let mut player = JournalPlayer::new(first.session.clone());
    for (at, line) in lines.iter().enumerate() {
        if let Err(difference) = player.play_fact(lines, at) {
            played.difference = Some(difference);
            return played;
        }
        played.facts += 1;
        match line.event {
            Event::RunStarted(_) => played.runs += 1,
            Event::TurnStarted(_) => played.turns += 1,
            Event::CallProposed(_) => played.calls += 1,
            _ => (),
        }
    }
    played.difference = player.check_journal_end(lines).err();
    played
}

struct JournalPlayer {
    id: SessionId,
    /// Driven by inputs. Ahead of the journal by what is in `expected`.
    session: Session,
    /// Folded from the journal: always exactly there.
    fold: Session,
    /// Facts that must come next, with the moment they were recorded at.
    expected: VecDeque<(Timestamp, Event)>,
    /// The history of the last request, and whether the next may be another.
    request: Vec<Arc<Message>>,
    may_break: bool,
    calls: u32,
}

impl JournalPlayer {
    fn new(id: SessionId) -> JournalPlayer {
        JournalPlayer {
            session: Session::new(id.clone()),
            fold: Session::new(id.clone()),
            id,
            expected: VecDeque::new(),
            request: Vec::new(),
            may_break: false,
            calls: 0,
        }
    }

    /// The fact at `at` must be what follows, or something from outside that is taken.
    fn play_fact(&mut self, lines: &[JournalFact], at: usize) -> Result<(), JournalDifference> {
        let line = &lines[at];
        let due = at as Seq + 1;
        if line.seq != due {
            let why = format!("event {due} is missing: event {} is in its place", line.seq);
            return Err(JournalDifference::damaged_journal(due, why));
        }
        if line.session != self.id {
            let why = format!("it belongs to session {}, not {}", line.session, self.id);
            return Err(JournalDifference::damaged_journal(due, why));
        }
        self.check_laws(line)?;
        // A program may have died before everything that followed was recorded: the next one
        // begins from what was.
        if matches!(line.event, Event::SessionResumed(_)) && !self.expected.is_empty() {
            self.expected.clear();
            self.session = self.fold.clone();
        }
        match self.expected.pop_front() {
            Some((ts, event)) if ts == line.ts && is_same_event(&event, &line.event) => (),
            Some((_, event)) => {
                return Err(JournalDifference::between_events(
                    due,
                    Some(&event),
                    Some(&line.event),
                ));
            }
            None => self.apply_outside_input(line)?,
        }
        self.fold.apply(line.ts, &line.event);
        Ok(())
    }

    /// Hands in what came from outside; what follows from it is expected next.
    fn apply_outside_input(&mut self, line: &JournalFact) -> Result<(), JournalDifference> {
        let input = match input_of_event(&self.session, &line.event) {
            ReplayInput::Whole(input) => *input,
            ReplayInput::Nothing => SessionInput::Tick,
            ReplayInput::Fact => {
                self.session.apply(line.ts, &line.event);
                let followed = self.session.handle(line.ts, SessionInput::Tick);
                self.expect_facts(line.ts, followed);
                return Ok(());
            }
        };
        let mut facts = VecDeque::from(self.session.handle(line.ts, input));
        let first = facts.pop_front();
        match &first {
            Some(event) if is_same_event(event, &line.event) => {
                self.expect_facts(line.ts, facts);
                Ok(())
            }
            other => {
                Err(JournalDifference::between_events(line.seq, other.as_ref(), Some(&line.event)))
            }
        }
    }

    fn expect_facts(&mut self, ts: Timestamp, facts: impl IntoIterator<Item = Event>) {
        self.expected.extend(facts.into_iter().map(|event| (ts, event)));
    }

    /// What holds for single facts: requests extend each other, calls are numbered in order.
    fn check_laws(&mut self, line: &JournalFact) -> Result<(), JournalDifference> {
        match &line.event {
            Event::HistoryQuarantined(_)
            | Event::ContextCondensed(_)
            | Event::ContextUncondensed(_) => self.may_break = true,
            Event::ModelRequested(f) => {
                let Some(request) = self.fold.request(f.turn) else {
                    let why = format!("there is no request to send in turn {}", f.turn);
                    return Err(JournalDifference::damaged_journal(line.seq, why));
                };
                let history = request.history.as_ref();
                let kept = history.iter().zip(&self.request);
                let kept = kept.take_while(|(a, b)| Arc::ptr_eq(a, b) || a == b).count();
                if kept < self.request.len() && !self.may_break {
                    let why = format!(
                        "the request does not extend the previous one: {kept} of its {} messages \
                         are kept",
                        self.request.len()
                    );
                    return Err(JournalDifference::damaged_journal(line.seq, why));
                }
                self.request.clone_from(history);
                self.may_break = false;
            }
            Event::ModelReplied(f) => self.check_reply_calls(line.seq, f)?,
            _ => (),
        }
        Ok(())
    }

    fn check_reply_calls(
        &mut self,
        seq: Seq,
        reply: &ModelReplied,
    ) -> Result<(), JournalDifference> {
        for block in &reply.content {
            let MessageBlock::Call(call) = block else { continue };
            self.calls += 1;
            if call.call.0 != self.calls {
                let why = format!("call {} should be c{}", call.call, self.calls);
                return Err(JournalDifference::damaged_journal(seq, why));
            }
        }
        let price = self.fold.config().and_then(|config| config.model.cost(&reply.usage));
        let close = match (price, reply.cost_usd) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            (a, b) => a.is_none() && b.is_none(),
        };
        if !close {
            let why = format!(
                "it cost {price:?} USD according to the price table, not {:?}",
                reply.cost_usd
            );
            return Err(JournalDifference::damaged_journal(seq, why));
        }
        Ok(())
    }

    /// Everything that follows was recorded, and both sessions are in the same state.
    fn check_journal_end(&mut self, lines: &[JournalFact]) -> Result<(), JournalDifference> {
        let seq = lines.len() as Seq + 1;
        if let Some((_, event)) = self.expected.front() {
            return Err(JournalDifference::between_events(seq, Some(event), None));
        }
        let state = |session: &Session| {
            (
                session.status(),
                session.history().clone(),
                session.queued_inputs().clone(),
                session.task_list().to_vec(),
                session.media().clone(),
                *session.usage(),
            )
        };
        if state(&self.session) != state(&self.fold) {
            let why = "reading the journal leads to a different state than replaying it";
            return Err(JournalDifference::damaged_journal(seq - 1, why));
        }
        Ok(())
    }
}
