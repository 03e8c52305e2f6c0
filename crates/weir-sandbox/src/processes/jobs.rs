//! Background jobs: who owns them, what they are called, what can be asked of them.
//!
//! A job belongs to its session and to this process: it ends with either. Each has a task that
//! follows its supervisor; dropping the job ends the task, and with it the command.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use weir_core::ids::{CallId, SessionId};
use weir_engine::ports::{JobInfo, ProgressSink};

use super::drive;
use super::launch::SupervisedCommand;
use crate::record::CommandRecord;
use crate::wire::CommandEnding;

/// Jobs of one session that may run at once.
const RUNNING_MAX: usize = 32;

/// Jobs of one session that are remembered after they ended; the oldest go.
const ENDED_KEPT: usize = 64;

/// Output that one reading may return.
const READ_BYTES_MAX: usize = 8 << 20;

/// How long a job may take to read its input.
const INPUT_PATIENCE: Duration = Duration::from_secs(5);

/// All jobs of this process.
#[derive(Default)]
pub(super) struct JobTable(Mutex<BTreeMap<(SessionId, CallId), Arc<SupervisedJob>>>);

/// One job.
pub(super) struct SupervisedJob {
    name: String,
    command: String,
    /// As in [`JobInfo`].
    reaches: Option<Vec<String>>,
    /// As in [`JobInfo`].
    serves_only: Vec<u16>,
    began: Instant,
    record: CommandRecord,
    cancel: CancellationToken,
    ending: watch::Receiver<Option<CommandEnding>>,
    input: tokio::sync::Mutex<Option<pipe::Sender>>,
    _follower: AbortOnDropHandle<()>,
}

/// A job that begins.
pub(super) struct NewJob {
    pub(super) session: SessionId,
    pub(super) call: CallId,
    pub(super) command: String,
    /// Where it can reach outside.
    pub(super) reaches: Option<Vec<String>>,
    /// Ports at which it is reached, if that is all.
    pub(super) serves_only: Vec<u16>,
}

impl JobTable {
    /// Whether the session may start another.
    pub(super) fn check_job_limit(&self, session: &SessionId) -> Result<(), String> {
        let running = self.jobs_of_session(session).iter().filter(|job| !job.has_ended()).count();
        if running < RUNNING_MAX {
            return Ok(());
        }
        Err(format!("{running} jobs run in this session, which is the limit; end one first"))
    }

    /// Takes over a supervisor whose command runs.
    pub(super) async fn add_job(
        &self,
        job: NewJob,
        mut supervised: SupervisedCommand,
    ) -> Result<JobInfo, String> {
        let NewJob { session, call, command, reaches, serves_only } = job;
        let cancel = CancellationToken::new();
        let (tell, ending) = watch::channel(None);
        let input = tokio::sync::Mutex::new(supervised.input.take());
        let record = supervised.record.clone();
        let token = cancel.clone();
        let follower = tokio::spawn(async move {
            let progress = ProgressSink::none();
            let ending = drive::to_the_end(supervised, &progress, &token).await;
            // Nobody may be listening any more.
            let _ = tell.send(Some(ending));
        });
        let job = Arc::new(SupervisedJob {
            name: job_name(call),
            command,
            reaches,
            serves_only,
            began: Instant::now(),
            record,
            cancel,
            ending,
            input,
            _follower: AbortOnDropHandle::new(follower),
        });
        self.insert(&session, call, Arc::clone(&job));
        job.current_info().await
    }

