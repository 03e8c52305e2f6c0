//! What is heard here of a session that runs at another replica, between the facts of its journal:
//! each piece in its place, none twice, and none that a fact has told (S17). Pieces may be lost; the
//! facts bring everything.

use std::collections::{HashMap, VecDeque};

use weir_core::event::Event;
use weir_core::ids::Seq;
use weir_engine::hub::{
    PublishedFact, SessionUpdate, SignalKind, StreamSettlement, streams_settled_by,
};
use weir_engine::ports::{SignalEar, SignalLine, SignalParcel};

use super::SessionKey;
use crate::session_registry::piece::{LineSeal, LineSeals, SignalChunk};

/// Bytes of pieces that wait for the facts before them; what comes while there are more is lost.
const WAITING_BYTES_MAX: usize = 256 * 1024;
/// Facts that are kept in mind because of what they told.
const TOLD_MAX: usize = 32;

/// One who hears.
pub(super) struct RemoteStream {
    ear: Box<dyn SignalEar>,
    key: SessionKey,
    /// Boxed: most who listen never hear anything this way, and a key with its tables is large (Q18).
    seal: Option<Box<(SignalLine, LineSeal)>>,
    waiting: VecDeque<SignalChunk>,
    waiting_bytes: usize,
    streamed: StreamProgress,
    /// It was said that nothing can be opened.
    complained: bool,
}

impl RemoteStream {
    /// Hears from now on, where the facts up to `seen` were given.
    pub(super) fn new(ear: Box<dyn SignalEar>, key: SessionKey, seen: Seq) -> RemoteStream {
        RemoteStream {
            ear,
            key,
            seal: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            streamed: StreamProgress::starting_after(seen),
            complained: false,
        }
    }

    /// Resolves when something has arrived.
    pub(super) async fn wait_for_arrival(&mut self) {
        self.ear.wait_for_parcel().await;
    }

    /// Takes in what has arrived. Whether some of it comes after facts that were not given yet.
    pub(super) fn take_in(&mut self, seals: &LineSeals, seen: Seq) -> bool {
        let mut is_ahead = false;
        while let Some(parcel) = self.ear.take_parcel() {
            let Some(piece) = self.open_parcel(seals, &parcel) else { continue };
            if self.waiting_bytes + piece.text.len() > WAITING_BYTES_MAX {
                continue;
            }
            is_ahead |= piece.after > seen;
            self.waiting_bytes += piece.text.len();
            self.waiting.push_back(piece);
        }
        is_ahead
    }

    fn open_parcel(&mut self, seals: &LineSeals, parcel: &SignalParcel) -> Option<SignalChunk> {
        if self.seal.as_deref().is_none_or(|(line, _)| *line != parcel.line) {
            let seal = seals.for_line(&self.key, &parcel.line).ok()?;
            self.seal = Some(Box::new((parcel.line.clone(), seal)));
        }
        let (_, seal) = self.seal.as_deref()?;
        match seal.open_chunk(parcel.n, &parcel.body) {
            Ok(piece) => Some(piece),
            Err(_) if self.complained => None,
            Err(_) => {
                self.complained = true;
                tracing::warn!(
                    "what streams at another server does not open with the key of this installation: \
                     give both the same server.key"
                );
                None
            }
        }
    }

    /// The next piece that has its place after the fact `seen`.
    pub(super) fn next_update(&mut self, seen: Seq) -> Option<SessionUpdate> {
        while self.waiting.front().is_some_and(|piece| piece.after <= seen) {
            let piece = self.waiting.pop_front()?;
            self.waiting_bytes -= piece.text.len();
            if let Some(text) = self.streamed.new_text(&piece) {
                let text = text.to_owned();
                let SignalChunk { kind, subject, .. } = piece;
                return Some(SessionUpdate::Signal { kind, subject, text });
            }
        }
        self.waiting.shrink_to_fit();
        None
    }

    /// A fact is given.
    pub(super) fn note_fact(&mut self, fact: &PublishedFact) {
        self.streamed.note_fact(fact.seq, &fact.event);
    }
}

/// How much of each text was given.
#[derive(Debug)]
struct StreamProgress {
    given: HashMap<(SignalKind, String), u64>,
    /// The last facts that told something.
    told: VecDeque<(Seq, StreamSettlement)>,
    /// What facts up to this one told is not known.
    unknown: Seq,
}

impl StreamProgress {
    fn starting_after(seen: Seq) -> StreamProgress {
        StreamProgress { given: HashMap::new(), told: VecDeque::new(), unknown: seen }
    }

