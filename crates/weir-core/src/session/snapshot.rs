//! A session as bytes and back: a snapshot of the fold, so that a long journal need not be folded from
//! its beginning to go on (Q10). Not here: where it is kept, and when one is made (the engine).
//!
//! The journal decides. A snapshot is derived and can be thrown away at any time; whatever does not fit
//! (another program, another journal, changed bytes) is an error here, and whoever reads it folds the
//! journal instead. What it vouches for is that these bytes are the ones that were written, by a program
//! of exactly these sources, when the journal had so many records and the last had this hash. It does
//! not prove the records before: who wants that follows the chain (`weir audit verify`, `weir replay`).

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::ids::SessionId;
pub use crate::record::SessionSnapshot;
use crate::record::{Record, encode_hex};

use super::Session;

/// The program that a snapshot is for: the crate's version, and a number over all of its sources. A
/// snapshot of any other is not read: a field may be missing in it, or a rule of the fold be another.
pub const SNAPSHOT_FORMAT: &str =
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("WEIR_CORE_SOURCES"));

/// Why a snapshot is not used. The journal is folded instead.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Another program made it.
    #[error("it was made by another version ({found})")]
    OtherFormat {
        /// The format that stands in it.
        found: String,
    },
    /// It is of another session, or of another place than its fold says.
    #[error("it is not the one of this session at this place")]
    OtherPlace,
    /// Its bytes are not those that were written.
    #[error("its bytes were changed")]
    Changed,
    /// The fold cannot be written or read.
    #[error("its fold cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

impl Session {
    /// The fold so far, to be kept beside the journal whose last record has this hash. What is of this
    /// life of the program alone (which permits were issued) is not in it.
    ///
    /// # Errors
    /// Something in it has no form as JSON.
    pub fn to_snapshot(
        &self,
        record_hash: impl Into<String>,
    ) -> Result<SessionSnapshot, SnapshotError> {
        let mut snapshot = SessionSnapshot {
            session: self.id.clone(),
            seq: self.facts,
            record_hash: record_hash.into(),
            format: SNAPSHOT_FORMAT.to_owned(),
            state: Arc::from(serde_json::to_string(self)?),
            digest: String::new(),
        };
        snapshot.digest = snapshot.compute_digest();
        Ok(snapshot)
    }
}

