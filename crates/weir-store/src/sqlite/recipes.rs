//! How often recipes worked, and solved runs: how they are written, with the facts that they follow
//! from, and read. Not here: what is learned from them.

use std::collections::BTreeMap;

use futures::executor::block_on;
use sqlx::sqlite::SqliteConnection;
use weir_core::ids::{RunId, SessionId, Timestamp};
use weir_core::recipe::{SolvedRun, Standing};
use weir_engine::ports::{Append, SOLVED_RUNS_MAX, SolvedFilter, StoreError};

use super::error::failed;
use super::knowledge::{json, to_json};
use super::read::{all, cell, number, text};
use super::writer::Writer;

const COUNTING: &str = "counting the use of a recipe";
const NOTING: &str = "noting a solved run";

const COUNT: &str = "INSERT INTO recipe_counts (recipe, successes, failures, last_used)
  VALUES ($1, $2, $3, $4) ON CONFLICT (recipe) DO UPDATE SET
  successes = recipe_counts.successes + excluded.successes,
  failures = recipe_counts.failures + excluded.failures, last_used = excluded.last_used";

const NOTE: &str = "INSERT INTO solved_runs
  (session, run, workspace, profile, ts, said, calls, label)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (session, run) DO NOTHING";

const FORGET_OLD: &str = "DELETE FROM solved_runs WHERE (session, run) IN (
  SELECT session, run FROM solved_runs ORDER BY ts DESC, session DESC, run DESC
  LIMIT -1 OFFSET $1)";

impl Writer {
    /// What an append says about recipes. Within its transaction.
    pub(super) fn write_recipes(&mut self, append: &Append) -> Result<(), StoreError> {
        for (used, ts) in &append.recipe_use {
            let query = sqlx::query(COUNT)
                .bind(used.recipe.clone())
                .bind(i64::from(used.ok))
                .bind(i64::from(!used.ok))
                .bind(ts.micros());
            block_on(query.execute(&mut self.connection)).map_err(|e| failed(COUNTING, &e))?;
        }
        for run in &append.solved {
            let query = sqlx::query(NOTE)
                .bind(run.session.as_str().to_string())
                .bind(i64::from(run.run.0))
                .bind(run.workspace.clone())
                .bind(run.profile.clone())
                .bind(run.ts.micros())
                .bind(run.said.clone())
                .bind(to_json(NOTING, &run.calls)?)
                .bind(to_json(NOTING, &run.label)?);
            block_on(query.execute(&mut self.connection)).map_err(|e| failed(NOTING, &e))?;
        }
        if !append.solved.is_empty() {
            let query = sqlx::query(FORGET_OLD).bind(SOLVED_RUNS_MAX as i64);
            block_on(query.execute(&mut self.connection)).map_err(|e| failed(NOTING, &e))?;
        }
        Ok(())
    }

    pub(super) fn settle_recipe(&mut self, recipe: &str) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM recipe_counts WHERE recipe = $1");
        let done = block_on(query.bind(recipe.to_string()).execute(&mut self.connection));
        done.map(drop).map_err(|e| failed("forgetting the use of a recipe", &e))
    }
}

pub(super) async fn counts(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, Standing>, StoreError> {
    let query = sqlx::query("SELECT recipe, successes, failures, last_used FROM recipe_counts");
    let rows = all(connection, query).await?;
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
    connection: &mut SqliteConnection,
    filter: &SolvedFilter,
) -> Result<Vec<SolvedRun>, StoreError> {
    let query = sqlx::query(
        "SELECT session, run, workspace, profile, ts, said, calls, label FROM solved_runs
         WHERE $1 IS NULL OR profile = $1 ORDER BY ts DESC, session DESC, run DESC LIMIT $2",
    );
    let limit = filter.limit.map_or(SOLVED_RUNS_MAX, |limit| limit.min(SOLVED_RUNS_MAX));
    let query = query.bind(filter.profile.clone()).bind(limit as i64);
    let rows = all(connection, query).await?;
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
