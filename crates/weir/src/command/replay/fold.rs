//! Folds a journal fact by fact: each stands in its place, and what holds for single facts holds. Not here:
//! whether a fact follows from those before it (`play`).

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use weir_core::event::{Event, ModelReplied, ModelRequested};
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::message::{Message, MessageBlock};
use weir_core::session::Session;

use super::BATCH;
use super::play::JournalDifference;
use super::source::JournalFact;

/// A fact that stands in its place.
pub(super) struct FoldedFact {
    pub(super) seq: Seq,
    pub(super) ts: Timestamp,
    pub(super) event: Arc<Event>,
    /// The fold of all before it, where it takes the session up after a program that died before everything
    /// that followed was recorded: the next one begins from what was.
    pub(super) before: Option<Box<Session>>,
}

/// What is handed on, in the order of the journal.
pub(super) enum FoldedPart {
    Facts(Vec<FoldedFact>),
    /// The fact that would come next is not what it should be.
    Broken(JournalDifference),
    /// There are no more; this is the fold of all.
    End(Box<Session>),
}

/// Folds `facts` and hands them on as far as somebody wants them. Those that come back in `played` are let go
/// here: memory is given back soonest by the thread that took it.
///
/// # Errors
/// One of them cannot be read, wherever it stands: what was found before counts for nothing then.
pub(super) fn fold_facts(
    id: SessionId,
    facts: impl Iterator<Item = Result<JournalFact, JournalDifference>>,
    to: &SyncSender<FoldedPart>,
    played: &Receiver<Vec<FoldedFact>>,
) -> Result<(), JournalDifference> {
    let mut folder = JournalFolder::new(id);
    let mut batch = Vec::with_capacity(BATCH);
    let mut damage = None;
    let mut is_wanted = true;
    for fact in facts {
        let fact = match fact {
            Ok(fact) if is_wanted && damage.is_none() => fact,
            Ok(_) => continue,
            Err(unreadable) => {
                damage.get_or_insert(unreadable);
                continue;
            }
        };
        let mut is_full = false;
        match folder.fold_fact(fact) {
            Ok(folded) => {
                batch.push(folded);
                // A fold is large: of those that wait for their turn there is one in each batch.
                is_full =
                    batch.len() == BATCH || batch.last().is_some_and(|at| at.before.is_some());
            }
            Err(difference) => {
                let before = to.send(FoldedPart::Facts(std::mem::take(&mut batch)));
                // Nobody takes it where a difference before it was found.
                let _ = before.and_then(|()| to.send(FoldedPart::Broken(difference)));
                is_wanted = false;
            }
        }
        if is_full {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
            is_wanted = to.send(FoldedPart::Facts(full)).is_ok();
            played.try_iter().for_each(drop);
        }
    }
    if let Some(damage) = damage {
        return Err(damage);
    }
    if is_wanted {
        let rest = to.send(FoldedPart::Facts(batch));
        let _ = rest.and_then(|()| to.send(FoldedPart::End(Box::new(folder.fold))));
    }
    Ok(())
}

struct JournalFolder {
    fold: Session,
    /// The history of the last request, and whether the next may be another.
    request: Vec<Arc<Message>>,
    may_break: bool,
    calls: u32,
}

impl JournalFolder {
    fn new(id: SessionId) -> JournalFolder {
        JournalFolder { fold: Session::new(id), request: Vec::new(), may_break: false, calls: 0 }
    }

    fn fold_fact(&mut self, fact: JournalFact) -> Result<FoldedFact, JournalDifference> {
        let due = self.fold.fact_count() + 1;
        if fact.seq != due {
            let why = format!("event {due} is missing: event {} is in its place", fact.seq);
            return Err(JournalDifference::damaged_journal(due, why));
        }
        if fact.session != *self.fold.id() {
            let why = format!("it belongs to session {}, not {}", fact.session, self.fold.id());
            return Err(JournalDifference::damaged_journal(due, why));
        }
        self.check_laws(due, &fact.event)?;
        // Only then: a long session is large.
        let died = matches!(*fact.event, Event::SessionResumed(_))
            && self.fold.owes_fact(self.fold.last_fact_time());
        let before = died.then(|| Box::new(self.fold.clone()));
        self.fold.apply(fact.ts, &fact.event);
        Ok(FoldedFact { seq: due, ts: fact.ts, event: fact.event, before })
    }

    /// What holds for single facts: requests extend each other, calls are numbered in order.
    fn check_laws(&mut self, seq: Seq, event: &Event) -> Result<(), JournalDifference> {
        match event {
            Event::HistoryQuarantined(_)
            | Event::ContextCondensed(_)
            | Event::ContextUncondensed(_) => self.may_break = true,
            Event::ModelRequested(f) => self.check_request(seq, f)?,
            Event::ModelReplied(f) => self.check_reply_calls(seq, f)?,
            _ => (),
        }
        Ok(())
    }

    fn check_request(&mut self, seq: Seq, asked: &ModelRequested) -> Result<(), JournalDifference> {
        let Some(request) = self.fold.request(asked.turn) else {
            let why = format!("there is no request to send in turn {}", asked.turn);
            return Err(JournalDifference::damaged_journal(seq, why));
        };
        let history = request.history.as_ref();
        // Messages that nobody rewrote are the same ones, which is seen without reading them.
        let pairs = history.iter().zip(&self.request);
        let standing = pairs.take_while(|(now, before)| Arc::ptr_eq(now, before)).count();
        let pairs = history.iter().zip(&self.request).skip(standing);
        let kept = standing + pairs.take_while(|(now, before)| now == before).count();
        if kept < self.request.len() && !self.may_break {
            let why = format!(
                "the request does not extend the previous one: {kept} of its {} messages are kept",
                self.request.len()
            );
            return Err(JournalDifference::damaged_journal(seq, why));
        }
        self.request.truncate(standing);
        self.request.extend_from_slice(&history[standing..]);
        self.may_break = false;
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
}
