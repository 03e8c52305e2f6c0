//! Sessions, facts and appends for the tests.

use std::sync::Arc;

use serde_json::json;
use weir_core::ids::{BlobId, SessionId, Timestamp};
use weir_core::record::{GENESIS, Record, sha256_hex};
use weir_engine::ports::{Append, AuditEntry, Lease, LeaseOwner, SessionMeta, Store};

/// Half past three on the second of January 2026, UTC.
pub(crate) const NOON: i64 = 1_767_367_800_000_000;

/// An owner that is certainly not alive.
pub(crate) fn dead_owner(label: &str) -> LeaseOwner {
    LeaseOwner { pid: 1, started: 1, host: "an earlier boot".into(), label: label.into() }
}

pub(crate) fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId::new(sha256_hex(bytes))
}

/// The writer of one session: makes appends that fit.
pub(crate) struct Scribe {
    pub(crate) lease: Lease,
    pub(crate) facts: u64,
    pub(crate) last: String,
}

impl Scribe {
    pub(crate) async fn new(store: &dyn Store, session: &str) -> Scribe {
        let id = SessionId::new(session);
        let lease =
            store.acquire_lease(&id, &weir_store::this_process("test")).await.expect("free");
        Scribe { lease, facts: 0, last: GENESIS.to_string() }
    }

    /// The next `count` facts.
    pub(crate) fn records(&self, count: u64) -> Vec<Record> {
        let mut last = self.last.clone();
        (self.facts + 1..=self.facts + count)
            .map(|seq| {
                let mut record = Record {
                    session: self.lease.session.clone(),
                    seq,
                    ts: Timestamp(NOON + seq.cast_signed()),
                    kind: "input.accepted".to_string(),
                    v: 1,
                    payload: json!({ "text": format!("fact {seq} \u{0} ü 🎉 \" \\") }).to_string(),
                    hash: String::new(),
                };
                record.hash = record.hash_after(&last);
                last.clone_from(&record.hash);
                record
            })
            .collect()
    }

    /// An append of the next `count` facts, and nothing else.
    pub(crate) fn next(&self, count: u64) -> Append {
        Append::of_records(
            self.lease.clone(),
            self.facts,
            self.records(count),
            self.meta(self.facts + count),
        )
    }

    pub(crate) fn meta(&self, facts: u64) -> SessionMeta {
        SessionMeta {
            id: self.lease.session.clone(),
            workspace: "/home/ada/loom".into(),
            title: "Weave".into(),
            model: "test/model".into(),
            profile: "code".into(),
            status: "idle".into(),
            created: Timestamp(NOON),
            updated: Timestamp(NOON + facts.cast_signed()),
            facts,
            parent: None,
        }
    }

    /// Notes that `append` was stored.
    pub(crate) fn wrote(&mut self, append: &Append) {
        self.facts += append.records.len() as u64;
        if let Some(last) = append.records.last() {
            self.last.clone_from(&last.hash);
        }
    }

    /// Writes `count` facts.
    pub(crate) async fn write(&mut self, store: &dyn Store, count: u64) {
        let append = self.next(count);
        store.append(append.clone()).await.expect("this append fits");
        self.wrote(&append);
    }

    /// Writes one fact with an audit line.
    pub(crate) async fn write_audited(&mut self, store: &dyn Store, what: &str) {
        let append = self.next_audited(what);
        store.append(append.clone()).await.expect("this append fits");
        self.wrote(&append);
    }

    pub(crate) fn next_audited(&self, what: &str) -> Append {
        let mut append = self.next(1);
        append.audit = vec![self.audit_entry(self.facts + 1, what)];
        append
    }

    pub(crate) fn audit_entry(&self, seq: u64, what: &str) -> AuditEntry {
        AuditEntry {
            ts: Timestamp(NOON + seq.cast_signed()),
            session: self.lease.session.clone(),
            seq,
            fields: json!({ "z": what, "a": 0.1, "verdict": "allow" }),
        }
    }

    /// Writes one fact with a passage that `search` finds.
    pub(crate) async fn write_text(&mut self, store: &dyn Store, text: &str) {
        let mut append = self.next(1);
        append.texts = vec![indexed(self.facts + 1, text)];
        store.append(append.clone()).await.expect("this append fits");
        self.wrote(&append);
    }

    /// Writes one fact with bytes beside it.
    pub(crate) async fn write_blob(&mut self, store: &dyn Store, bytes: &[u8]) -> BlobId {
        let mut append = self.next(1);
        let id = blob_id(bytes);
        append.blobs = vec![(id.clone(), Arc::from(bytes))];
        store.append(append.clone()).await.expect("this append fits");
        self.wrote(&append);
        id
    }
}

/// A text of a fact as the store gets it.
pub(crate) fn indexed(
    seq: weir_core::ids::Seq,
    text: impl Into<String>,
) -> weir_engine::ports::IndexedText {
    weir_engine::ports::IndexedText { seq, call: None, subject: String::new(), text: text.into() }
}
