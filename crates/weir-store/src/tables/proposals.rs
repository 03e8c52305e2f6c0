//! What was put before the person: how it is written and read.

use weir_engine::ports::{Proposal, StoreError};

use crate::journal::check_proposals;
use crate::sql::{
    READING, SqlConnection, SqlRow, SqlStatement, SqlText, fetch_number, sql, to_json,
};

pub(crate) const PROPOSING: &str = "putting something before the person";
const WITHDRAWING: &str = "taking a proposal away";

const OTHERS: SqlText = sql!("SELECT count(*) FROM proposals WHERE what = $1 AND name <> $2");
const PROPOSE: SqlText = sql!("INSERT INTO proposals (what, name, text, source, label, ts)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (" owner "what, name) DO UPDATE SET
  text = excluded.text, source = excluded.source, label = excluded.label, ts = excluded.ts");
const WITHDRAW: SqlText = sql!("DELETE FROM proposals WHERE what = $1 AND name = $2");
const LIST: SqlText = sql!("SELECT what, name, text, source, label, ts FROM proposals
  WHERE what = $1 ORDER BY ts, name" bytewise);

/// Writes a proposal, if there is room for it. Within a transaction that nobody else proposes in.
pub(crate) async fn write_proposal<C: SqlConnection>(
    connection: &mut C,
    proposal: &Proposal,
) -> Result<(), StoreError> {
    let others = SqlStatement::new(OTHERS).bind(&proposal.what).bind(&proposal.name);
    let others = fetch_number(connection, PROPOSING, others).await?;
    check_proposals(&proposal.what, usize::try_from(others).unwrap_or(usize::MAX))?;
    let statement = SqlStatement::new(PROPOSE)
        .bind(&proposal.what)
        .bind(&proposal.name)
        .bind(&proposal.text)
        .bind(to_json(PROPOSING, &proposal.source)?)
        .bind(to_json(PROPOSING, &proposal.label)?)
        .bind(proposal.ts);
    connection.change_rows(PROPOSING, statement).await.map(drop)
}

/// Takes a proposal away; whether there was one.
pub(crate) async fn withdraw_proposal<C: SqlConnection>(
    connection: &mut C,
    what: &str,
    name: &str,
) -> Result<bool, StoreError> {
    let statement = SqlStatement::new(WITHDRAW).bind(what).bind(name);
    Ok(connection.change_rows(WITHDRAWING, statement).await? > 0)
}

pub(crate) async fn list_proposals<C: SqlConnection>(
    connection: &mut C,
    what: &str,
) -> Result<Vec<Proposal>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(LIST).bind(what)).await?;
    rows.iter().map(read_proposal).collect()
}

fn read_proposal(row: &impl SqlRow) -> Result<Proposal, StoreError> {
    Ok(Proposal {
        what: row.text(0)?,
        name: row.text(1)?,
        text: row.text(2)?,
        source: row.json(3, "a proposal")?,
        label: row.json(4, "a proposal")?,
        ts: row.timestamp(5)?,
    })
}
