//! Plain threads that have a connection each, for what would keep its caller from other work: they
//! start when they are first needed, as many as are needed at once, and end with their owner, or before
//! that once nothing was asked of them for a while. Not here: the journal's thread (`writer`), and which
//! work goes where.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

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
}

struct SharedJobs {
    queue: Mutex<JobQueue>,
    connect: Box<dyn Fn() -> Result<SqliteConnection, StoreError> + Send + Sync>,
    /// How long a thread waits for work before it ends; `None`: as long as everything is open.
    rest: Option<Duration>,
}

/// All of it changes under one lock: who is listed here comes to what waits, and who ends has seen that
/// nothing waits and is listed no more.
#[derive(Default)]
struct JobQueue {
    waiting: VecDeque<ConnectionJob>,
    /// Threads that work, wait for work or close their connection.
    threads: Vec<JoinHandle<()>>,
    /// By what those of them are woken that wait for work. The last to begin waiting is the first to be
    /// woken: what one can do keeps no second one open.
    idle: Vec<Arc<Condvar>>,
    closed: bool,
}

impl JobQueue {
    fn is_idle(&self, own: &Arc<Condvar>) -> bool {
        self.idle.iter().any(|idle| Arc::ptr_eq(idle, own))
    }

    fn forget_thread(&mut self, id: ThreadId) {
        // One that ends gives back its stack by itself; nobody waits for it.
        self.threads.retain(|thread| thread.thread().id() != id);
    }
}