/// A number over the text of a source file, for formats of folds that it decides: another text, another
/// number.
pub const fn source_number(source: &[u8]) -> u64 {
    // FNV-1a, which can be computed while the program is built.
    let (mut number, mut at) = (0xcbf2_9ce4_8422_2325_u64, 0);
    while at < source.len() {
        number = (number ^ source[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    number
}

impl SessionSnapshot {
    /// A fold of another kind than a session: `state` is what the facts up to `last` come to. `format`:
    /// which program reads it, and what it is.
    pub fn of_state(last: &Record, format: String, state: String) -> SessionSnapshot {
        let mut snapshot = SessionSnapshot {
            session: last.session.clone(),
            seq: last.seq,
            record_hash: last.hash.clone(),
            format,
            state: Arc::from(state),
            digest: String::new(),
        };
        snapshot.digest = snapshot.compute_digest();
        snapshot
    }

    /// What it holds, where it has this format and its bytes are those that were written.
    ///
    /// # Errors
    /// Why it is not used.
    pub fn checked_state(&self, format: &str) -> Result<&str, SnapshotError> {
        if self.format != format {
            return Err(SnapshotError::OtherFormat { found: self.format.clone() });
        }
        if self.digest != self.compute_digest() {
            return Err(SnapshotError::Changed);
        }
        Ok(&self.state)
    }

    /// The fold of `session` that it holds, exactly as folding the journal up to there gives it.
    ///
    /// # Errors
    /// Why it is not used; never a panic, whatever its bytes are.
    pub fn restore(&self, session: &SessionId) -> Result<Session, SnapshotError> {
        let mut restored: Session = serde_json::from_str(self.checked_state(SNAPSHOT_FORMAT)?)?;
        let is_here = restored.id == *session && self.session == *session;
        let is_whole =
            restored.facts == self.seq && restored.origins.len() == restored.history.len();
        if !is_here || !is_whole {
            return Err(SnapshotError::OtherPlace);
        }
        // What the settings and the session have in common was one and is two copies now.
        if let Some(config) = &restored.config
            && config.tools == restored.tools
        {
            restored.tools = config.tools.clone();
        }
        Ok(restored)
    }

    /// Whether `record` is the one that it was made after.
    pub fn is_made_after(&self, record: &Record) -> bool {
        record.session == self.session && record.seq == self.seq && record.hash == self.record_hash
    }

    fn compute_digest(&self) -> String {
        let SessionSnapshot { session, seq, record_hash, format, state, digest: _ } = self;
        let mut hasher = Sha256::new();
        // Each with its length: no two snapshots are one text.
        for part in [session.as_str(), &seq.to_string(), record_hash, format, state] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        encode_hex(&hasher.finalize())
    }
}

/// Facts that follow and are not journaled yet: each as its kind and the text of its fields.
pub(super) mod facts_due {
    use std::collections::VecDeque;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    use crate::event::Event;

    pub(in crate::session) fn serialize<S: Serializer>(
        due: &VecDeque<Event>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let facts: Vec<(&str, String)> =
            due.iter().map(|event| (event.kind(), event.payload())).collect();
        facts.serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<VecDeque<Event>, D::Error> {
        let facts = Vec::<(String, String)>::deserialize(deserializer)?;
        let read = |(kind, payload): &(String, String)| Event::from_payload(kind, payload);
        facts.iter().map(read).collect::<Result<_, _>>().map_err(de::Error::custom)
    }
}

/// A moment by its microseconds: as a date, one that no calendar reaches would be another.
pub(super) mod exact_time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::ids::Timestamp;

    pub(in crate::session) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.0.serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp)
    }
}

/// The same where there may be none.
pub(super) mod exact_optional_time {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::ids::Timestamp;

    pub(in crate::session) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(Timestamp))
    }
}

/// A sum of money by its bits: JSON has no infinity, and an unknown sum is another thing than one that is
/// beyond all bounds.
pub(super) mod exact_sum {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::session) fn serialize<S: Serializer>(
        sum: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        sum.map(f64::to_bits).serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(f64::from_bits))
    }
}

