//! What stands before the place at which the shown session began: read when the face wishes for it, a part at a
//! time, each from a settled place on (Q10). Not here: which places there are (`settled_start`).

use anyhow::{Context as _, ensure};
use weir_core::ids::Seq;
use weir_core::view::transcript::{PlacedFact, SettledPlace};
use weir_engine::ledger::fact_of;
use weir_engine::ports::Store as _;
use weir_tui::link::{CommandTicket, UiUpdate};

use super::settled_start::place_fact;
use super::shown_session::ShownSession;

/// Facts read at once: what they take is kept by the allocator (Q21).
const READ_BATCH: usize = 64;

/// The part that ends with the fact `last` and has at least so many facts, where there are so many.
pub(super) async fn earlier_update(
    shown: &ShownSession,
    last: Seq,
    wanted: Seq,
    ticket: CommandTicket,
) -> UiUpdate {
    let is_meant = |place: &&SettledPlace| place.seq.saturating_add(wanted.max(1)) <= last;
    let from = shown.places.iter().rfind(is_meant).cloned().unwrap_or(SettledPlace::START);
    match read_facts(shown, from.seq, last).await {
        Ok(facts) => UiUpdate::Earlier { ticket, from: Box::new(from), facts },
        Err(error) => UiUpdate::Failed { ticket, why: format!("{error:#}") },
    }
}

/// The facts after one up to another.
async fn read_facts(
    shown: &ShownSession,
    after: Seq,
    last: Seq,
) -> anyhow::Result<Vec<PlacedFact>> {
    let id = shown.id.as_ref().context("nothing was said yet")?;
    let store = shown.cx.local_store()?;
    let (mut facts, mut next) = (Vec::new(), after + 1);
    while next <= last {
        let left = usize::try_from(last - next).unwrap_or(usize::MAX).saturating_add(1);
        let records = store.read_records(id, next, left.min(READ_BATCH)).await?;
        ensure!(!records.is_empty(), "the journal has no event {next}");
        next += records.len() as Seq;
        for record in &records {
            facts.push(place_fact(&fact_of(record)?));
        }
    }
    Ok(facts)
}
