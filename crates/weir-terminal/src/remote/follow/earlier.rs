//! The facts before the place at which a session of a server begins here: each once, in order, over as many
//! connections as it takes (Q10). Not here: the newer ones, which are told before (`super`).

use weir_core::ids::Seq;
use weir_core::view::transcript::PlacedFact;
use weir_tui::link::{NoticeTone, UiUpdate};

use super::super::http;
use super::super::wire::{EventStreamDecoder, FactConsequences, parse_event};
use super::{FollowedSession, PAUSE_MIN};

/// Connections in a row that may bring none of them.
const FAILURES_MAX: u32 = 5;

/// Tells them. Where they cannot be had, that is told.
pub(super) async fn tell_earlier_facts(followed: &FollowedSession) {
    let (mut next, mut failures) = (1, 0);
    loop {
        let before = next;
        let Err(why) = read_one_connection(followed, &mut next).await else { return };
        failures = if next > before { 0 } else { failures + 1 };
        if failures >= FAILURES_MAX {
            let text = format!("what was said and done before cannot be read: {why}");
            // A face that has gone misses nothing.
            let _ = followed.news.send(UiUpdate::Notice { tone: NoticeTone::Bad, text }).await;
            return;
        }
        tokio::time::sleep(PAUSE_MIN * (failures + 1)).await;
    }
}

/// One connection, from the fact `next` on: until all are told, or the face has gone.
///
/// # Errors
/// It ended before: a sentence.
async fn read_one_connection(followed: &FollowedSession, next: &mut Seq) -> Result<(), String> {
    let after = (*next - 1).to_string();
    let parts = ["sessions", followed.session.as_str(), "events"];
    let answer = followed.http.open_stream(&parts, &[("after", &after)]).await;
    let response = answer.map_err(|trouble| trouble.to_string())?;
    let mut stream = response.bytes_stream();
    let mut decoder = EventStreamDecoder::default();
    while let Some(bytes) = http::next(&mut stream).await.map_err(|trouble| trouble.to_string())? {
        let mut facts = Vec::new();
        for message in decoder.decode_chunk(&bytes)? {
            if let FactConsequences::Fact { seq, ts, event } = parse_event(&message.data)?
                && seq == *next
                && seq <= followed.before
            {
                *next += 1;
                facts.push(PlacedFact { seq, ts, event });
            }
        }
        let is_told =
            facts.is_empty() || followed.news.send(UiUpdate::Earlier(facts)).await.is_ok();
        if *next > followed.before || !is_told {
            return Ok(());
        }
    }
    Err("the server ended the connection".into())
}