/// A JSON value that there may be none of: `null` is a value.
pub(super) mod exact_value {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(in crate::session) fn serialize<S: Serializer>(
        value: &Option<Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_slice().serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Value>, D::Error> {
        Ok(Vec::<Value>::deserialize(deserializer)?.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::super::switch_tests::config;
    use super::*;
    use crate::ids::Timestamp;
    use crate::input::{PersonCommand, PersonMessage, SessionCommand, SessionInput};
    use crate::message::MessageBlock;
    use crate::profile::PermissionMode;

    /// A session that was told something and has begun to act on it.
    fn begun() -> Session {
        let mut session = Session::new(SessionId::new("s"));
        let config = Arc::new(config("ask", PermissionMode::Ask));
        let open = SessionCommand::Open { engine: "test".into(), config, parent: None };
        session.handle(Timestamp(1), SessionInput::Command(open));
        let content = vec![MessageBlock::text("words \u{0} ü 🎉 \" \\")];
        let say = PersonCommand::from(PersonMessage { content, ..PersonMessage::default() });
        session.handle(Timestamp(2), SessionInput::Command(say.sent_by("ann")));
        session
    }

    fn signed(state: &str, of: &SessionSnapshot) -> SessionSnapshot {
        let mut snapshot = SessionSnapshot { state: Arc::from(state), ..of.clone() };
        snapshot.digest = snapshot.compute_digest();
        snapshot
    }

    #[test]
    fn q10_a_snapshot_holds_what_the_fold_is() {
        let mut session = begun();
        // What no calendar, no JSON number and no absent value stand for.
        session.last = Timestamp(i64::MAX);
        session.cost = Some(f64::INFINITY);
        let run = session.run.as_mut().expect("a run is on");
        run.cost = Some(0.1 + 0.2);
        run.output = Some(serde_json::Value::Null);
        let snapshot = session.to_snapshot("hash").expect("it has a form");
        let restored = snapshot.restore(session.id()).expect("it is whole");
        assert_eq!(format!("{restored:?}"), format!("{session:?}"));
        let config = restored.config.as_ref().expect("settings");
        assert!(Arc::ptr_eq(&config.tools, &restored.tools), "kept once");
    }

    #[test]
    fn q10_what_belongs_to_one_life_of_the_program_is_not_in_a_snapshot() {
        let mut session = begun();
        session.issued.insert(crate::ids::CallId(1));
        let snapshot = session.to_snapshot("hash").expect("it has a form");
        assert!(snapshot.restore(session.id()).expect("it is whole").issued.is_empty());
    }

    #[test]
    fn q10_a_snapshot_of_another_program_session_or_place_is_not_used() {
        let session = begun();
        let snapshot = session.to_snapshot("hash").expect("it has a form");
        let restored = |snapshot: &SessionSnapshot| snapshot.restore(&SessionId::new("s"));
        assert!(restored(&snapshot).is_ok());
        let other = SessionSnapshot { format: "0.0.1+0".into(), ..snapshot.clone() };
        assert!(matches!(restored(&other), Err(SnapshotError::OtherFormat { .. })));
        let elsewhere = snapshot.restore(&SessionId::new("t"));
        assert!(matches!(elsewhere, Err(SnapshotError::OtherPlace)));
        let later = SessionSnapshot { seq: snapshot.seq + 1, ..snapshot.clone() };
        assert!(matches!(restored(&later), Err(SnapshotError::Changed)));
        let later = signed(&snapshot.state, &later);
        assert!(matches!(restored(&later), Err(SnapshotError::OtherPlace)));
        let after = SessionSnapshot { record_hash: "another".into(), ..snapshot };
        assert!(matches!(restored(&after), Err(SnapshotError::Changed)));
    }

    #[test]
    fn q10_it_is_made_after_one_record_only() {
        let snapshot = begun().to_snapshot("hash").expect("it has a form");
        let record = Record {
            session: snapshot.session.clone(),
            seq: snapshot.seq,
            ts: Timestamp(2),
            kind: "run.started".into(),
            v: 1,
            payload: "{}".into(),
            hash: "hash".into(),
        };
        assert!(snapshot.is_made_after(&record));
        let earlier = Record { seq: record.seq - 1, ..record.clone() };
        let other = Record { hash: "other".into(), ..record.clone() };
        let foreign = Record { session: SessionId::new("t"), ..record };
        for record in [earlier, other, foreign] {
            assert!(!snapshot.is_made_after(&record));
        }
    }

    #[test]
    fn q10_torn_and_changed_bytes_are_never_taken_for_a_fold() {
        let session = begun();
        let snapshot = session.to_snapshot("hash").expect("it has a form");
        let state = snapshot.state.to_string();
        let cuts = (0..state.len()).step_by(97).filter(|cut| state.is_char_boundary(*cut));
        for cut in cuts {
            let torn = SessionSnapshot { state: Arc::from(&state[..cut]), ..snapshot.clone() };
            assert!(matches!(torn.restore(session.id()), Err(SnapshotError::Changed)), "{cut}");
            // Whoever can compute the digest of half a text still has no fold.
            let torn = signed(&state[..cut], &snapshot).restore(session.id());
            assert!(matches!(torn, Err(SnapshotError::Unreadable(_))), "{cut}");
            for byte in [b'0', b'}', b'"', b'n'] {
                let mut bytes = state.clone().into_bytes();
                bytes[cut] = byte;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let changed = SessionSnapshot { state: Arc::from(&*text), ..snapshot.clone() };
                assert_eq!(changed.restore(session.id()).is_ok(), text == state, "{cut}");
                // It may be another fold; it is no panic.
                let _ = signed(&text, &snapshot).restore(session.id());
            }
        }
        for hostile in ["", "null", "[]", "{}", &"[".repeat(100_000)] {
            assert!(signed(hostile, &snapshot).restore(session.id()).is_err());
        }
    }
}