impl ConnectionThreads {
    /// None yet. `rest`: how long one waits for work before it closes its connection and ends; `None`: it
    /// waits as long as this lives.
    pub(crate) fn new(
        name: &'static str,
        most: usize,
        rest: Option<Duration>,
        connect: impl Fn() -> Result<SqliteConnection, StoreError> + Send + Sync + 'static,
    ) -> ConnectionThreads {
        let jobs = SharedJobs { queue: Mutex::default(), connect: Box::new(connect), rest };
        ConnectionThreads { jobs: Arc::new(jobs), name, most }
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
        if let Some(idle) = queue.idle.pop() {
            drop(queue);
            idle.notify_one();
            return Ok(());
        }
        if queue.threads.len() < self.most {
            match self.start_thread() {
                Ok(thread) => queue.threads.push(thread),
                // Those that live come to it.
                Err(error) if !queue.threads.is_empty() => {
                    tracing::debug!(%error, "one thread less works with the database");
                }
                Err(error) => {
                    queue.waiting.pop_back();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn start_thread(&self) -> Result<JoinHandle<()>, StoreError> {
        let jobs = self.jobs.clone();
        std::thread::Builder::new()
            .name(self.name.to_string())
            .spawn(move || jobs.serve_jobs())
            .map_err(|error| io_error(STARTING, &error))
    }

    /// Waits for what was asked for (a read for which nobody waits any more ends by itself) and closes
    /// the connections.
    pub(crate) fn close(&self) {
        let mut queue = self.jobs.lock_queue();
        queue.closed = true;
        let (idle, threads) = (std::mem::take(&mut queue.idle), std::mem::take(&mut queue.threads));
        drop(queue);
        for idle in idle {
            idle.notify_one();
        }
        for thread in threads {
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

    /// One thread, until everything is closed or nothing was asked of it for long enough.
    fn serve_jobs(&self) {
        let _leaving = LeavingThread(self);
        let wakes = Arc::new(Condvar::new());
        let mut connection: Option<SqliteConnection> = None;
        while let Some(job) = self.next_job(&wakes, &mut connection) {
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

    /// The next job of the thread that `wakes` wakes. `None`: it is to end; either everything is closed,
    /// or it waited long enough, has closed its connection, and nobody counts on it any more.
    fn next_job(
        &self,
        wakes: &Arc<Condvar>,
        connection: &mut Option<SqliteConnection>,
    ) -> Option<ConnectionJob> {
        let mut queue = self.lock_queue();
        let mut is_rested = false;
        loop {
            // Also after it waited for long: something may have come while it closed its connection.
            if let Some(job) = queue.waiting.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            if is_rested {
                queue.forget_thread(std::thread::current().id());
                return None;
            }
            (queue, is_rested) = self.wait_for_call(queue, wakes);
            if is_rested {
                // Closing takes a while, and whoever asks meanwhile starts another thread. This one is
                // still listed: whoever closes everything waits for every connection.
                drop(queue);
                *connection = None;
                queue = self.lock_queue();
            }
        }
    }

    /// Waits until it is called to a job or to the end; whether nobody called for long enough.
    fn wait_for_call<'a>(
        &self,
        mut queue: MutexGuard<'a, JobQueue>,
        wakes: &Arc<Condvar>,
    ) -> (MutexGuard<'a, JobQueue>, bool) {
        queue.idle.push(Arc::clone(wakes));
        // Whoever calls takes it off the list.
        let waits = |queue: &mut JobQueue| queue.is_idle(wakes);
        queue = match self.rest {
            Some(rest) => {
                let waited = wakes.wait_timeout_while(queue, rest, waits);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => wakes.wait_while(queue, waits).unwrap_or_else(PoisonError::into_inner),
        };
        let is_rested = queue.is_idle(wakes);
        queue.idle.retain(|idle| !Arc::ptr_eq(idle, wakes));
        (queue, is_rested)
    }
}

/// A thread that ends, even by a panic, makes room for another.
struct LeavingThread<'a>(&'a SharedJobs);

impl Drop for LeavingThread<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock_queue();
        queue.forget_thread(std::thread::current().id());
        // Only a panic leaves work behind that nobody comes to; whoever waits for it is told.
        let is_abandoned = queue.threads.is_empty() && !queue.closed;
        let abandoned = is_abandoned.then(|| std::mem::take(&mut queue.waiting));
        drop(queue);
        drop(abandoned);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use futures::executor::block_on;

    use super::*;

    /// At most so many threads with an empty database, and how many connections were opened.
    fn threads_in(
        folder: &Path,
        most: usize,
        rest: Option<Duration>,
    ) -> (ConnectionThreads, Arc<AtomicUsize>) {
        let database = folder.join("some.db");
        std::fs::write(&database, "").expect("writable");
        let opened = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&opened);
        let connect = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            SqliteConnection::open(&database, Duration::from_secs(10))
                .map_err(|error| database_error("opening", &error))
        };
        (ConnectionThreads::new("test", most, rest, connect), opened)
    }

    /// One thread with an empty database.
    fn thread_in(folder: &Path) -> ConnectionThreads {
        threads_in(folder, 1, None).0
    }

    /// Waits until this is so of the queue.
    fn wait_until(threads: &ConnectionThreads, is_so: impl Fn(&JobQueue) -> bool) {
        while !is_so(&threads.jobs.lock_queue()) {
            std::thread::yield_now();
        }
    }

    fn answer_42(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
        let number = connection.read_number("SELECT 42", 0);
        number.map_err(|error| database_error("counting", &error))
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

    #[test]
    fn q18_a_thread_without_work_ends_and_the_next_work_starts_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (threads, opened) = threads_in(folder.path(), 4, Some(Duration::ZERO));
        for round in 1..=3 {
            let answered = block_on(threads.run(answer_42));
            assert_eq!(answered.expect("it is served"), 42);
            wait_until(&threads, |queue| queue.threads.is_empty());
            assert_eq!(opened.load(Ordering::Relaxed), round);
            assert!(threads.jobs.lock_queue().idle.is_empty());
        }
    }

    #[test]
    fn q18_work_that_comes_while_threads_end_is_done() {
        const WORK: i64 = 500;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (threads, _) = threads_in(folder.path(), 2, Some(Duration::ZERO));
        let work_through = || -> i64 {
            (0..WORK).map(|_| block_on(threads.run_read(answer_42)).expect("it is served")).sum()
        };
        let done = std::thread::scope(|scope| {
            let working = [0; 4].map(|_| scope.spawn(work_through));
            working.map(|one| one.join().expect("no panic"))
        });
        assert_eq!(done, [WORK * 42; 4]);
        wait_until(&threads, |queue| queue.threads.is_empty());
    }

    #[test]
    fn q18_closing_waits_for_the_connection_of_a_thread_that_ends() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("some.db-wal");
        for _ in 0..20 {
            let (threads, _) = threads_in(folder.path(), 1, Some(Duration::ZERO));
            let writes = threads.run(|connection| {
                let settings = "PRAGMA journal_mode = WAL; CREATE TABLE t (n)";
                connection.run_batch(settings).map_err(|error| database_error("writing", &error))
            });
            block_on(writes).expect("writable");
            drop(threads);
            assert!(!log.exists(), "the last connection takes its log with it");
        }
    }

    /// Work that says who does it, and ends once it is told to.
    fn held_work(
        says: Sender<ThreadId>,
        ends: Receiver<()>,
    ) -> impl FnOnce(&mut SqliteConnection) -> Result<(), StoreError> + Send + 'static {
        move |_| {
            says.send(std::thread::current().id()).expect("somebody listens");
            ends.recv().expect("it is told");
            Ok(())
        }
    }

    #[test]
    fn q18_what_one_thread_can_do_is_done_by_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (threads, opened) = threads_in(folder.path(), 3, None);
        let (says, said) = channel();
        let held: Vec<_> = (0..3)
            .map(|_| {
                let (end, ends) = channel();
                let (job, answered) = job_of(held_work(says.clone(), ends));
                threads.submit_job(job).expect("it is taken");
                said.recv().expect("it is begun");
                (end, answered)
            })
            .collect();
        for (end, answered) in held {
            end.send(()).expect("it waits");
            block_on(answer_of(answered)).expect("it is done");
        }
        wait_until(&threads, |queue| queue.idle.len() == 3);
        let who = |_| {
            let done = block_on(threads.run(|_| Ok(std::thread::current().id())));
            wait_until(&threads, |queue| queue.idle.len() == 3);
            done.expect("it is served")
        };
        let did: Vec<ThreadId> = (0..4).map(who).collect();
        assert!(did.iter().all(|id| *id == did[0]), "{did:?}");
        assert_eq!(opened.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn d9_where_opening_panics_nobody_waits_for_ever() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (database, both_wait) = (folder.path().join("some.db"), Arc::new(Barrier::new(2)));
        std::fs::write(&database, "").expect("writable");
        let (is_first, reached) = (AtomicBool::new(true), Arc::clone(&both_wait));
        let connect = move || {
            if is_first.swap(false, Ordering::Relaxed) {
                reached.wait();
                panic!("a bug in what opens")
            }
            SqliteConnection::open(&database, Duration::ZERO)
                .map_err(|error| database_error("opening", &error))
        };
        let threads = ConnectionThreads::new("test", 1, None, connect);
        let (first, first_answer) = job_of(answer_42);
        let (second, second_answer) = job_of(answer_42);
        threads.submit_job(first).expect("it is taken");
        threads.submit_job(second).expect("it is taken");
        both_wait.wait();
        assert!(block_on(answer_of(first_answer)).is_err());
        assert!(block_on(answer_of(second_answer)).is_err());
        assert_eq!(block_on(threads.run(answer_42)).expect("it is served"), 42);
    }
}
