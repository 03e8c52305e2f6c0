//! A session that begins here at a settled place: what was said and done before it is told afterwards and
//! stands above the rest. No later fact changes anything of it (Q10). Not here: when it is told.

use weir_core::view::transcript::{PlacedFact, SettledTranscript};

use super::SessionFold;
use crate::app::writing::PrintItem;

/// What stands before the place at which a session began here, as far as it was told.
#[derive(Debug)]
pub(crate) struct EarlierFold {
    fold: SessionFold,
    /// Where its entries are to stand.
    place: usize,
}

impl SessionFold {
    /// The facts that follow are those after a settled place; those before it are told afterwards.
    pub(crate) fn begin_at(&mut self, start: &SettledTranscript) {
        self.view = start.to_transcript();
        self.seq = start.settled_place().seq;
        self.settings.running = self.view.is_running();
        self.adopt_settings();
        self.transcript.expect_earlier();
        let fold = SessionFold { known: self.seq, ..SessionFold::default() };
        self.earlier = Some(Box::new(EarlierFold { fold, place: self.transcript.len() }));
    }

    /// Takes facts from before that place in. `true`: they were the last, and what they tell stands in the
    /// transcript.
    pub(crate) fn apply_earlier(&mut self, facts: &[PlacedFact]) -> bool {
        let Some(earlier) = &mut self.earlier else { return false };
        let fold = &mut earlier.fold;
        for at in facts {
            if at.seq == fold.seq + 1 {
                fold.apply_fact(at.seq, at.ts, at.event.clone(), at.ts);
            }
        }
        if fold.is_old() {
            return false;
        }
        let Some(earlier) = self.earlier.take() else { return false };
        let EarlierFold { fold, place } = *earlier;
        let count = fold.transcript.len();
        self.transcript.insert_earlier(place, fold.transcript);
        for print in self.prints.iter_mut().chain(&mut self.old_prints) {
            if let PrintItem::Entry(at) = print
                && *at >= place
            {
                *at += count;
            }
        }
        true
    }
}
