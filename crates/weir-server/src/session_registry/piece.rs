//! A piece of what streams, as it goes from the replica that runs a session to one where somebody
//! follows it: sealed, so that whoever hears what the database announces reads none of it. Not here:
//! who sends it (`live::relay`) and what becomes of it (`live::distant`).

use std::borrow::Cow;

use ring::hmac;
use serde::{Deserialize, Serialize};
use weir_core::ids::Seq;
use weir_engine::hub::SignalKind;
use weir_engine::ports::SignalLine;
use weir_install::failure::InstallationError;
use weir_install::seal::SecretSeal;

use super::SessionKey;

/// Most bytes of a piece's text: sealed, and with its head, it fits into a parcel.
pub(crate) const TEXT_BYTES_MAX: usize = 4_800;

/// A piece of what streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignalChunk {
    /// It comes after this fact and before the next.
    pub(crate) after: Seq,
    /// The kind of the signal.
    pub(crate) kind: SignalKind,
    /// Turn or call.
    pub(crate) subject: String,
    /// The byte of its subject's text with which it begins.
    pub(crate) at: u64,
    /// The text.
    pub(crate) text: String,
}

/// What stands before the text.
#[derive(Serialize, Deserialize)]
struct ChunkHeader<'a> {
    after: Seq,
    kind: ChunkKind,
    #[serde(borrow)]
    subject: Cow<'a, str>,
    at: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChunkKind {
    Text,
    Thinking,
    Output,
}

/// Makes the seal of each line from the key of the installation.
pub(crate) struct LineSeals(hmac::Key);

/// The seal of one line, for one session.
pub(crate) struct LineSeal {
    seal: SecretSeal,
    key: SessionKey,
}

impl SignalChunk {
    /// The byte of its subject's text behind it.
    pub(crate) fn end_offset(&self) -> u64 {
        self.at + self.text.len() as u64
    }

    /// The same in pieces that fit into parcels.
    pub(crate) fn split_parts(self) -> Vec<SignalChunk> {
        let SignalChunk { after, kind, subject, mut at, text } = self;
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (part, more) = rest.split_at(rest.floor_char_boundary(TEXT_BYTES_MAX));
            let (subject, text) = (subject.clone(), part.to_owned());
            parts.push(SignalChunk { after, kind, subject, at, text });
            at += part.len() as u64;
            rest = more;
        }
        parts
    }
}

impl LineSeals {
    /// From the key that the replicas of an installation share.
    pub(crate) fn new(key: &[u8; 32]) -> LineSeals {
        LineSeals(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The seal of `line`: what it seals opens on no other, and in no other session.
    ///
    /// # Errors
    /// Never: it has 32 bytes.
    pub(crate) fn for_line(
        &self,
        key: &SessionKey,
        line: &SignalLine,
    ) -> Result<LineSeal, InstallationError> {
        let name = format!("signals {} {}", line.to, line.number);
        let made = hmac::sign(&self.0, name.as_bytes());
        let bytes = <&[u8; 32]>::try_from(made.as_ref())
            .map_err(|_| InstallationError::Failed("the key of a line cannot be made".into()))?;
        Ok(LineSeal { seal: SecretSeal::new(bytes)?, key: key.clone() })
    }
}

impl LineSeal {
    /// Seals the `n`-th piece of the line.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn seal_chunk(
        &self,
        n: u64,
        piece: &SignalChunk,
    ) -> Result<String, InstallationError> {
        let SignalChunk { after, subject, at, .. } = piece;
        let kind = match piece.kind {
            SignalKind::Text => ChunkKind::Text,
            SignalKind::Thinking => ChunkKind::Thinking,
            SignalKind::Output => ChunkKind::Output,
        };
        let head = ChunkHeader { after: *after, kind, subject: subject.into(), at: *at };
        let head =
            serde_json::to_string(&head).map_err(|e| InstallationError::Failed(e.to_string()))?;
        self.seal.seal(&self.seal_place(n), &format!("{head}\n{}", piece.text))
    }

    /// Opens it.
    ///
    /// # Errors
    /// It was sealed with another key, for another line or session, or as another piece.
    pub(crate) fn open_chunk(&self, n: u64, body: &str) -> Result<SignalChunk, InstallationError> {
        let opened = self.seal.open(&self.seal_place(n), body)?;
        let unclear =
            || InstallationError::Failed("it has another form: another version of Weir".into());
        let (head, text) = opened.split_once('\n').ok_or_else(unclear)?;
        let head: ChunkHeader<'_> = serde_json::from_str(head).map_err(|_| unclear())?;
        let kind = match head.kind {
            ChunkKind::Text => SignalKind::Text,
            ChunkKind::Thinking => SignalKind::Thinking,
            ChunkKind::Output => SignalKind::Output,
        };
        let (after, subject, at) = (head.after, head.subject.into_owned(), head.at);
        Ok(SignalChunk { after, kind, subject, at, text: text.to_owned() })
    }

    fn seal_place(&self, n: u64) -> String {
        format!("what streams in {} {n}", self.key.as_str())
    }
}

#[cfg(test)]
mod tests {
    use weir_engine::ports::SIGNAL_BODY_MAX;

