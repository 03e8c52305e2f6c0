//! How often recipes worked, solved runs, and what was used: how they are written, with the facts
//! that they follow from, and read. Not here: what is learned from them.

use std::collections::BTreeMap;

use sqlx::postgres::{PgConnection, PgRow};
use weir_core::ids::{RunId, SessionId, Timestamp};
use weir_core::model::Usage;
use weir_core::recipe::{SolvedRun, Standing};
use weir_engine::ports::{
    Append, SOLVED_RUNS_MAX, SolvedFilter, StoreError, UsageFilter, UsageRow,
};

use super::append::Ended;
use super::rows::{all, cell, done, json, limit_of, number, sealed, text, to_json};
use crate::usage::UsageSums;

const NOTING: &str = "noting a solved run";

const COUNT: &str = "INSERT INTO recipe_counts (recipe, successes, failures, last_used)
  VALUES ($1, $2, $3, $4) ON CONFLICT (owner, recipe) DO UPDATE SET
  successes = recipe_counts.successes + excluded.successes,
  failures = recipe_counts.failures + excluded.failures, last_used = excluded.last_used";

const NOTE: &str = "INSERT INTO solved_runs
  (session, run, workspace, profile, ts, said, calls, label)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";

const FORGET_OLD: &str = "DELETE FROM solved_runs WHERE (session, run) IN (
  SELECT session, run FROM solved_runs
  ORDER BY ts DESC, session COLLATE \"C\" DESC, run DESC OFFSET $1)";

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

/// What an append says about recipes. Within its transaction.
pub(super) async fn write(work: &mut PgConnection, append: &Append) -> Result<(), Ended> {
    for (used, ts) in &append.recipe_use {
        let query = sqlx::query(COUNT)
            .bind(sealed(&used.recipe))
            .bind(i64::from(used.ok))
            .bind(i64::from(!used.ok))
            .bind(ts.micros());
        query.execute(&mut *work).await?;
    }
    for run in &append.solved {
        let query = sqlx::query(NOTE)
            .bind(sealed(run.session.as_str()))
            .bind(i64::from(run.run.0))
            .bind(sealed(&run.workspace))
            .bind(sealed(&run.profile))
            .bind(run.ts.micros())
            .bind(sealed(&run.said))
            .bind(to_json(NOTING, &run.calls)?)
            .bind(to_json(NOTING, &run.label)?);
        query.execute(&mut *work).await?;
    }
    if !append.solved.is_empty() {
        let query = sqlx::query(FORGET_OLD).bind(limit_of(SOLVED_RUNS_MAX));
        query.execute(work).await?;
    }
    Ok(())
}

/// What the facts of a group say was used. Within their transaction.
pub(super) async fn count_usage(work: &mut PgConnection, sums: &UsageSums) -> Result<(), Ended> {
    for row in sums.rows() {
        let query = sqlx::query(USE)
            .bind(row.day.as_str())
            .bind(sealed(&row.model))
            .bind(sealed(&row.profile))
            .bind(sealed(&row.agent))
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

pub(super) async fn usage(
    work: &mut PgConnection,
    filter: &UsageFilter,
) -> Result<Vec<UsageRow>, StoreError> {
    let query = sqlx::query(
        "SELECT day, model, profile, agent, input, output, cache_read, cache_write, reasoning,
           cost, unpriced, replies, runs FROM usage
         WHERE ($1::text IS NULL OR day >= $1) AND ($2::text IS NULL OR day <= $2)
         ORDER BY day, model COLLATE \"C\", profile COLLATE \"C\", agent COLLATE \"C\"",
    );
    let query = query.bind(filter.from.as_deref().map(sealed));
    let rows = all(work, query.bind(filter.to.as_deref().map(sealed))).await?;
    rows.iter().map(usage_of).collect()
}

fn usage_of(row: &PgRow) -> Result<UsageRow, StoreError> {
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

pub(super) async fn settle(work: &mut PgConnection, recipe: &str) -> Result<(), StoreError> {
    let query = sqlx::query("DELETE FROM recipe_counts WHERE recipe = $1").bind(sealed(recipe));
    done(work, "forgetting the use of a recipe", query).await.map(drop)
}

pub(super) async fn counts(
    work: &mut PgConnection,
) -> Result<BTreeMap<String, Standing>, StoreError> {
    let query = sqlx::query("SELECT recipe, successes, failures, last_used FROM recipe_counts");
    let rows = all(work, query).await?;
    let standing = |row| {
        let small = |column| Ok(u32::try_from(number(row, column)?).unwrap_or(u32::MAX));
        let standing = Standing {
            successes: small(1)?,
            failures: small(2)?,
            last_used: cell::<Option<i64>>(row, 3)?.map(Timestamp),
        };
        Ok((text(row, 0)?, standing))
    };
    rows.iter().map(standing).collect()
}

pub(super) async fn solved(
    work: &mut PgConnection,
    filter: &SolvedFilter,
) -> Result<Vec<SolvedRun>, StoreError> {
    let query = sqlx::query(
        "SELECT session, run, workspace, profile, ts, said, calls, label FROM solved_runs
         WHERE $1::text IS NULL OR profile = $1
         ORDER BY ts DESC, session COLLATE \"C\" DESC, run DESC LIMIT $2",
    );
    let limit = filter.limit.map_or(SOLVED_RUNS_MAX, |limit| limit.min(SOLVED_RUNS_MAX));
    let query = query.bind(filter.profile.as_deref().map(sealed)).bind(limit_of(limit));
    let rows = all(work, query).await?;
    rows.iter()
        .map(|row| {
            Ok(SolvedRun {
                session: SessionId::new(text(row, 0)?),
                run: RunId(u32::try_from(number(row, 1)?).unwrap_or(u32::MAX)),
                workspace: text(row, 2)?,
                profile: text(row, 3)?,
                ts: Timestamp(cell(row, 4)?),
                said: text(row, 5)?,
                calls: json(row, 6, "a solved run")?,
                label: json(row, 7, "a solved run")?,
            })
        })
        .collect()
}
