//! What was told to a person already, so that nothing is told twice: not after a restart, and not by
//! two servers on one database. Whoever writes the mark tells; it is written before, so a notice is
//! left out where a crash comes between, and what waits still stands in the inbox. Not here: what is
//! told (`news`).

use std::collections::HashSet;

use weir_core::ids::Timestamp;
use weir_engine::ports::{PutOutcome, RecordEntry, Records, StoreError};
use weir_install::people::PersonId;

/// The kind of a mark in the records.
const TOLD: &str = "told";
/// How long the mark of something that waits is kept, in milliseconds: 30 days. What waits for longer
/// may be told once more.
pub(super) const ASK_KEPT_MS: u64 = 30 * 24 * 3_600_000;
/// How long that of an ended run is kept: two days, longer than ended runs are looked for.
pub(super) const END_KEPT_MS: u64 = 2 * 24 * 3_600_000;

/// Names that are known at once, at most; then they are asked of the records anew.
const KNOWN_MAX: usize = 10_000;

/// When a mark is written, and how long it is kept.
#[derive(Clone, Copy)]
pub(super) struct MarkTimes {
    pub(super) now: Timestamp,
    pub(super) kept_ms: u64,
}

/// The marks of one person.
pub(super) struct ToldMarks {
    person: PersonId,
    /// Names that are not to be told any more: they cost no question.
    known: HashSet<String>,
}

impl ToldMarks {
    pub(super) fn new(person: PersonId) -> ToldMarks {
        ToldMarks { person, known: HashSet::new() }
    }

    /// Whether it is known that this is not to be told.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// This is no news, and need not be looked at again.
    pub(super) fn leave_out(&mut self, name: &str) {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(name.to_owned());
    }

    /// Whether this is to be told now, by whoever asked. `name`: one of each thing that is told; its
    /// mark is kept as long as `times` says.
    ///
    /// # Errors
    /// The database does not answer: it may be asked again.
    pub(super) async fn claim(
        &mut self,
        records: &dyn Records,
        name: &str,
        times: MarkTimes,
    ) -> Result<bool, StoreError> {
        let entry = RecordEntry {
            kind: TOLD.into(),
            name: format!("{}/{name}", self.person),
            owner: self.person.0.clone(),
            text: "{}".into(),
            version: 0,
            expires: Some(times.now.plus_ms(times.kept_ms)),
            ts: times.now,
        };
        let put = records.put(&entry, Some(0)).await?;
        self.leave_out(name);
        Ok(matches!(put, PutOutcome::Kept(_)))
    }
}
