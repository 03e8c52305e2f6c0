//! Plain threads that have a connection each, for what would keep its caller from other work: they
//! start when they are first needed, as many as are needed at once, and end with their owner. Not
//! here: the journal's thread (`writer`), and which work goes where.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use weir_engine::ports::StoreError;

use super::connection::SqliteConnection;
use super::error::database_error;
use crate::filesystem::io_error;
use crate::sql::READING;

const STARTING: &str = "starting a thread for the database";

/// Work for a connection; it is told when there is none.
pub(super) type ConnectionJob =
    Box<dyn FnOnce(Result<&mut SqliteConnection, StoreError>) + Send + 'static>;

/// `work` as a job, and where its answer comes. It is done even if nobody waits for it any more.
fn job_of<T: Send + 'static>(
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
) -> (ConnectionJob, oneshot::Receiver<Result<T, StoreError>>) {
    let (answer, answered) = oneshot::channel();
    let job: ConnectionJob = Box::new(move |connection| {
        let _ = answer.send(connection.and_then(work));
    });
    (job, answered)
}

/// A read that is waited for. Whoever drops it does not want it any more: it is not begun, or it ends.
pub(super) struct AwaitedRead<T> {
    answered: oneshot::Receiver<Result<T, StoreError>>,
    given_up: GivenUp,
}

impl<T> AwaitedRead<T> {
    /// What was read.
    pub(super) async fn wait_for_answer(self) -> Result<T, StoreError> {
        let AwaitedRead { answered, given_up } = self;
        let answer = answer_of(answered).await;
        drop(given_up);
        answer
    }
}

/// Set once nobody waits any more.
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `work`, which only reads, as a job.
pub(super) fn read_job_of<T: Send + 'static>(
    work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
) -> (ConnectionJob, AwaitedRead<T>) {
    let (answer, answered) = oneshot::channel();
    let given_up = Arc::new(AtomicBool::new(false));
    let awaited = AwaitedRead { answered, given_up: GivenUp(Arc::clone(&given_up)) };
    let job: ConnectionJob = Box::new(move |connection| {
        if given_up.load(Ordering::Relaxed) {
            return;
        }
        let read = connection.and_then(|connection| {
            let stops = connection.stop_when(given_up);
            stops.map_err(|error| database_error(READING, &error))?;
            work(connection)
        });
        let _ = answer.send(read);
    });
    (job, awaited)
}

/// The answer of a job.
async fn answer_of<T>(answered: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    answered.await.map_err(|_| StoreError::Io {
        doing: "working with the database".to_string(),
        why: "it ended without an answer: try again".to_string(),
    })?
}

/// Does `job`, and says whether it came to its end. A panic is a bug of what it reads; it must not take
/// the thread with it, on which others rely. Whoever goes on with the connection ends the job first
/// ([`SqliteConnection::end_job`]).
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

    /// The same for `work` that only reads: it ends when nobody waits for it any more.
    ///
    /// # Errors
    /// As [`ConnectionThreads::run`].
    pub(crate) async fn run_read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, read) = read_job_of(work);
        self.submit_job(job)?;
        read.wait_for_answer().await
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

    /// Waits for what was asked for (a read for which nobody waits any more ends by itself) and closes
    /// the connections.
    pub(crate) fn close(&self) {
        self.jobs.lock_queue().closed = true;
        self.jobs.changed.notify_all();
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
                    Ok(opened) => run_job(job, Ok(connection.insert(opened))),
                    Err(error) => run_job(job, Err(error)),
                },
            };
            if !ended {
                connection = None;
            }
            if let Some(connection) = &mut connection {
                connection.end_job();
            }
        }
    }

    fn next_job(&self) -> Option<ConnectionJob> {
        let mut queue = self.lock_queue();
        loop {
            if let Some(job) = queue.waiting.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

/// A thread that ends, even by a panic, makes room for another.
struct LeavingThread<'a>(&'a SharedJobs);

impl Drop for LeavingThread<'_> {
    fn drop(&mut self) {
        self.0.lock_queue().threads -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use futures::executor::block_on;

    use super::*;

    /// One thread with an empty database.
    fn thread_in(folder: &Path) -> ConnectionThreads {
        let database = folder.join("some.db");
        std::fs::write(&database, "").expect("writable");
        let connect = move || {
            SqliteConnection::open(&database, Duration::ZERO)
                .map_err(|error| database_error("opening", &error))
        };
        ConnectionThreads::new("test", 1, connect)
    }

    #[test]
    fn d9_work_that_panics_takes_nobody_along() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let threads = thread_in(folder.path());
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

    const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
      SELECT count(*) FROM n";

    #[test]
    fn d9_a_read_that_nobody_waits_for_ends_and_one_that_waits_is_not_begun() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let threads = thread_in(folder.path());
        let (begins, begun) = channel();
        let (job, endless) = read_job_of(move |connection| {
            begins.send(()).expect("somebody listens");
            connection.at_one_moment("counting", |work| work.read_rows("counting", ENDLESS, []))
        });
        threads.submit_job(job).expect("it is taken");
        let (begins_too, begun_too) = channel();
        let (job, behind) = read_job_of(move |_| {
            begins_too.send(()).expect("somebody listens");
            Ok(())
        });
        threads.submit_job(job).expect("it is taken");
        begun.recv().expect("it is begun");
        drop((endless, behind));
        // A wish of whoever was before ends nothing of this.
        let counted = threads.run(|connection| {
            connection.run_statement("writing", "CREATE TABLE t (n)", [])?;
            let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
              WHERE i < 100000) SELECT i FROM n";
            Ok(connection.read_rows("counting", many, [])?.len())
        });
        assert_eq!(block_on(counted).expect("it is served"), 100_000);
        assert!(begun_too.recv().is_err(), "nobody waited for it");
    }
}
