//! The facts before the place at which a session of a server begins here: each once, in order, over as many
//! connections as it takes (Q10). Not here: the newer ones, which are told before (`super`).

use weir_core::ids::Seq;
use weir_core::view::transcript::PlacedFact;
use weir_tui::link::{NoticeTone, UiUpdate};

use super::super::http;
use super::super::wire::{EventStreamDecoder, FactConsequences, StreamMessage, parse_event};
use super::{
    FollowEnd, FollowedSession, PAUSE_MAX, PAUSE_MIN, StreamStop, broken_stream, stop_for_trouble,
};

/// Tells them, however long the server is away meanwhile. Where they cannot be had, that is told.
pub(super) async fn tell_earlier_facts(followed: &FollowedSession) {
    let (mut next, mut pause) = (1, PAUSE_MIN);
    loop {
        let before = next;
        let wait = match read_one_connection(followed, &mut next).await {
            Ok(()) => return,
            Err(StreamStop::Line(_, wait)) => wait,
            Err(StreamStop::End(FollowEnd::Broken(why))) => {
                let text = format!("what was said and done before cannot be read: {why}");
                // A face that has gone misses nothing.
                let _ = followed.news.send(UiUpdate::Notice { tone: NoticeTone::Bad, text }).await;
                return;
            }
            // Whoever follows the newer ones tells of that.
            Err(StreamStop::End(FollowEnd::Gone | FollowEnd::Left)) => return,
        };
        if next > before {
            pause = PAUSE_MIN;
        }
        tokio::select! {
            () = tokio::time::sleep(wait.unwrap_or(pause).max(pause)) => (),
            () = followed.news.closed() => return,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// One connection, from the fact `next` on: until all are told.
async fn read_one_connection(followed: &FollowedSession, next: &mut Seq) -> Result<(), StreamStop> {
    let after = (*next - 1).to_string();
    let parts = ["sessions", followed.session.as_str(), "events"];
    let answer = followed.http.open_stream(&parts, &[("after", &after)]).await;
    let response = answer.map_err(stop_for_trouble)?;
    let mut stream = response.bytes_stream();
    let mut decoder = EventStreamDecoder::default();
    while let Some(bytes) = http::next(&mut stream).await.map_err(stop_for_trouble)? {
        let (mut facts, mut heard) = (Vec::new(), Ok(()));
        for message in decoder.decode_chunk(&bytes).map_err(|why| broken_stream(&why))? {
            heard = read_next(followed.before, next, &message).map(|fact| facts.extend(fact));
            if heard.is_err() {
                break;
            }
        }
        // Those count as told from here on, whatever came after them.
        if !facts.is_empty() && followed.news.send(UiUpdate::Earlier(facts)).await.is_err() {
            return Err(StreamStop::End(FollowEnd::Left));
        }
        heard?;
        if *next > followed.before {
            return Ok(());
        }
    }
    Err(StreamStop::Line("it ended the connection".into(), None))
}

/// The fact that is to be told next, where this is it; `None`: it is told already, or stands after all
/// that are wanted. `last`: the last of those.
fn read_next(
    last: Seq,
    next: &mut Seq,
    message: &StreamMessage,
) -> Result<Option<PlacedFact>, StreamStop> {
    if message.event == "error" {
        return Err(StreamStop::Line("it could not read the session".into(), None));
    }
    let wanted = *next;
    let (seq, fact) = match parse_event(&message.data).map_err(|why| broken_stream(&why))? {
        FactConsequences::Fact { seq, ts, event } => (seq, Ok(PlacedFact { seq, ts, event })),
        FactConsequences::Unknown { seq, kind } => (seq, Err(kind)),
        FactConsequences::Signal { .. } | FactConsequences::Nothing => return Ok(None),
    };
    if seq < wanted || wanted > last {
        return Ok(None);
    }
    if seq > wanted {
        return Err(broken_stream(&format!("it left out fact {wanted}")));
    }
    let why = |kind: String| format!("it tells of {kind:?}, which this program does not know");
    let fact = fact.map_err(|kind| broken_stream(&why(kind)))?;
    *next += 1;
    Ok(Some(fact))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(event: &str, seq: Seq, kind: &str) -> StreamMessage {
        let data = json!({ "v": 1, "ts": "2026-01-02T03:04:05.000006Z", "session": "s1", "seq": seq,
            "kind": kind, "run": "r1", "trigger": "user" });
        StreamMessage { event: event.into(), data: data.to_string() }
    }

    #[test]
    fn q10_attach_each_earlier_fact_is_read_once_and_none_is_passed_over() {
        let fact = |seq| message("", seq, "run.started");
        let (last, mut next) = (3, 1);
        let mut told = Vec::new();
        // A second connection begins with what the first one had told.
        for seq in [1, 2, 1, 2, 3, 4, 5] {
            let Ok(found) = read_next(last, &mut next, &fact(seq)) else { panic!("{seq}") };
            told.extend(found.map(|at| at.seq));
        }
        assert_eq!((told, next), (vec![1, 2, 3], 4));
        let mut next = 1;
        let heard = read_next(last, &mut next, &message("error", 1, "run.started"));
        assert!(matches!(heard, Err(StreamStop::Line(..))), "it is asked again");
        for (seq, kind) in [(2, "run.started"), (1, "dream.began")] {
            let heard = read_next(last, &mut next, &message("", seq, kind));
            assert!(matches!(heard, Err(StreamStop::End(FollowEnd::Broken(_)))), "{seq} {kind}");
        }
        assert_eq!(next, 1, "none of those counts as told");
    }
}
