//! Plain threads that have a connection each, for what would keep its caller from other work: they
//! start when they are first needed, as many as are needed at once, and end with their owner. Not
//! here: the journal's thread (`writer`), and which work goes where.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::InterruptHandle;
use tokio::sync::oneshot;
use weir_engine::ports::StoreError;

use super::connection::SqliteConnection;
use crate::filesystem::io_error;

const STARTING: &str = "starting a thread for the database";
/// So often a statement that runs is told again to end: it may have been the one before it that heard.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(10);

/// Work for a connection; it is told when there is none.
pub(super) type ConnectionJob =
    Box<dyn FnOnce(Result<&mut SqliteConnection, StoreError>) + Send + 'static>;

/// `work` as a job, and where its answer comes. Whoever does not wait for it any more is no error.
pub(super) fn job_of<T: Send + 'static>(
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
) -> (ConnectionJob, oneshot::Receiver<Result<T, StoreError>>) {
    let (answer, answered) = oneshot::channel();
    let job: ConnectionJob = Box::new(move |connection| {
        let _ = answer.send(connection.and_then(work));
    });
    (job, answered)
}

/// The answer of a job.
pub(super) async fn answer_of<T>(
    answered: oneshot::Receiver<Result<T, StoreError>>,
) -> Result<T, StoreError> {
    answered.await.map_err(|_| StoreError::Io {
        doing: "working with the database".to_string(),
        why: "it ended without an answer: try again".to_string(),
    })?
}

/// Does `job`, and says whether it came to its end. A panic is a bug of what it reads; it must not take
/// the thread with it, on which others rely. The connection may then be within a transaction.
pub(super) fn run_job(
    job: ConnectionJob,
    connection: Result<&mut SqliteConnection, StoreError>,
) -> bool {
    catch_unwind(AssertUnwindSafe(|| job(connection))).is_ok()
}

/// Does one long piece of work on a thread of its own.
pub(super) async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let (answer, answered) = oneshot::channel();
    std::thread::Builder::new()
        .name("weir-db-copy".to_string())
        .spawn(move || drop(answer.send(work())))
        .map_err(|error| io_error(STARTING, &error))?;
    answer_of(answered).await
}

/// Threads with connections, at most so many.
pub(crate) struct ConnectionThreads {
    jobs: Arc<SharedJobs>,
    name: &'static str,
    most: usize,
    started: Mutex<Vec<JoinHandle<()>>>,
}

struct SharedJobs {
    queue: Mutex<JobQueue>,
    changed: Condvar,
    connect: Box<dyn Fn() -> Result<SqliteConnection, StoreError> + Send + Sync>,
}

#[derive(Default)]
struct JobQueue {
    waiting: VecDeque<ConnectionJob>,
    /// Threads that live, and those of them that wait for work.
    threads: usize,
    idle: usize,
    /// What ends the statements that run, of each connection.
    interrupts: Vec<InterruptHandle>,
    closed: bool,
}

impl ConnectionThreads {
    pub(crate) fn new(
        name: &'static str,
        most: usize,
        connect: impl Fn() -> Result<SqliteConnection, StoreError> + Send + Sync + 'static,
    ) -> ConnectionThreads {
        let (queue, changed) = (Mutex::default(), Condvar::new());
        let jobs = Arc::new(SharedJobs { queue, changed, connect: Box::new(connect) });
        ConnectionThreads { jobs, name, most, started: Mutex::default() }
    }

    /// Gives `work` a connection and waits for what comes of it.
    ///
    /// # Errors
    /// Those of `work`, of connecting, and of starting a thread.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answered) = job_of(work);
        self.submit_job(job)?;
        answer_of(answered).await
    }

    pub(super) fn submit_job(&self, job: ConnectionJob) -> Result<(), StoreError> {
        let mut queue = self.jobs.lock_queue();
        queue.waiting.push_back(job);
        if queue.idle < queue.waiting.len() && queue.threads < self.most {
            match self.start_thread() {
                Ok(()) => queue.threads += 1,
                // Those that live come to it.
                Err(error) if queue.threads > 0 => {
                    tracing::debug!(%error, "one thread less works with the database");
                }
                Err(error) => {
                    queue.waiting.pop_back();
                    return Err(error);
                }
            }
        }
        drop(queue);
        self.jobs.changed.notify_one();
        Ok(())
    }

    fn start_thread(&self) -> Result<(), StoreError> {
        let jobs = self.jobs.clone();
        let thread = std::thread::Builder::new()
            .name(self.name.to_string())
            .spawn(move || jobs.serve_jobs())
            .map_err(|error| io_error(STARTING, &error))?;
        self.started.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Ends what runs, for which nobody waits any more, and closes the connections.
    pub(crate) fn close(&self) {
        let mut queue = self.jobs.lock_queue();
        queue.closed = true;
        queue.waiting.clear();
        self.jobs.changed.notify_all();
        while queue.threads > 0 {
            queue.interrupts.iter().for_each(InterruptHandle::interrupt);
            let waited = self.jobs.changed.wait_timeout(queue, INTERRUPT_AGAIN);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queue);
        let started =
            std::mem::take(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in started {
            // One that panicked has nothing more to say here.
            let _ = thread.join();
        }
    }
}

impl Drop for ConnectionThreads {
    fn drop(&mut self) {
        self.close();
    }
}

impl SharedJobs {
    fn lock_queue(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread, until everything is closed.
    fn serve_jobs(&self) {
        let _leaving = LeavingThread(self);
        let mut connection: Option<SqliteConnection> = None;
        while let Some(job) = self.next_job() {
            let ended = match &mut connection {
                Some(connection) => run_job(job, Ok(connection)),
                None => match (self.connect)() {
                    Ok(opened) => {
                        self.lock_queue().interrupts.push(opened.interrupt_handle());
                        run_job(job, Ok(connection.insert(opened)))
                    }
                    Err(error) => run_job(job, Err(error)),
                },
            };
            if !ended {
                connection = None;
            }
        }
    }

    fn next_job(&self) -> Option<ConnectionJob> {
        let mut queue = self.lock_queue();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(job) = queue.waiting.pop_front() {
                return Some(job);
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

/// A thread that ends, even by a panic, makes room for another. Its connection is closed by then.
struct LeavingThread<'a>(&'a SharedJobs);

impl Drop for LeavingThread<'_> {
    fn drop(&mut self) {
        self.0.lock_queue().threads -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    #[test]
    fn d9_work_that_panics_takes_nobody_along() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database = folder.path().join("some.db");
        std::fs::write(&database, "").expect("writable");
        let connect = move || {
            SqliteConnection::open(&database, Duration::ZERO)
                .map_err(|error| super::super::error::database_error("opening", &error))
        };
        let threads = ConnectionThreads::new("test", 1, connect);
        let panics = threads.run::<()>(|connection| {
            connection.begin_writing("beginning")?;
            panic!("a bug in what is read")
        });
        let counts = threads.run(|connection| {
            connection.in_transaction("counting", |work| {
                let rows = work.read_rows("counting", "SELECT 42", [])?;
                Ok(rows.len())
            })
        });
        let (panicked, counted) = block_on(async { futures::join!(panics, counts) });
        assert!(panicked.is_err());
        assert_eq!(counted.expect("it is served"), 1);
    }
}
