//! Sessions as they are kept: their facts, a summary, the conversation, taken along as a file,
//! removed. Not here: running one (`wiring`, `weir_engine`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use weir_core::event::Event;
use weir_core::ids::SessionId;
use weir_core::session::SessionConfig;
use weir_engine::engine::VerifiedRecords;
use weir_engine::hub::PublishedFact;
use weir_engine::ledger::fact_of;
use weir_engine::ports::{SessionMeta, Store};

use crate::failure::{engine_failure, usage};

mod export;
mod html;
pub mod last;
mod markdown;
mod removal;
mod summary;
pub mod transcript;
mod whole;

pub use export::{ExportFormat, ExportedSession, export_session};
pub use removal::{remove_all, with_sub_agents};
pub use summary::SessionSummary;
pub use whole::WholeSession;

/// Records that are read at once.
const READ_BATCH: usize = 1_024;

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
/// it is visited.
///
/// # Errors
/// It cannot be read, or its chain is broken: the first break is named, and some that stand before it were
/// visited.
pub async fn visit_session_facts(
    store: &dyn Store,
    id: &SessionId,
    mut visit: impl FnMut(&PublishedFact),
) -> anyhow::Result<()> {
    let mut verified = VerifiedRecords::new(store, id);
    loop {
        let records = verified.next_batch(READ_BATCH).await.map_err(engine_failure)?;
        if records.is_empty() {
            return Ok(());
        }
        for record in &records {
            visit(&fact_of(record)?);
        }
    }
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
