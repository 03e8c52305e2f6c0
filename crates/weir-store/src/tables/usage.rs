//! What was used: how the sums are read. They are written with the facts that they follow from.

use weir_core::model::Usage;
use weir_engine::ports::{StoreError, UsageFilter, UsageRow};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, sql};

const USAGE: SqlText = sql!("SELECT day, model, profile, agent, input, output, cache_read,
    cache_write, reasoning, cost, unpriced, replies, runs FROM usage
  WHERE (CAST($1 AS text) IS NULL OR day >= $1) AND (CAST($2 AS text) IS NULL OR day <= $2)
  ORDER BY day, model" bytewise ", profile" bytewise ", agent" bytewise);

pub(crate) async fn read_usage<C: SqlConnection>(
    connection: &mut C,
    filter: &UsageFilter,
) -> Result<Vec<UsageRow>, StoreError> {
    let statement =
        SqlStatement::new(USAGE).bind(filter.from.as_deref()).bind(filter.to.as_deref());
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.iter().map(read_sums).collect()
}

fn read_sums(row: &impl SqlRow) -> Result<UsageRow, StoreError> {
    Ok(UsageRow {
        day: row.text(0)?,
        model: row.text(1)?,
        profile: row.text(2)?,
        agent: row.text(3)?,
        usage: Usage {
            input: row.number(4)?,
            output: row.number(5)?,
            cache_read: row.number(6)?,
            cache_write: row.number(7)?,
            reasoning: row.number(8)?,
        },
        cost_usd: row.real(9)?,
        unpriced: row.number(10)?,
        replies: row.number(11)?,
        runs: row.number(12)?,
    })
}