    fn insert(&self, session: &SessionId, call: CallId, job: Arc<SupervisedJob>) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.insert((session.clone(), call), job);
        let ended: Vec<_> = jobs
            .iter()
            .filter(|((of, _), job)| of == session && job.has_ended())
            .map(|(key, _)| key.clone())
            .collect();
        for key in ended.iter().take(ended.len().saturating_sub(ENDED_KEPT)) {
            jobs.remove(key);
        }
    }

    /// The job of this name.
    pub(super) fn find_job(
        &self,
        session: &SessionId,
        name: &str,
    ) -> Result<Arc<SupervisedJob>, String> {
        let jobs = self.jobs_of_session(session);
        if let Some(job) = jobs.iter().find(|job| job.name == name) {
            return Ok(Arc::clone(job));
        }
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        Err(match names.as_slice() {
            [] => format!("there is no job {name:?}: this session has none"),
            names => format!("there is no job {name:?}; jobs are: {}", names.join(", ")),
        })
    }

    /// Jobs of a session in the order they were started.
    pub(super) fn jobs_of_session(&self, session: &SessionId) -> Vec<Arc<SupervisedJob>> {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = jobs.iter().filter(|((of, _), _)| of == session);
        own.map(|(_, job)| Arc::clone(job)).collect()
    }

    /// The same, and forgets them.
    pub(super) fn take_jobs(&self, session: &SessionId) -> Vec<Arc<SupervisedJob>> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own: Vec<_> = jobs.keys().filter(|(of, _)| of == session).cloned().collect();
        own.iter().filter_map(|key| jobs.remove(key)).collect()
    }
}

impl SupervisedJob {
    /// Asks it to end.
    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for its end.
    pub(super) async fn ended_within(&self, patience: Duration) -> Result<(), String> {
        let mut ending = self.ending.clone();
        let name = &self.name;
        match timeout(patience, ending.wait_for(Option::is_some)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(format!("what followed job {name} is gone")),
            Err(_) => Err(format!("job {name} has not ended after {patience:?}")),
        }
    }

    /// What is known now.
    pub(super) async fn current_info(&self) -> Result<JobInfo, String> {
        let ending = self.ending.borrow().clone();
        let (end, bytes) = match ending {
            Some(ending) => (Some(ending.end), ending.bytes),
            None => {
                let file = self.record.output_file();
                (None, tokio::fs::metadata(file).await.map_or(0, |meta| meta.len()))
            }
        };
        Ok(JobInfo {
            job: self.name.clone(),
            command: self.command.clone(),
            reaches: self.reaches.clone(),
            serves_only: self.serves_only.clone(),
            end,
            bytes,
            age_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// The bytes from `offset` to `offset + max` or to the end, whichever is nearer, as text; where
    /// the next reading begins follows from `bytes` of the state that comes with it.
    pub(super) async fn read_output(
        &self,
        offset: u64,
        max: usize,
    ) -> Result<(JobInfo, String), String> {
        let info = self.current_info().await?;
        let wanted = info.bytes.saturating_sub(offset).min(max.min(READ_BYTES_MAX) as u64);
        let file = self.record.output_file();
        let read = tokio::task::spawn_blocking(move || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(file)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(wanted).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let name = &self.name;
        let bytes = match read.await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) => return Err(format!("the output of {name} cannot be read: {error}")),
            Err(error) => return Err(format!("the output of {name} cannot be read: {error}")),
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let missing = wanted - bytes.len() as u64;
        if missing > 0 {
            text.push_str(&format!("\n[... {missing} bytes were more than is kept ...]\n"));
        }
        Ok((info, text))
    }

    /// Writes to its standard input.
    pub(super) async fn write_input(&self, text: &str) -> Result<(), String> {
        let name = &self.name;
        if self.has_ended() {
            return Err(format!("job {name} has ended; it reads nothing any more"));
        }
        let mut input = self.input.lock().await;
        let Some(sender) = input.as_mut() else {
            return Err(format!("the input of job {name} is closed"));
        };
        let mut rest = text.as_bytes();
        let written = timeout(INPUT_PATIENCE, async {
            while !rest.is_empty() {
                let count = sender.write(rest).await?;
                rest = &rest[count..];
            }
            std::io::Result::Ok(())
        });
        match written.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                *input = None;
                Err(format!("job {name} does not read its input any more: {error}"))
            }
            Err(_) => Err(format!(
                "job {name} does not read its input: {} of {} bytes wait unwritten",
                rest.len(),
                text.len()
            )),
        }
    }

    fn has_ended(&self) -> bool {
        self.ending.borrow().is_some()
    }
}

fn job_name(call: CallId) -> String {
    format!("j{}", call.0)
}
