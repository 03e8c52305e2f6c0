//! Whether journals and audit lines are as they were written (G10). Not here: how a store chains
//! its lines (`weir_store`).

use std::path::PathBuf;

use serde::Serialize;
use weir_core::record::{GENESIS, verify_chain};
use weir_engine::blocking::run_blocking;
use weir_engine::ports::{SessionFilter, SessionMeta, Store, StoreError};
use weir_store::{PostgresStore, verify_audit};

/// Facts read at once.
const PAGE: usize = 500;

/// Whether everything is as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AuditVerdict {
    /// It is.
    pub whole: bool,
    /// Audit lines that were looked at.
    pub lines: u64,
    /// Sessions whose journals were looked at.
    pub sessions: u64,
    /// Facts in them.
    pub facts: u64,
    /// What is not: one sentence each, with number or place.
    pub faults: Vec<String>,
}

/// Whose audit lines are checked, and how.
pub enum AuditChainSource {
    /// They stand in a store in this folder, and in files beside it.
    Files(PathBuf),
    /// They stand in one database for everybody.
    Postgres(PostgresStore),
}

/// The number of the last audit line, 0 where there is none; lines have no gaps.
///
/// # Errors
/// The store does not answer.
pub async fn last_line_number(store: &dyn Store) -> Result<u64, StoreError> {
    let (mut there, mut beyond) = (0_u64, 1_u64);
    while !store.audit_lines(beyond, 1).await?.is_empty() {
        there = beyond;
        beyond = beyond.saturating_mul(2);
    }
    while beyond - there > 1 {
        let middle = there + (beyond - there) / 2;
        match store.audit_lines(middle, 1).await?.is_empty() {
            true => beyond = middle,
            false => there = middle,
        }
    }
    Ok(there)
}

/// Whether everything in a store is as it was written.
///
/// # Errors
/// It cannot be read.
pub async fn whole(store: &dyn Store, chained: &AuditChainSource) -> anyhow::Result<AuditVerdict> {
    let audit = match chained {
        AuditChainSource::Files(state) => {
            let state = state.clone();
            run_blocking(move || verify_audit(&state)).await??
        }
        AuditChainSource::Postgres(store) => store.verify_audit().await?,
    };
    let sessions = store.list_sessions(&SessionFilter::default()).await?;
    let mut faults: Vec<String> = audit.fault.iter().map(ToString::to_string).collect();
    let mut facts = 0;
    for meta in &sessions {
        match verify_journal_chain(store, meta).await? {
            Ok(count) => facts += count,
            Err(why) => faults.push(why),
        }
    }
    Ok(AuditVerdict {
        whole: faults.is_empty(),
        lines: audit.lines,
        sessions: sessions.len() as u64,
        facts,
        faults,
    })
}

/// The chain of one journal: how many facts, or the first that is not as it was written.
pub async fn verify_journal_chain(
    store: &dyn Store,
    meta: &SessionMeta,
) -> anyhow::Result<Result<u64, String>> {
    let mut count = 0;
    let mut hash = GENESIS.to_owned();
    loop {
        let records = store.read_records(&meta.id, count + 1, PAGE).await?;
        match verify_chain(&hash, count + 1, &records) {
            Ok(last) => hash = last,
            Err(error) => return Ok(Err(format!("journal of session {}: {error}", meta.id))),
        }
        count += records.len() as u64;
        if records.len() < PAGE {
            break;
        }
    }
    if count < meta.facts {
        let missing = count + 1;
        return Ok(Err(format!("journal of session {}: record {missing} is missing", meta.id)));
    }
    Ok(Ok(count))
}
