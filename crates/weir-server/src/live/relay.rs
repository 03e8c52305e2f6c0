//! Sends what streams in a session that runs here to other replicas, where somebody follows it, and
//! only as long as one of them asks (S17). To the session it is one more listener for each: it hears
//! what nobody has been told yet first, is never waited for, and what it is too slow for is joined.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use weir_engine::hub::{SessionUpdate, UpdateSubscription};
use weir_engine::ports::{SignalLine, SignalParcel, Store};

use super::{ServerSession, SessionKey};
use crate::app::App;
use crate::session_registry::piece::{LineSeal, SignalChunk};

/// How long what streams is gathered before it is sent.
const GATHERING: Duration = Duration::from_millis(40);
/// Bytes that are not gathered any longer.
const GATHERED_BYTES_MAX: usize = 64 * 1024;
/// How long until what could not be sent is sent again.
const AGAIN: Duration = Duration::from_millis(500);

/// Sends until the session is down.
pub(super) async fn relay_session(app: App, server_session: Arc<ServerSession>) {
    let store = server_session.space.store();
    let key = SessionKey::for_session(server_session.space.as_ref(), server_session.id());
    let mut senders = JoinSet::new();
    let mut sending: HashMap<SignalLine, AbortHandle> = HashMap::new();
    let mut lines = Vec::new();
    loop {
        lines = tokio::select! {
            _ = server_session.handle().wait_until_ended() => return,
            lines = store.signal_lines(server_session.id(), &lines) => lines,
            // One that stopped by itself: the session tells nothing any more.
            Some(_) = senders.join_next() => continue,
        };
        sending.retain(|line, sender| {
            let goes_on = lines.contains(line);
            if !goes_on {
                sender.abort();
            }
            goes_on
        });
        for line in &lines {
            if sending.contains_key(line) {
                continue;
            }
            match app.sessions.seals.for_line(&key, line) {
                Ok(seal) => {
                    let line_ = RelayLine { line: line.clone(), seal, next: 0 };
                    let sender = senders.spawn(send_stream(server_session.clone(), line_));
                    sending.insert(line.clone(), sender);
                }
                Err(error) => tracing::error!(%error, "what streams cannot be sent on"),
            }
        }
    }
}

/// A line that is sent on.
struct RelayLine {
    line: SignalLine,
    seal: LineSeal,
    next: u64,
}

async fn send_stream(server_session: Arc<ServerSession>, mut line: RelayLine) {
    let store = server_session.space.store();
    let known = server_session.watch_state().borrow().facts;
    let mut updates = server_session.updates_since(known);
    while let Some(piece) = next(&mut updates).await {
        let mut gathered = ChunkBatch::default();
        gathered.add_chunk(piece);
        let until = Instant::now() + GATHERING;
        while gathered.bytes < GATHERED_BYTES_MAX {
            match tokio::time::timeout_at(until, next(&mut updates)).await {
                Ok(Some(piece)) => gathered.add_chunk(piece),
                Ok(None) | Err(_) => break,
            }
        }
        for piece in gathered.pieces.into_iter().flat_map(SignalChunk::split_parts) {
            line.send_chunk(store.as_ref(), &server_session, &piece).await;
        }
    }
}

/// The next piece; `None`: there will be none.
async fn next(updates: &mut UpdateSubscription) -> Option<SignalChunk> {
    loop {
        match updates.next().await {
            Ok(Some(SessionUpdate::Signal { kind, subject, text })) => {
                let (after, at) = (updates.last_seen_seq(), updates.began_at());
                return Some(SignalChunk { after, kind, subject, at, text });
            }
            Ok(Some(SessionUpdate::Fact(_))) => (),
            Ok(None) => return None,
            Err(error) => {
                tracing::debug!(%error, "a journal cannot be followed");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

impl RelayLine {
    /// Sends a piece; again, until it is sent or nobody asks for it any more.
    async fn send_chunk(
        &mut self,
        store: &dyn Store,
        server_session: &ServerSession,
        piece: &SignalChunk,
    ) {
        let body = match self.seal.seal_chunk(self.next, piece) {
            Ok(body) => body,
            Err(error) => return tracing::error!(%error, "what streams cannot be sealed"),
        };
        let parcel = SignalParcel { line: self.line.clone(), n: self.next, body };
        self.next += 1;
        while let Err(error) = store.send_signal(server_session.id(), &parcel).await {
            tracing::debug!(%error, "what streams is sent again");
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// What streamed in a short while, joined.
#[derive(Default)]
struct ChunkBatch {
    pieces: Vec<SignalChunk>,
    bytes: usize,
}

impl ChunkBatch {
    /// Joins a piece to what its subject has, unless that changes the order of anything.
    fn add_chunk(&mut self, piece: SignalChunk) {
        self.bytes += piece.text.len();
        let last = self.pieces.iter_mut().rev().find(|one| one.subject == piece.subject);
        match last {
            Some(one)
                if one.kind == piece.kind
                    && one.after == piece.after
                    && one.end_offset() == piece.at =>
            {
                one.text.push_str(&piece.text);
            }
            Some(_) | None => self.pieces.push(piece),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::hub::SignalKind::{self, Output, Text, Thinking};

    use super::*;

    #[test]
    fn s17_what_streams_is_joined_by_subject_and_keeps_its_order() {
        let mut ends: HashMap<(SignalKind, &str), u64> = HashMap::new();
        let mut gathered = ChunkBatch::default();
        for (after, kind, subject, text) in [
            (5, Thinking, "t1", "a"),
            (5, Thinking, "t1", "b"),
            (5, Output, "c1", "1"),
            (5, Text, "t1", "c"),
            (5, Output, "c1", "2"),
            (5, Output, "c2", "!"),
            (5, Text, "t1", "d"),
            (5, Thinking, "t1", "e"),
            (6, Output, "c1", "3"),
            (6, Thinking, "t1", "f"),
            (6, Thinking, "t1", "g"),
        ] {
            let end = ends.entry((kind, subject)).or_default();
            let (at, text) = (*end, text.to_owned());
            *end += text.len() as u64;
            gathered.add_chunk(SignalChunk { after, kind, subject: subject.to_owned(), at, text });
        }
        // Something of it was lost on the way here.
        let (kind, subject) = (Output, "c2".to_owned());
        gathered.add_chunk(SignalChunk { after: 6, kind, subject, at: 9, text: "?".into() });
        let seen: Vec<_> = gathered
            .pieces
            .iter()
            .map(|one| (one.after, one.kind, one.subject.as_str(), one.at, one.text.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (5, Thinking, "t1", 0, "ab"),
                (5, Output, "c1", 0, "12"),
                (5, Text, "t1", 0, "cd"),
                (5, Output, "c2", 0, "!"),
                (5, Thinking, "t1", 2, "e"),
                (6, Output, "c1", 2, "3"),
                (6, Thinking, "t1", 3, "fg"),
                (6, Output, "c2", 9, "?"),
            ]
        );
    }
}
