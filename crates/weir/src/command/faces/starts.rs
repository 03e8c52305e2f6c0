//! A terminal that begins at a settled place shows what one shows that was told everything from the first fact
//! on (Q10, law 10): at once how the session stands, and once all is read every entry, in however many parts.

use anyhow::{Context as _, ensure};
use weir_core::ids::SessionId;
use weir_core::view::transcript::{PlacedFact, SettledPlace, SettledTranscript, Transcript};
use weir_engine::hub::PublishedFact;
use weir_tui::offscreen::{OffscreenSession, OffscreenTerminal};
use weir_tui::terminal::TerminalSize;

/// So many places of a journal are looked at.
const PLACES_MAX: usize = 8;
/// Parts in which what stands before a place is read, and one that begins at the first fact.
const PARTS_MAX: usize = 4;
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
    for (n, start) in places.iter().enumerate().step_by(places.len() / PLACES_MAX + 1) {
        // As it is kept.
        let start: SettledTranscript = serde_json::from_str(&serde_json::to_string(start)?)?;
        let seq = usize::try_from(start.settled_place().seq).context("too many facts")?;
        let mut face = OffscreenTerminal::open_at(&session, SIZE, &start);
        tell(&mut face, &facts[seq..]);
        let found = face.current_frame().live;
        ensure!(found == live, "from fact {seq} on it looks so: {found:?}, and not so: {live:?}");
        let earlier = places[..n].iter().map(SettledTranscript::settled_place).rev();
        for from in earlier.step_by(n / PARTS_MAX + 1).chain([&SettledPlace::START]) {
            read_part(&mut face, from, facts)?;
        }
        ensure!(face.wish_earlier().is_none(), "from fact {seq} on something is left");
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

/// What stands between a place and what the face was told.
fn read_part(
    face: &mut OffscreenTerminal,
    from: &SettledPlace,
    facts: &[PublishedFact],
) -> anyhow::Result<()> {
    let last = face.wish_earlier().context("something is left")?;
    let part = facts.iter().filter(|fact| fact.seq > from.seq && fact.seq <= last);
    face.apply_earlier(from, part.map(placed).collect());
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
