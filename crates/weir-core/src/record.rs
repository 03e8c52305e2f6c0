//! The envelope in which a fact is stored, and the hash chain over envelopes (D2); and the envelope of a snapshot
//! of their fold.
//!
//! A store sees records and never looks into their payload. The text of the payload is kept
//! exactly as it was first written, so the chain never depends on how JSON is printed today.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ids::{Seq, SessionId, Timestamp};

/// Hash before the first record of every journal.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Version of the payloads that this program writes (`v` of C6).
pub const VERSION: u16 = 1;

/// Bytes of what is hashed before a payload, roughly.
const HEAD_BYTES: usize = 192;

/// One stored fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Id of the session whose journal it belongs to.
    pub session: SessionId,
    /// Place in it: 1, 2, 3, …
    pub seq: Seq,
    /// When the fact was recorded, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// What kind of fact: `call.judged`.
    pub kind: String,
    /// Version of the payload.
    pub v: u16,
    /// The fields of the kind: one JSON object as text.
    pub payload: String,
    /// Lower-case hex of the SHA-256 over the record before and this one.
    pub hash: String,
}

/// The fold of the first facts of a journal, as it is kept beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSnapshot {
    /// The session.
    pub session: SessionId,
    /// How many facts were folded: the place of the last of them.
    pub seq: Seq,
    /// Hash of the record at that place.
    pub record_hash: String,
    /// [`crate::session::SNAPSHOT_FORMAT`] of the program that made it.
    pub format: String,
    /// The fold, as JSON.
    pub state: Arc<str>,
    /// Lower-case hex of the SHA-256 over everything above.
    pub digest: String,
}

impl Record {
    /// The hash this record must have after `previous`.
    pub fn hash_after(&self, previous: &str) -> String {
        let mut hasher = Sha256::new();
        let mut head = String::with_capacity(HEAD_BYTES);
        write!(
            head,
            "{previous}\n{}\n{}\n{}\n{}\n{}\n",
            self.session, self.seq, self.ts.0, self.kind, self.v
        )
        .expect("a text takes all that is written to it");
        hasher.update(head.as_bytes());
        hasher.update(self.payload.as_bytes());
        encode_hex(&hasher.finalize())
    }
}

/// The first break in a chain of records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// A record is missing or out of order.
    #[error("record {found} stands where record {expected} should be")]
    Gap {
        /// The sequence number that should have come.
        expected: Seq,
        /// The one that came.
        found: Seq,
    },
    /// A record was changed.
    #[error("record {seq} was changed: its hash does not follow from the record before")]
    Changed {
        /// The changed record.
        seq: Seq,
    },
}

/// Checks that `records` are gapless from `first` and that each hash follows from the one before,
/// beginning with `previous`. Returns the last hash.
///
/// # Errors
/// The first break.
pub fn verify_chain(previous: &str, first: Seq, records: &[Record]) -> Result<String, ChainError> {
    let mut last = previous.to_string();
    for (record, expected) in records.iter().zip(first..) {
        if record.seq != expected {
            return Err(ChainError::Gap { expected, found: record.seq });
        }
        if record.hash_after(&last) != record.hash {
            return Err(ChainError::Changed { seq: record.seq });
        }
        last.clone_from(&record.hash);
    }
    Ok(last)
}

/// Lower-case hex.
pub fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = vec![0; bytes.len() * 2];
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    String::from_utf8(out).expect("the digits are ASCII")
}

/// Lower-case hex of the SHA-256 of `bytes`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    encode_hex(&Sha256::digest(bytes))
}

/// The same of these texts, one behind the other.
pub(crate) fn texts_sha256_hex<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    texts.for_each(|text| hasher.update(text.as_bytes()));
    encode_hex(&hasher.finalize())
}
