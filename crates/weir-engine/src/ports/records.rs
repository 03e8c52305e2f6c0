//! What a server keeps beside sessions: people, sign-ins, settings, links. Not here: what any of
//! it means.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use super::StoreError;

/// One thing that a server keeps: small, found by its kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordEntry {
    /// The kind of the entry: `person`, `login`, `setting`, …
    pub kind: String,
    /// Its name: one of each kind.
    pub name: String,
    /// Whose it is; empty: the installation's.
    pub owner: String,
    /// The whole of it, as JSON.
    pub text: String,
    /// 1, 2, 3, …: grows with each change.
    pub version: u64,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// When it was last changed.
    pub ts: Timestamp,
}

/// The outcome of putting an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is kept, with this version.
    Kept(u64),
    /// Somebody was quicker: it has this version now (0: there is none).
    Changed(u64),
}

/// What a server keeps beside sessions. One contract, the same tests for every store (D1).
#[async_trait]
pub trait Records: Send + Sync {
    /// One entry, unless it has ended by `now`.
    async fn get(
        &self,
        kind: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<RecordEntry>, StoreError>;
    /// All entries of a kind that have not ended by `now`, by name. `owner`: only theirs.
    async fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<RecordEntry>, StoreError>;
    /// Keeps an entry; its own `version` says nothing. `expected`: only if it has this version now
    /// (0: only if there is none, or it has ended); `None`: whatever is there. Durable when it
    /// returns.
    async fn put(
        &self,
        entry: &RecordEntry,
        expected: Option<u64>,
    ) -> Result<PutOutcome, StoreError>;
    /// Takes an entry away; whether it was there.
    async fn remove(&self, kind: &str, name: &str) -> Result<bool, StoreError>;
    /// Takes everything of an owner away; how many.
    async fn remove_owned(&self, owner: &str) -> Result<u64, StoreError>;
    /// Takes away what has ended by `now`; how many.
    async fn purge(&self, now: Timestamp) -> Result<u64, StoreError>;
    /// Whether the database answers: for `/readyz`.
    async fn check_alive(&self) -> Result<(), StoreError>;
    /// Returns when an entry may have changed, also by another process.
    async fn wait_for_change(&self);
}
