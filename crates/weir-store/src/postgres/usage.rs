//! What was used: how the sums of facts are written with them. Not here: how they are read
//! (`tables`).

use sqlx::postgres::PgConnection;

use super::append::AttemptError;
use super::rows::escape_nul;
use crate::usage::UsageSums;

const USE: &str = "INSERT INTO usage (day, model, profile, agent, input, output, cache_read,
    cache_write, reasoning, cost, unpriced, replies, runs)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  ON CONFLICT (owner, day, model, profile, agent) DO UPDATE SET
  input = usage.input + excluded.input, output = usage.output + excluded.output,
  cache_read = usage.cache_read + excluded.cache_read,
  cache_write = usage.cache_write + excluded.cache_write,
  reasoning = usage.reasoning + excluded.reasoning, cost = usage.cost + excluded.cost,
  unpriced = usage.unpriced + excluded.unpriced, replies = usage.replies + excluded.replies,
  runs = usage.runs + excluded.runs";

/// What the facts of a group say was used. Within their transaction.
pub(super) async fn count_usage(
    work: &mut PgConnection,
    sums: &UsageSums,
) -> Result<(), AttemptError> {
    for row in sums.rows() {
        let query = sqlx::query(USE)
            .bind(row.day.as_str())
            .bind(escape_nul(&row.model))
            .bind(escape_nul(&row.profile))
            .bind(escape_nul(&row.agent))
            .bind(row.usage.input.cast_signed())
            .bind(row.usage.output.cast_signed())
            .bind(row.usage.cache_read.cast_signed())
            .bind(row.usage.cache_write.cast_signed())
            .bind(row.usage.reasoning.cast_signed())
            .bind(row.cost_usd)
            .bind(row.unpriced.cast_signed())
            .bind(row.replies.cast_signed())
            .bind(row.runs.cast_signed());
        query.execute(&mut *work).await?;
    }
    Ok(())
}