    use super::*;

    fn line(number: u64) -> SignalLine {
        SignalLine { to: "0198-replica".into(), number }
    }

    fn piece(text: &str) -> SignalChunk {
        let (kind, subject) = (SignalKind::Output, "c12345".to_owned());
        SignalChunk { after: u64::MAX, kind, subject, at: u64::MAX / 2, text: text.to_owned() }
    }

    #[test]
    fn s17_a_piece_opens_with_its_house_on_its_line_in_its_session_and_place_alone() {
        let (ann, bob) = (SessionKey("ann/one".into()), SessionKey("bob/one".into()));
        let seals = LineSeals::new(&[7; 32]);
        let seal = seals.for_line(&ann, &line(3)).expect("a seal");
        let piece = piece("{\"a\":\u{1b}[31m\n\nzwei\n");
        let body = seal.seal_chunk(5, &piece).expect("sealed");
        assert!(!body.contains("zwei") && body.is_ascii());
        assert_eq!(seal.open_chunk(5, &body).expect("opened"), piece);
        assert!(seal.open_chunk(6, &body).is_err());
        assert!(seals.for_line(&ann, &line(4)).expect("a seal").open_chunk(5, &body).is_err());
        assert!(seals.for_line(&bob, &line(3)).expect("a seal").open_chunk(5, &body).is_err());
        let other = LineSeals::new(&[8; 32]).for_line(&ann, &line(3)).expect("a seal");
        assert!(other.open_chunk(5, &body).is_err());
        for broken in ["", "x", "AAAA", &body[1..], "ü"] {
            assert!(seal.open_chunk(5, broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn s17_long_text_is_cut_between_characters_and_fits_into_parcels() {
        let seal = LineSeals::new(&[7; 32])
            .for_line(&SessionKey("ann/one".into()), &line(1))
            .expect("a seal");
        for letter in ["\u{1b}", "ä", "語", "🦀"] {
            let text = format!("x{}", letter.repeat(5_000));
            let whole = piece(&text);
            let parts = whole.clone().split_parts();
            assert!(parts.len() > 1);
            let mut at = whole.at;
            for (n, part) in parts.iter().enumerate() {
                assert_eq!(part.at, at);
                at = part.end_offset();
                let body = seal.seal_chunk(n as u64, part).expect("sealed");
                assert!(body.len() <= SIGNAL_BODY_MAX, "{}", body.len());
            }
            let joined: String = parts.into_iter().map(|part| part.text).collect();
            assert_eq!(joined, text);
        }
        assert!(piece("").split_parts().is_empty());
    }
}
