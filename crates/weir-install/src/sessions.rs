//! Sessions as they are kept: their facts, a summary, the conversation, taken along as a file,
//! removed. Not here: running one (`wiring`, `weir_engine`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join3;
use serde_json::Value;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId};
use weir_core::record::Record;
use weir_core::session::SessionConfig;
use weir_engine::blocking::run_blocking;
use weir_engine::engine::{EngineError, RecordChain};
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{SessionMeta, Store, StoreError};

use crate::failure::{engine_failure, usage};

mod end;
mod export;
mod html;
pub mod last;
mod markdown;
mod removal;
mod summary;
pub mod transcript;
mod used;
mod whole;

pub use end::SessionEnd;
pub use export::{ExportFormat, ExportedSession, export_session};
pub use removal::{remove_all, with_sub_agents};
pub use summary::SessionSummary;
pub use whole::WholeSession;

/// Records that are read at once: few enough that those before them are proved, and shown, meanwhile.
const READ_BATCH: usize = 512;

/// The facts of a session, with its hash chain checked.
pub async fn load_session_facts(
    store: &dyn Store,
    id: &SessionId,
) -> anyhow::Result<Vec<PublishedFact>> {
    let mut facts = Vec::new();
    visit_session_facts(store, id, |fact| facts.push(fact.clone())).await?;
    Ok(facts)
}

/// Visits the facts of a session, the first one first, and keeps none. The hash chain of each is checked before
/// it is visited. While some are visited, the next ones are proved on another thread, and those after them read.
///
/// # Errors
/// It cannot be read, or its chain is broken: the first break is named, and some that stand before it were
/// visited.
pub async fn visit_session_facts(
    store: &dyn Store,
    id: &SessionId,
    mut visit: impl FnMut(&PublishedFact),
) -> anyhow::Result<()> {
    let mut chain = RecordChain::new(id.clone());
    let mut records = store.read_records(id, 1, READ_BATCH).await.map_err(read_failure)?;
    let mut next = 1 + records.len() as Seq;
    let mut proved: Vec<PublishedFact> = Vec::new();
    while !records.is_empty() || !proved.is_empty() {
        let is_end = records.len() < READ_BATCH;
        let reading = async {
            if is_end { Ok(Vec::new()) } else { store.read_records(id, next, READ_BATCH).await }
        };
        let proving = run_blocking(move || prove_records(chain, &records));
        let visiting = async { proved.iter().for_each(&mut visit) };
        // In this order: the read is begun before this thread has other work.
        let (read, proof, ()) = join3(reading, proving, visiting).await;
        (chain, proved) = proof??;
        records = read.map_err(read_failure)?;
        next += records.len() as Seq;
    }
    Ok(())
}

/// Holds `records` against their hash chain, and reads the fact in each.
fn prove_records(
    mut chain: RecordChain,
    records: &[Record],
) -> anyhow::Result<(RecordChain, Vec<PublishedFact>)> {
    chain.hold_records(records).map_err(read_failure)?;
    let facts = records.iter().map(fact_of).collect::<Result<Vec<_>, _>>()?;
    Ok((chain, facts))
}

fn read_failure(error: StoreError) -> anyhow::Error {
    engine_failure(EngineError::Store(error))
}

/// The summary of a session that exists.
pub async fn meta(store: &dyn Store, id: &SessionId) -> anyhow::Result<SessionMeta> {
    let found = store.session_meta(id).await?;
    found.ok_or_else(|| usage(format!("session {id} is no longer in this store")))
}

/// The settings of a session as they are now; `None`: it was never opened.
///
/// # Errors
/// The store cannot be read, or what stands there is not understood.
pub async fn load_settings(
    store: &dyn Store,
    id: &SessionId,
) -> anyhow::Result<Option<Arc<SessionConfig>>> {
    let Some(record) = store.settings_fact(id).await? else { return Ok(None) };
    Ok(match fact_of(&record)?.event.as_ref() {
        Event::SessionOpened(fact) => Some(fact.config.clone()),
        Event::SessionConfigured(fact) => Some(fact.config.clone()),
        Event::ProfileSwitched(fact) => Some(fact.config.clone()),
        _ => None,
    })
}

/// Where a run in the background (`weir run --detach`) prints, below the folder `state`.
pub fn detached_output_file(state: &Path, id: &SessionId) -> PathBuf {
    state.join("detached").join(format!("{id}.log"))
}

/// Where terminals of editors find what commands print, below the folder `state`.
pub fn editor_terminals_folder(state: &Path) -> PathBuf {
    state.join("editor-terminals")
}

/// What the names of a session's files there begin with; the name of a call follows.
pub fn terminal_file_prefix(id: &SessionId) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let plain: String = id.as_str().chars().filter(is_plain).collect();
    format!("{plain}-")
}

/// A fact as the outside sees it (C6).
pub fn line(session: &SessionId, fact: &PublishedFact) -> Value {
    weir_core::view::wire::fact_json(session, fact.seq, fact.ts, &fact.event)
}
