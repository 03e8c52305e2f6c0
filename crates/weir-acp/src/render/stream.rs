//! What the model writes while it writes, and what of a whole reply was not told yet. Pure.

use crate::wire::{MessageChunk, SessionUpdate};

use super::message_chunk;

/// Most bytes of a reply that are told while it is written; what is beyond comes with the whole reply.
const STREAM_BYTES_MAX: usize = 4 << 20;

/// The reply that is being written.
#[derive(Debug, Default)]
pub(super) struct StreamedReply {
    turn: String,
    /// How often it was begun anew.
    attempt: u32,
    words: String,
    thoughts: String,
}

impl StreamedReply {
    /// What is streamed from now on belongs to this turn.
    pub(super) fn begin_turn(&mut self, turn: String) {
        let attempt = if self.turn == turn { self.attempt } else { 0 };
        *self = StreamedReply { turn, attempt, ..StreamedReply::default() };
    }

    /// What was streamed is not the answer. It cannot be taken back: it is said.
    pub(super) fn abandon_turn(&mut self) -> Option<SessionUpdate> {
        let was_told = !self.words.is_empty();
        self.words.clear();
        self.thoughts.clear();
        if !was_told {
            return None;
        }
        let cut = "\n\n*(The answer was cut off here.)*\n\n".to_owned();
        let update = SessionUpdate::AgentMessageChunk(self.piece_of_turn(cut));
        self.attempt += 1;
        Some(update)
    }

    /// The model writes.
    pub(super) fn push_words(&mut self, turn: &str, text: &str) -> Option<SessionUpdate> {
        if self.turn != turn || self.words.len() + text.len() > STREAM_BYTES_MAX {
            return None;
        }
        self.words.push_str(text);
        Some(SessionUpdate::AgentMessageChunk(self.piece_of_turn(text.to_owned())))
    }

    /// The model thinks.
    pub(super) fn push_thoughts(&mut self, turn: &str, text: &str) -> Option<SessionUpdate> {
        if self.turn != turn || self.thoughts.len() + text.len() > STREAM_BYTES_MAX {
            return None;
        }
        self.thoughts.push_str(text);
        Some(SessionUpdate::AgentThoughtChunk(self.piece_of_turn(text.to_owned())))
    }

    /// The whole reply: what of it was not told. Where what was told is not its beginning, it is told whole,
    /// as a message of its own.
    pub(super) fn finish_turn(
        &mut self,
        turn: &str,
        thoughts: &str,
        words: &str,
    ) -> Vec<SessionUpdate> {
        if self.turn != turn {
            self.begin_turn(turn.to_owned());
        }
        let mut updates = Vec::new();
        if let Some(rest) = thoughts.strip_prefix(self.thoughts.as_str()).filter(|r| !r.is_empty())
        {
            updates.push(SessionUpdate::AgentThoughtChunk(self.piece_of_turn(rest.to_owned())));
        }
        match words.strip_prefix(self.words.as_str()) {
            Some("") => (),
            Some(rest) => {
                updates.push(SessionUpdate::AgentMessageChunk(self.piece_of_turn(rest.to_owned())))
            }
            None => {
                self.attempt += 1;
                let whole = format!("\n\n{words}");
                updates.push(SessionUpdate::AgentMessageChunk(self.piece_of_turn(whole)));
            }
        }
        *self = StreamedReply::default();
        updates
    }

    fn piece_of_turn(&self, text: String) -> MessageChunk {
        let id = match self.attempt {
            0 => self.turn.clone(),
            n => format!("{}-{}", self.turn, n + 1),
        };
        message_chunk(text, Some(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ContentBlock;

    fn told(
        updates: impl IntoIterator<Item = SessionUpdate>,
    ) -> Vec<(&'static str, String, String)> {
        let one = |update| match update {
            SessionUpdate::AgentMessageChunk(chunk) => ("says", chunk),
            SessionUpdate::AgentThoughtChunk(chunk) => ("thinks", chunk),
            other => panic!("{other:?}"),
        };
        let read = |(kind, chunk): (_, MessageChunk)| match chunk.content {
            ContentBlock::Text { text } => (kind, chunk.message_id.unwrap_or_default(), text),
            other => panic!("{other:?}"),
        };
        updates.into_iter().map(one).map(read).collect()
    }

    #[test]
    fn f3_a_reply_is_told_once_however_much_of_it_was_streamed() {
        let mut stream = StreamedReply::default();
        stream.begin_turn("t1".into());
        assert_eq!(told(stream.push_words("t1", "Hel")), [("says", "t1".into(), "Hel".into())]);
        assert_eq!(stream.push_words("t0", "old"), None);
        let rest = told(stream.finish_turn("t1", "hm", "Hello"));
        let expected =
            [("thinks", "t1".into(), "hm".into()), ("says", "t1".into(), "lo".to_owned())];
        assert_eq!(rest, expected);
        // Nothing was streamed: a session that is loaded.
        assert_eq!(
            told(stream.finish_turn("t2", "", "Two")),
            [("says", "t2".into(), "Two".into())]
        );
        assert_eq!(told(stream.finish_turn("t3", "", "")), []);
    }

    #[test]
    fn f3_what_was_streamed_in_vain_is_said_to_be_and_the_answer_stands_apart() {
        let mut stream = StreamedReply::default();
        stream.begin_turn("t1".into());
        stream.push_words("t1", "One");
        let cut = told(stream.abandon_turn());
        assert!(cut[0].2.contains("cut off here"), "{cut:?}");
        stream.begin_turn("t1".into());
        assert_eq!(told(stream.push_words("t1", "Tw")), [("says", "t1-2".into(), "Tw".into())]);
        // What a person reads is not what was streamed: it stands whole.
        let whole = told(stream.finish_turn("t1", "", "Zwei"));
        assert_eq!(whole, [("says", "t1-3".into(), "\n\nZwei".into())]);
        assert_eq!(stream.abandon_turn(), None);
    }
}
