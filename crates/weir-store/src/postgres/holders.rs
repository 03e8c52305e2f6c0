//! Which processes live, by the database's clock: each says so every few seconds in its row of
//! `holders`, and whoever has not for the time of a lease has lost its leases. Nothing here reads
//! the clock of a machine to judge another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool, PgRow};
use weir_core::ids::SessionId;
use weir_engine::ports::{Lease, LeaseOwner, StoreError};

use super::begin_installation;
use super::error::database_error;
use super::rows::{execute_statement, fetch_rows, number_cell, read_cell, text_cell};
use crate::owner::{is_alive, machine_id, this_process};

const BEATING: &str = "saying that this process lives";

/// This process among those that hold leases.
pub(super) struct LeaseReplica {
    pub(super) id: String,
    /// Where process ids mean the same as here.
    machine: String,
    process: LeaseOwner,
    lease: Duration,
    /// Leases that could not be given back while the database was away: it takes them again.
    owed: Mutex<Vec<Lease>>,
}

impl LeaseReplica {
    pub(super) fn new(id: String, lease: Duration) -> LeaseReplica {
        let process = this_process("replica");
        LeaseReplica { id, machine: machine_id(), process, lease, owed: Mutex::default() }
    }

    fn lock_owed_leases(&self) -> MutexGuard<'_, Vec<Lease>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A lease could not be given back.
    pub(super) fn note_owed_lease(&self, lease: &Lease) {
        self.lock_owed_leases().push(lease.clone());
    }

    /// Whether it is this lease that could not be given back. Only its own process asks: nobody
    /// else's word is needed.
    pub(super) fn owes_lease(&self, session: &SessionId, epoch: u64) -> bool {
        self.lock_owed_leases()
            .iter()
            .any(|lease| lease.session == *session && lease.epoch == epoch)
    }

    /// The session was taken again.
    pub(super) fn clear_owed_lease(&self, session: &SessionId) {
        self.lock_owed_leases().retain(|lease| lease.session != *session);
    }

    /// Says that it lives.
    pub(super) async fn beat_once(&self, pool: &PgPool) -> Result<(), StoreError> {
        let mut work = begin_installation(pool, BEATING).await?;
        let query = sqlx::query(
            "INSERT INTO holders (id, machine, pid, started, host, until)
             VALUES ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 millisecond')
             ON CONFLICT (id) DO UPDATE SET until = excluded.until",
        )
        .bind(self.id.as_str())
        .bind(self.machine.as_str())
        .bind(i64::from(self.process.pid))
        .bind(self.process.started.cast_signed())
        .bind(self.process.host.as_str())
        .bind(i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX));
        execute_statement(&mut work, BEATING, query).await?;
        let old =
            sqlx::query("DELETE FROM holders WHERE until < clock_timestamp() - interval '1 hour'");
        execute_statement(&mut work, BEATING, old).await?;
        work.commit().await.map_err(|e| database_error(BEATING, &e))
    }

    /// Says so for as long as it is not dropped. A beat that fails is tried again soon; meanwhile no
    /// lease can be taken.
    pub(super) async fn keep_beating(self: Arc<Self>, pool: PgPool) {
        let pause = self.lease / 4;
        loop {
            tokio::time::sleep(pause).await;
            if pool.is_closed() {
                return;
            }
            // One that hangs must not keep the next from its time.
            match tokio::time::timeout(self.lease, self.beat_once(&pool)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(%error, "this process could not say that it lives")
                }
                Err(_) => tracing::warn!("the database does not answer this process's heartbeat"),
            }
        }
    }

    /// Gives everything back at once: others need not wait.
    pub(super) async fn leave_holders(&self, pool: &PgPool) -> Result<(), StoreError> {
        let mut work = begin_installation(pool, BEATING).await?;
        let query = sqlx::query("DELETE FROM holders WHERE id = $1").bind(self.id.as_str());
        execute_statement(&mut work, BEATING, query).await?;
        work.commit().await.map_err(|e| database_error(BEATING, &e))
    }

    /// Refuses to take anything while the database has not heard of this process in time.
    pub(super) async fn check_beating(&self, work: &mut PgConnection) -> Result<(), StoreError> {
        let query =
            sqlx::query("SELECT 1 FROM holders WHERE id = $1 AND until > clock_timestamp()");
        if fetch_rows(work, query.bind(self.id.as_str())).await?.is_empty() {
            return Err(StoreError::Io {
                doing: "taking a lease".to_string(),
                why: "the database has not heard of this process for too long; it tries again \
                      by itself"
                    .to_string(),
            });
        }
        Ok(())
    }

    /// Whether `owner` lives, who took something as the process whose row is joined from column
    /// `first` on: machine, pid, started, host, and whether its time is not over.
    pub(super) fn is_owner_alive(
        &self,
        owner: &LeaseOwner,
        row: &PgRow,
        first: usize,
    ) -> Result<bool, StoreError> {
        let Some(machine) = read_cell::<Option<String>>(row, first)? else { return Ok(false) };
        let in_time: bool = read_cell(row, first + 4)?;
        let same = i64::from(owner.pid) == read_cell::<i64>(row, first + 1)?
            && owner.started == number_cell(row, first + 2)?
            && owner.host == text_cell(row, first + 3)?;
        // Here a process that was killed is seen at once.
        Ok(in_time && same && (machine != self.machine || is_alive(owner)))
    }
}
