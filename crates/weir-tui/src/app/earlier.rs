//! What was said and done before the place at which the session began here: it is read when a screen or a
//! command wants it, and never before. Pure. Not here: what is made of it (`fold::earlier`).

use weir_core::view::transcript::{PlacedFact, SettledPlace};

use super::App;
use super::entries::{EarlierEntries, EarlierReach};
use crate::link::{CommandTicket, NoticeTone};
use crate::words::one_line;

impl App {
    /// Somebody wants what stands before the first entry that is there.
    pub(crate) fn read_earlier(&mut self, reach: EarlierReach) {
        let ticket = self.next_ticket();
        self.wishes.extend(self.fold.wish_earlier(reach, ticket));
    }

    /// A part of it came.
    pub(super) fn hear_earlier(
        &mut self,
        ticket: CommandTicket,
        from: &SettledPlace,
        facts: &[PlacedFact],
    ) {
        if !self.fold.apply_earlier(ticket, from, facts) {
            return;
        }
        self.dirty = true;
        let Some(what) = self.copy_waits.take() else { return };
        // What came was not that part: whoever asked asks again.
        let failed = match self.fold.transcript.earlier_entries() {
            Some(EarlierEntries::Failed(why)) => Some(why.clone()),
            Some(EarlierEntries::Left | EarlierEntries::UnderWay) | None => None,
        };
        match failed {
            Some(why) => self.tell_no_copy(&why),
            None => self.copy_command(&what),
        }
    }

    /// It cannot be read now.
    pub(super) fn fail_earlier(&mut self, why: &str) {
        self.fold.fail_earlier(why);
        self.dirty = true;
        if self.copy_waits.take().is_some() {
            self.tell_no_copy(&one_line(why));
        }
    }

    fn tell_no_copy(&mut self, why: &str) {
        self.show_hint(NoticeTone::Bad, format!("The last answer cannot be read: {why}"));
    }

    /// The last answer is copied once it is read; `what`: what of it.
    pub(super) fn copy_when_read(&mut self, what: &str) {
        self.copy_waits = Some(what.to_owned());
        self.show_hint(NoticeTone::Quiet, "The last answer stands further up: it is being read");
        self.read_earlier(EarlierReach::Part);
    }
}
