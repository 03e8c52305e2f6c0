//! A session that begins here at a settled place: what was said and done before it is read when somebody comes
//! near it, a part at a time, each from a settled place on, and stands above the rest. No later fact changes
//! anything of it (Q10). Not here: who wants it.

use weir_core::ids::Seq;
use weir_core::view::transcript::{PlacedFact, SettledPlace, SettledTranscript, Transcript};

use super::SessionFold;
use crate::app::entries::{EarlierEntries, EarlierReach};
use crate::app::writing::PrintItem;
use crate::link::{CommandTicket, UiCommand};
use crate::words::one_line;

/// Facts of a part for whoever scrolls, at least.
const PART_FACTS: Seq = 500;
/// The same for whoever looks for something, or goes to the beginning: they wait for many parts.
const FAR_PART_FACTS: Seq = 5_000;

/// What was told in answer to a wish for a part, and is not that part.
const NOT_THE_PART: &str = "what came is not what was asked for";

/// Facts that were not read yet.
#[derive(Debug)]
pub(crate) struct EarlierFacts {
    /// The last of them.
    last: Seq,
    /// The wish for some of them that is under way.
    asked: Option<CommandTicket>,
}

impl SessionFold {
    /// The facts that follow are those after a settled place; those before it are read when they are wanted.
    pub(crate) fn begin_at(&mut self, start: &SettledTranscript) {
        self.view = start.to_transcript();
        self.seq = start.settled_place().seq;
        self.settings.running = self.view.is_running();
        self.adopt_settings();
        if self.seq > 0 {
            self.transcript.expect_earlier(self.transcript.len());
            self.earlier = Some(EarlierFacts { last: self.seq, asked: None });
        }
    }

    /// The wish for what stands before the first entry that is there; `None`: nothing does, or one is under
    /// way.
    pub(crate) fn wish_earlier(
        &mut self,
        reach: EarlierReach,
        ticket: CommandTicket,
    ) -> Option<UiCommand> {
        let left = self.earlier.as_mut().filter(|left| left.asked.is_none())?;
        left.asked = Some(ticket);
        self.transcript.set_earlier(Some(EarlierEntries::UnderWay));
        let facts = match reach {
            // Foreign words were given up since: what they were is known by whoever reads all.
            _ if self.view.at_earlier_place(&SettledPlace::START).is_none() => Seq::MAX,
            EarlierReach::Part => PART_FACTS,
            EarlierReach::Far => FAR_PART_FACTS,
        };
        Some(UiCommand::Earlier { last: left.last, facts, ticket })
    }

    /// Whether this is the wish for earlier facts that is under way.
    pub(crate) fn awaits_earlier(&self, ticket: CommandTicket) -> bool {
        self.earlier.as_ref().is_some_and(|left| left.asked == Some(ticket))
    }

    /// The facts that were wished for, from a settled place on: what they tell stands in the transcript.
    /// `false`: nobody waits for them.
    pub(crate) fn apply_earlier(
        &mut self,
        ticket: CommandTicket,
        from: &SettledPlace,
        facts: &[PlacedFact],
    ) -> bool {
        let asked = |left: &&mut EarlierFacts| left.asked == Some(ticket);
        let Some(left) = self.earlier.as_mut().filter(asked) else { return false };
        left.asked = None;
        let Some(part) = fold_part(&self.view, from, facts, left.last) else {
            self.transcript.set_earlier(Some(EarlierEntries::Failed(NOT_THE_PART.to_owned())));
            return true;
        };
        left.last = from.seq;
        let rest = (from.seq > 0).then_some(EarlierEntries::Left);
        if rest.is_none() {
            self.earlier = None;
        }
        let count = part.transcript.len();
        let place = self.transcript.insert_earlier(part.transcript, rest);
        for print in self.prints.iter_mut().chain(&mut self.old_prints) {
            if let PrintItem::Entry(at) = print
                && *at >= place
            {
                *at += count;
            }
        }
        true
    }

    /// What was wished for cannot be read now; it may be wished for again.
    pub(crate) fn fail_earlier(&mut self, why: &str) {
        if let Some(left) = &mut self.earlier {
            left.asked = None;
            self.transcript.set_earlier(Some(EarlierEntries::Failed(one_line(why))));
        }
    }
}

/// What facts from a settled place up to `last` tell. `now`: what is seen of the session by now. `None`: they
/// are others, or what must be known there cannot be.
fn fold_part(
    now: &Transcript,
    from: &SettledPlace,
    facts: &[PlacedFact],
    last: Seq,
) -> Option<SessionFold> {
    let is_next = |(fact, seq): (&PlacedFact, Seq)| fact.seq == seq;
    if from.seq >= last || facts.last()?.seq != last {
        return None;
    }
    if !facts.iter().zip(from.seq + 1..).all(is_next) {
        return None;
    }
    let view = match from.seq {
        0 => Transcript::default(),
        _ => now.at_earlier_place(from)?,
    };
    let mut fold = SessionFold { known: last, seq: from.seq, view, ..SessionFold::default() };
    fold.settings.running = fold.view.is_running();
    fold.adopt_settings();
    for at in facts {
        fold.apply_fact(at.seq, at.ts, at.event.clone(), at.ts);
    }
    Some(fold)
}
