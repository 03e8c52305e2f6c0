//! A terminal that begins at a settled place shows what one shows that was told everything from the first fact
//! on (Q10, law 10): at once how the session stands, and once all is told every entry.

use anyhow::{Context as _, ensure};
use weir_core::ids::SessionId;
use weir_core::view::transcript::{PlacedFact, SettledTranscript, Transcript};
use weir_engine::hub::PublishedFact;
use weir_tui::offscreen::{OffscreenSession, OffscreenTerminal};
use weir_tui::terminal::TerminalSize;

/// So many places of a journal are looked at.
const PLACES_MAX: usize = 8;
/// Earlier facts that are told at once.
const TOLD_AT_ONCE: usize = 7;
const SIZE: TerminalSize = TerminalSize { columns: 100, rows: 24 };

/// Holds the places of a journal against all of it.
///
/// # Errors
/// A place from which on the terminal shows something else.
pub(super) fn check_settled_starts(id: &SessionId, facts: &[PublishedFact]) -> anyhow::Result<()> {
    let session = OffscreenSession {
        id: id.clone(),
        folder: "~/workspace".into(),
        known: facts.len() as u64,
    };
    let mut whole = OffscreenTerminal::open(&session, SIZE);
    tell(&mut whole, facts);
    let (live, entries) = (whole.current_frame().live, whole.all_entries());
    let places = settled_places(facts);
    for start in places.iter().step_by(places.len() / PLACES_MAX + 1) {
        // As it is kept.
        let start: SettledTranscript = serde_json::from_str(&serde_json::to_string(start)?)?;
        let seq = usize::try_from(start.settled_place().seq).context("too many facts")?;
        let mut face = OffscreenTerminal::open_at(&session, SIZE, &start);
        let (before, after) = facts.split_at(seq);
        tell(&mut face, after);
        let found = face.current_frame().live;
        ensure!(found == live, "from fact {seq} on it looks so: {found:?}, and not so: {live:?}");
        for some in before.chunks(TOLD_AT_ONCE) {
            face.apply_earlier(some.iter().map(placed).collect());
        }
        let found = face.all_entries();
        let differs = found.iter().zip(&entries).position(|(found, entry)| found != entry);
        ensure!(
            found.len() == entries.len() && differs.is_none(),
            "from fact {seq} on there are {} entries of {}, and this is another one: {differs:?}",
            found.len(),
            entries.len()
        );
    }
    Ok(())
}

/// Every settled place but the end, where nothing would follow.
fn settled_places(facts: &[PublishedFact]) -> Vec<SettledTranscript> {
    let mut seen = Transcript::default();
    let mut places = Vec::new();
    for fact in &facts[..facts.len().saturating_sub(1)] {
        seen.apply(&placed(fact));
        places.extend(seen.to_settled());
    }
    places
}

fn tell(face: &mut OffscreenTerminal, facts: &[PublishedFact]) {
    facts.iter().for_each(|fact| face.apply_fact(fact.seq, fact.ts, &fact.event));
}

fn placed(fact: &PublishedFact) -> PlacedFact {
    PlacedFact { seq: fact.seq, ts: fact.ts, event: fact.event.clone() }
}
