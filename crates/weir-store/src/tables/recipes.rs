//! How often recipes worked, and solved runs: how they are written, with the facts that they follow
//! from, and read. Not here: what is learned from them.

use std::collections::BTreeMap;

use weir_core::ids::{RunId, SessionId};
use weir_core::recipe::{RecipeStanding, SolvedRun};
use weir_engine::ports::{Append, SOLVED_RUNS_MAX, SolvedFilter, StoreError};

use crate::sql::{READING, SqlConnection, SqlRow, SqlStatement, SqlText, limit_of, sql, to_json};

const COUNTING: &str = "counting the use of a recipe";
const NOTING: &str = "noting a solved run";
pub(crate) const FORGETTING: &str = "forgetting the use of a recipe";

const COUNT: SqlText = sql!("INSERT INTO recipe_counts (recipe, successes, failures, last_used)
  VALUES ($1, $2, $3, $4) ON CONFLICT (" owner "recipe) DO UPDATE SET
  successes = recipe_counts.successes + excluded.successes,
  failures = recipe_counts.failures + excluded.failures, last_used = excluded.last_used");

const NOTE: SqlText = sql!(
    "INSERT INTO solved_runs
  (session, run, workspace, profile, ts, said, calls, label)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"
);

const FORGET_OLD: SqlText = sql!("DELETE FROM solved_runs WHERE (session, run) IN (
  SELECT session, run FROM solved_runs
  ORDER BY ts DESC, session" bytewise " DESC, run DESC" (sqlite " LIMIT -1") " OFFSET $1)");

const FORGET_RECIPE: SqlText = sql!("DELETE FROM recipe_counts WHERE recipe = $1");

const COUNTS: SqlText = sql!("SELECT recipe, successes, failures, last_used FROM recipe_counts");

const SOLVED: SqlText = sql!("SELECT session, run, workspace, profile, ts, said, calls, label
  FROM solved_runs WHERE CAST($1 AS text) IS NULL OR profile = $1
  ORDER BY ts DESC, session" bytewise " DESC, run DESC LIMIT $2");

/// Writes what an append says about recipes. Within its transaction.
pub(crate) async fn write_recipes<C: SqlConnection>(
    connection: &mut C,
    append: &Append,
) -> Result<(), C::AppendError> {
    for (used, ts) in &append.recipe_use {
        let statement = SqlStatement::new(COUNT)
            .bind(&used.recipe)
            .bind(i64::from(used.ok))
            .bind(i64::from(!used.ok))
            .bind(*ts);
        connection.append_rows(COUNTING, statement).await?;
    }
    for run in &append.solved {
        let statement = SqlStatement::new(NOTE)
            .bind(run.session.as_str())
            .bind(i64::from(run.run.0))
            .bind(&run.workspace)
            .bind(&run.profile)
            .bind(run.ts)
            .bind(&run.said)
            .bind(to_json(NOTING, &run.calls)?)
            .bind(to_json(NOTING, &run.label)?);
        connection.append_rows(NOTING, statement).await?;
    }
    if !append.solved.is_empty() {
        let statement = SqlStatement::new(FORGET_OLD).bind(limit_of(SOLVED_RUNS_MAX));
        connection.append_rows(NOTING, statement).await?;
    }
    Ok(())
}

pub(crate) async fn forget_recipe<C: SqlConnection>(
    connection: &mut C,
    recipe: &str,
) -> Result<(), StoreError> {
    let statement = SqlStatement::new(FORGET_RECIPE).bind(recipe);
    connection.change_rows(FORGETTING, statement).await.map(drop)
}

pub(crate) async fn read_counts<C: SqlConnection>(
    connection: &mut C,
) -> Result<BTreeMap<String, RecipeStanding>, StoreError> {
    let rows = connection.fetch_rows(READING, SqlStatement::new(COUNTS)).await?;
    let standing = |row: &C::Row| {
        let standing = RecipeStanding {
            successes: row.small_number(1)?,
            failures: row.small_number(2)?,
            last_used: row.optional_timestamp(3)?,
        };
        Ok((row.text(0)?, standing))
    };
    rows.iter().map(standing).collect()
}

pub(crate) async fn list_solved<C: SqlConnection>(
    connection: &mut C,
    filter: &SolvedFilter,
) -> Result<Vec<SolvedRun>, StoreError> {
    let limit = filter.limit.map_or(SOLVED_RUNS_MAX, |limit| limit.min(SOLVED_RUNS_MAX));
    let statement = SqlStatement::new(SOLVED).bind(filter.profile.as_deref()).bind(limit_of(limit));
    let rows = connection.fetch_rows(READING, statement).await?;
    rows.iter().map(read_solved).collect()
}

fn read_solved(row: &impl SqlRow) -> Result<SolvedRun, StoreError> {
    Ok(SolvedRun {
        session: SessionId::new(row.text(0)?),
        run: RunId(row.small_number(1)?),
        workspace: row.text(2)?,
        profile: row.text(3)?,
        ts: row.timestamp(4)?,
        said: row.text(5)?,
        calls: row.json(6, "a solved run")?,
        label: row.json(7, "a solved run")?,
    })
}
