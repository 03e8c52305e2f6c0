//! What was used: how the sums are read. They are written in `append`.

use sqlx::sqlite::{SqliteConnection, SqliteRow};
use weir_core::model::Usage;
use weir_engine::ports::{StoreError, UsageFilter, UsageRow};

use super::read::{all, cell, number, text};

pub(super) async fn usage(
    connection: &mut SqliteConnection,
    filter: &UsageFilter,
) -> Result<Vec<UsageRow>, StoreError> {
    let query = sqlx::query(
        "SELECT day, model, profile, agent, input, output, cache_read, cache_write, reasoning,
           cost, unpriced, replies, runs FROM usage
         WHERE ($1 IS NULL OR day >= $1) AND ($2 IS NULL OR day <= $2)
         ORDER BY day, model, profile, agent",
    );
    let rows = all(connection, query.bind(filter.from.clone()).bind(filter.to.clone())).await?;
    rows.iter().map(row_of).collect()
}

fn row_of(row: &SqliteRow) -> Result<UsageRow, StoreError> {
    Ok(UsageRow {
        day: text(row, 0)?,
        model: text(row, 1)?,
        profile: text(row, 2)?,
        agent: text(row, 3)?,
        usage: Usage {
            input: number(row, 4)?,
            output: number(row, 5)?,
            cache_read: number(row, 6)?,
            cache_write: number(row, 7)?,
            reasoning: number(row, 8)?,
        },
        cost_usd: cell(row, 9)?,
        unpriced: number(row, 10)?,
        replies: number(row, 11)?,
        runs: number(row, 12)?,
    })
}
