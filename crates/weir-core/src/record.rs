//! The envelope in which a fact is stored, and the hash chain over envelopes (D2); and the envelope of a snapshot
//! of their fold.
//!
//! A store sees records and never looks into their payload. The text of the payload is kept
//! exactly as it was first written, so the chain never depends on how JSON is printed today.

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
/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;
/// What bytes are written with.
const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

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
        encode_hex(&self.digest_after(previous, &mut String::with_capacity(HEAD_BYTES)))
    }

    /// The bytes of that hash. `head` is room for what is hashed before the payload: whoever hashes many records
    /// makes it once.
    fn digest_after(&self, previous: &str, head: &mut String) -> [u8; DIGEST_BYTES] {
        let Record { session, seq, ts, kind, v, payload, hash: _ } = self;
        head.clear();
        push_line(head, previous);
        push_line(head, session.as_str());
        push_number_line(head, *seq, "");
        push_number_line(head, ts.0.unsigned_abs(), if ts.0 < 0 { "-" } else { "" });
        push_line(head, kind);
        push_number_line(head, u64::from(*v), "");
        let mut hasher = Sha256::new();
        hasher.update(head.as_bytes());
        hasher.update(payload.as_bytes());
        hasher.finalize().into()
    }
}

fn push_line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// A number as `{}` writes it. Three of them stand in what is hashed of every fact, and to format them took as long
/// as a good part of its hash.
fn push_number_line(out: &mut String, mut number: u64, sign: &str) {
    let mut digits = [b'0'; u64::MAX.ilog10() as usize + 1];
    let mut from = digits.len() - 1;
    loop {
        digits[from] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
        from -= 1;
    }
    out.push_str(sign);
    out.extend(digits[from..].iter().map(|digit| char::from(*digit)));
    out.push('\n');
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
    let mut last = previous;
    let mut head = String::with_capacity(HEAD_BYTES);
    for (record, expected) in records.iter().zip(first..) {
        if record.seq != expected {
            return Err(ChainError::Gap { expected, found: record.seq });
        }
        if !is_hex_of(&record.digest_after(last, &mut head), &record.hash) {
            return Err(ChainError::Changed { seq: record.seq });
        }
        last = &record.hash;
    }
    Ok(last.to_owned())
}

/// Whether `text` is what [`encode_hex`] makes of `bytes`.
fn is_hex_of(bytes: &[u8], text: &str) -> bool {
    let pairs = text.as_bytes().chunks_exact(2);
    text.len() == bytes.len() * 2 && pairs.zip(bytes).all(|(pair, byte)| pair == hex_pair(*byte))
}

fn hex_pair(byte: u8) -> [u8; 2] {
    [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]
}

/// Lower-case hex.
pub fn encode_hex(bytes: &[u8]) -> String {
    let mut out = vec![0; bytes.len() * 2];
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&hex_pair(*byte));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> Vec<Record> {
        let mut last = GENESIS.to_owned();
        let record = |seq: Seq| {
            let mut record = Record {
                session: SessionId::new("s"),
                seq,
                ts: Timestamp(7),
                kind: "run.started".into(),
                v: VERSION,
                payload: format!("{{\"run\":\"r{seq}\"}}"),
                hash: String::new(),
            };
            record.hash = record.hash_after(&last);
            last.clone_from(&record.hash);
            record
        };
        (1..=3).map(record).collect()
    }

    #[test]
    fn d2_what_is_hashed_is_written_as_it_always_was() {
        for (seq, ts, v) in [
            (0, 0, 0),
            (1, 7, VERSION),
            (10, -10, 10),
            (u64::MAX, i64::MIN, u16::MAX),
            (7_008, 1_796_118_206_308_484, 1),
        ] {
            let (session, ts, kind) = (SessionId::new("s"), Timestamp(ts), "run.started");
            let (kind, payload, hash) = (kind.to_owned(), "{}".to_owned(), String::new());
            let text = format!("{GENESIS}\n{session}\n{seq}\n{}\n{kind}\n{v}\n{payload}", ts.0);
            let record = Record { session, seq, ts, kind, v, payload, hash };
            assert_eq!(record.hash_after(GENESIS), sha256_hex(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn d2_only_the_hash_as_it_is_written_follows() {
        let records = chain();
        let hash = &records[1].hash;
        assert_eq!(verify_chain(GENESIS, 1, &records).as_ref(), Ok(&records[2].hash));
        assert_eq!(verify_chain(GENESIS, 1, &[]).as_deref(), Ok(GENESIS));
        for other in [hash.to_uppercase(), hash[1..].into(), format!("{hash}0"), String::new()] {
            let mut changed = records.clone();
            changed[1].hash = other;
            let found = verify_chain(GENESIS, 1, &changed);
            assert_eq!(found, Err(ChainError::Changed { seq: 2 }), "{:?}", changed[1].hash);
        }
        let gap = verify_chain(GENESIS, 1, &[records[0].clone(), records[2].clone()]);
        assert_eq!(gap, Err(ChainError::Gap { expected: 2, found: 3 }));
    }
}
