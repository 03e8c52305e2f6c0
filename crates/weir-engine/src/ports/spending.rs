//! Caps on what sessions have in common: a day, a person, a schedule, a whole server (R11). Not here: how
//! they are held (`spending`), and the caps of one run or session, which its own journal knows.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::ids::Timestamp;
use weir_core::profile::LimitName;

use super::StoreError;

/// One cap.
#[derive(Debug, Clone, PartialEq)]
pub struct SpendingCap {
    /// Which: one of those of which [`LimitName::is_shared_money`] says so.
    pub limit: LimitName,
    /// The most, in US dollars, in its span of time.
    pub max_usd: f64,
    /// Only what this scheduled agent spends counts; `None`: everything of the person.
    pub agent: Option<String>,
    /// A model whose price nobody knows passes: something else bounds it (tokens of each run).
    /// Otherwise it is refused, since an unknown price is never nothing.
    pub lets_unpriced_pass: bool,
}

/// The caps under which a session asks models, beside those of its own.
#[derive(Clone, Default)]
pub struct SpendingCaps {
    /// Caps of the person whose session it is.
    pub own: Vec<SpendingCap>,
    /// The cap of everybody together, and where that is kept; none: there is no such cap.
    pub server: Option<ServerSpending>,
}

impl SpendingCaps {
    /// Whether there is nothing to hold.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.server.is_none()
    }
}

/// What everybody on a server may spend together on one day.
#[derive(Clone)]
pub struct ServerSpending {
    /// The most, in US dollars.
    pub max_usd: f64,
    /// Where it is counted.
    pub book: Arc<dyn ServerBook>,
}

/// What everybody on a server spent, and what they are about to spend.
#[async_trait]
pub trait ServerBook: Send + Sync {
    /// What everybody spent on `day` (UTC, `2026-01-02`), in US dollars: what is durable.
    ///
    /// # Errors
    /// Somebody's store does not answer.
    async fn spent_on(&self, day: &str) -> Result<f64, StoreError>;
    /// The text that is kept for all replicas, and its version; 0: there is none.
    ///
    /// # Errors
    /// The database does not answer.
    async fn read_book(&self, now: Timestamp) -> Result<(u64, String), StoreError>;
    /// Keeps another text where the version is still this one; whether it was.
    ///
    /// # Errors
    /// The database does not answer.
    async fn replace_book(
        &self,
        text: String,
        version: u64,
        now: Timestamp,
    ) -> Result<bool, StoreError>;
}
