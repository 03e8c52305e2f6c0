//! Facts remembered beyond a session (M4): how they are written and read.
//!
//! What becomes of a fact that is said again, and when one takes the place of another, is decided in
//! `weir_core::memory`; how facts are found by words, each database does by its own index.

use weir_core::ids::{MemoryId, Timestamp};
use weir_core::memory::{
    DecidedFact, MemoryDecision, MemoryFact, MemoryOutcome, MemoryStatus, NewMemory,
    decide_about_fact, edited_fact_id, first_said, id_of, said_again, settle_fact, takes_place,
};
use weir_engine::ports::StoreError;

use crate::journal::check_inbox;
use crate::sql::{SqlConnection, SqlRow, SqlStatement, SqlText, fetch_number, sql};

pub(crate) const REMEMBERING: &str = "remembering a fact";

const WAITING: SqlText = sql!("SELECT count(*) FROM memories WHERE status = $1");
const SAID: SqlText = sql!(
    "INSERT INTO memories_said (id, session, call) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING"
);
const FACT: SqlText = sql!("SELECT fact FROM memories WHERE id = $1");

/// A connection that can write a fact with what it is found by.
pub(crate) trait MemoryIndex: SqlConnection {
    fn write_fact(
        &mut self,
        fact: &MemoryFact,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Remembers what was said. Within a transaction that nobody else remembers in.
pub(crate) async fn remember_fact<C: MemoryIndex>(
    connection: &mut C,
    new: &NewMemory,
    now: Timestamp,
) -> Result<MemoryFact, StoreError> {
    let id = id_of(&new.text, new.workspace.as_deref());
    let old = read_fact(connection, &id).await?;
    let news = note_sayer(connection, &id, new).await?;
    let fact = match old {
        Some(old) if !news => return Ok(old),
        Some(old) => said_again(&old, new, now),
        None => {
            let statement = SqlStatement::new(WAITING).bind(status_word(MemoryStatus::Proposed));
            let waiting = fetch_number(connection, REMEMBERING, statement).await?;
            check_inbox(new.status, usize::try_from(waiting).unwrap_or(usize::MAX))?;
            first_said(new, now)
        }
    };
    connection.write_fact(&fact).await?;
    if new.supersedes.is_some() && new.supersedes == fact.fact.supersedes {
        supersede_older(connection, &fact, now, false).await?;
    }
    Ok(fact)
}

/// Does what a person decided about a fact. Within a transaction as above, so that it is still the
/// fact that was looked at.
pub(crate) async fn settle_stored_fact<C: MemoryIndex>(
    connection: &mut C,
    id: &MemoryId,
    decision: &MemoryDecision,
    now: Timestamp,
) -> Result<MemoryOutcome, StoreError> {
    let Some(old) = read_fact(connection, id).await? else { return Ok(MemoryOutcome::Missing) };
    let same = match edited_fact_id(&old, decision) {
        Some(id) => read_fact(connection, &id).await?,
        None => None,
    };
    let Some(decided) = decide_about_fact(&old, same.as_ref(), decision, now) else {
        return Ok(MemoryOutcome::Changed(Box::new(old)));
    };
    let DecidedFact { fact, replaced } = decided;
    if let Some(replaced) = &replaced {
        connection.write_fact(replaced).await?;
    }
    connection.write_fact(&fact).await?;
    supersede_older(connection, &fact, now, true).await?;
    Ok(MemoryOutcome::Settled(Box::new(fact)))
}

/// Whether it says something new: a call that recovery repeats does not, nor does a session that is
/// looked through twice.
async fn note_sayer<C: SqlConnection>(
    connection: &mut C,
    id: &MemoryId,
    new: &NewMemory,
) -> Result<bool, StoreError> {
    let Some(session) = &new.source.session else { return Ok(true) };
    let call = new.source.call.map(|call| call.to_string()).unwrap_or_default();
    let statement = SqlStatement::new(SAID).bind(id.as_str()).bind(session.as_str()).bind(call);
    Ok(connection.change_rows(REMEMBERING, statement).await? > 0)
}

async fn read_fact<C: SqlConnection>(
    connection: &mut C,
    id: &MemoryId,
) -> Result<Option<MemoryFact>, StoreError> {
    let statement = SqlStatement::new(FACT).bind(id.as_str());
    let rows = connection.fetch_rows(REMEMBERING, statement).await?;
    rows.first().map(|row| row.json(0, "a remembered fact")).transpose()
}

async fn supersede_older<C: MemoryIndex>(
    connection: &mut C,
    newer: &MemoryFact,
    now: Timestamp,
    by_person: bool,
) -> Result<(), StoreError> {
    let Some(id) = &newer.fact.supersedes else { return Ok(()) };
    match read_fact(connection, id).await? {
        Some(older) if takes_place(newer, &older, by_person) => {
            let mut older = settle_fact(&older, MemoryStatus::Superseded, now);
            older.superseded_by = Some(newer.id.clone());
            connection.write_fact(&older).await
        }
        Some(_) | None => Ok(()),
    }
}

/// The facts in the first column of some rows.
pub(crate) fn read_facts(rows: &[impl SqlRow]) -> Vec<MemoryFact> {
    let mut facts = Vec::with_capacity(rows.len());
    for row in rows {
        match row.json(0, "a remembered fact") {
            Ok(fact) => facts.push(fact),
            // A newer Weir may know more kinds and states. The others must not be lost for that.
            Err(error) => tracing::debug!(%error, "a remembered fact cannot be read"),
        }
    }
    facts
}

/// The word for a state, as in its JSON.
pub(crate) fn status_word(status: MemoryStatus) -> String {
    let value = serde_json::to_value(status).ok();
    value.and_then(|value| value.as_str().map(str::to_string)).unwrap_or_default()
}