    fn note_fact(&mut self, seq: Seq, event: &Event) {
        let over = streams_settled_by(event);
        match &over {
            StreamSettlement::Nothing => return,
            StreamSettlement::Subject(subject) => self.given.retain(|(_, of), _| of != subject),
            StreamSettlement::Everything => self.given.clear(),
        }
        self.told.push_back((seq, over));
        if self.told.len() > TOLD_MAX
            && let Some((seq, _)) = self.told.pop_front()
        {
            self.unknown = seq;
        }
    }

    /// What of a piece was not given yet, and is not told by a fact that came after it.
    fn new_text<'a>(&mut self, piece: &'a SignalChunk) -> Option<&'a str> {
        let is_told = |(seq, over): &(Seq, StreamSettlement)| {
            *seq > piece.after
                && match over {
                    StreamSettlement::Nothing => false,
                    StreamSettlement::Subject(subject) => *subject == piece.subject,
                    StreamSettlement::Everything => true,
                }
        };
        if piece.after < self.unknown || self.told.iter().any(is_told) {
            return None;
        }
        let given = self.given.entry((piece.kind, piece.subject.clone())).or_default();
        let skipped = usize::try_from(given.saturating_sub(piece.at)).ok()?;
        let text = piece.text.get(skipped..).filter(|text| !text.is_empty())?;
        *given = piece.end_offset();
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use weir_core::event::ModelRetried;

    use super::*;

    fn piece(after: Seq, subject: &str, at: u64, text: &str) -> SignalChunk {
        let (kind, subject) = (SignalKind::Text, subject.to_owned());
        SignalChunk { after, kind, subject, at, text: text.to_owned() }
    }

    fn retried(turn: u64) -> Event {
        let text = format!(
            r#"{{"turn":"t{turn}","attempt":1,"class":"overloaded","wait_ms":1,"message":""}}"#
        );
        Event::ModelRetried(serde_json::from_str::<ModelRetried>(&text).expect("a fact"))
    }

    #[test]
    fn q18_who_listens_where_nothing_streams_holds_little() {
        let bytes = size_of::<RemoteStream>();
        assert!(bytes <= 256, "{bytes} bytes for each who listens");
    }

    #[test]
    fn s17_overlaps_are_cut_and_holes_let_be() {
        let mut streamed = StreamProgress::starting_after(7);
        for (piece, wanted) in [
            (piece(7, "t1", 0, "one "), Some("one ")),
            (piece(7, "t1", 4, "two"), Some("two")),
            // A new line brings it from its beginning.
            (piece(7, "t1", 0, "one two thr"), Some(" thr")),
            (piece(7, "t1", 4, "two"), None),
            (piece(7, "t2", 0, "other"), Some("other")),
            (piece(7, "t1", 20, "later"), Some("later")),
            (piece(7, "t1", 25, ""), None),
            // It cannot be: the same text was cut differently. Nothing is better than a panic.
            (piece(7, "t1", 24, "ä!"), None),
            // Before the place from which this listens.
            (piece(6, "t3", 0, "old"), None),
        ] {
            assert_eq!(streamed.new_text(&piece), wanted, "{piece:?}");
        }
    }

    #[test]
    fn s17_what_a_fact_has_told_is_not_given_any_more() {
        let mut streamed = StreamProgress::starting_after(7);
        assert_eq!(streamed.new_text(&piece(7, "t1", 0, "wrong")), Some("wrong"));
        assert_eq!(streamed.new_text(&piece(7, "c1", 0, "line")), Some("line"));
        streamed.note_fact(8, &retried(1));
        // Its tail comes late; what streams anew begins anew.
        assert_eq!(streamed.new_text(&piece(7, "t1", 5, " tail")), None);
        assert_eq!(streamed.new_text(&piece(7, "c1", 4, " two")), Some(" two"));
        assert_eq!(streamed.new_text(&piece(8, "t1", 0, "right")), Some("right"));
        for seq in 9..9 + TOLD_MAX as u64 {
            streamed.note_fact(seq, &retried(2));
        }
        assert_eq!(streamed.told.len(), TOLD_MAX);
        assert_eq!(streamed.unknown, 8);
        assert_eq!(streamed.new_text(&piece(7, "c9", 0, "who knows")), None);
        assert_eq!(streamed.new_text(&piece(8, "t1", 5, "!")), Some("!"));
    }
}
