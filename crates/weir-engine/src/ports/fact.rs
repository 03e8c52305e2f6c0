//! A fact as readers get it, and as the store has it. Not here: what facts there are (`weir_core::event`).

use std::sync::Arc;

use weir_core::event::Event;
use weir_core::ids::{Seq, Timestamp};
use weir_core::record::Record;

use super::StoreError;
use crate::openings::read_event;

/// A fact as readers get it.
#[derive(Debug, Clone)]
pub struct PublishedFact {
    /// Place in the journal.
    pub seq: Seq,
    /// When the fact was recorded, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// The fact itself.
    pub event: Arc<Event>,
}

/// Reads the fact in a record.
pub fn fact_of(record: &Record) -> Result<PublishedFact, StoreError> {
    let event = read_event(&record.kind, &record.payload).map_err(|error| StoreError::Damaged {
        what: format!("fact {} of session {}", record.seq, record.session),
        why: error.to_string(),
    })?;
    Ok(PublishedFact { seq: record.seq, ts: record.ts, event })
}
