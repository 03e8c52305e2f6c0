//! The engine's side of supervised commands: [`SupervisedProcesses`], one supervisor per command.
//!
//! Not here: what the supervisor does (`supervise`), and whether a command may run (governance).

mod drive;
mod jobs;
mod launch;
mod recover;
mod service;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId};
use weir_core::secret::Secret;
use weir_core::tool::Tier;
use weir_engine::ports::{
    CommandConfinement, CommandEnd, CommandOutcome, CommandSpec, CommandTrace, Egress, EgressLine,
    JobInfo, Processes, ProgressSink,
};

use crate::environment::looks_secret;
use crate::lending::EnvironmentLending;
use crate::limits::CommandLimits;
use crate::record::CommandRecord;
use crate::tier::{TierWish, holding_tier, tier_weakness};
use crate::wire::CommandEnding;

use jobs::{JobTable, NewJob};
use launch::CommandKind;
pub use service::{ServiceProcess, ServiceSpec};

/// How commands are started.
#[derive(Clone)]
pub struct SupervisorOptions {
    /// The program that calls [`supervise_main`](crate::supervise_main): this one, usually.
    pub program: PathBuf,
    /// Its arguments, the hidden subcommand. The folder of the record is added.
    pub args: Vec<OsString>,
    /// Records go to `jobs/` in it.
    pub state_dir: PathBuf,
    /// All variables that commands see: [`filtered_environment`](crate::filtered_environment).
    /// What looks like a secret is dropped here once more.
    pub environment: Vec<(OsString, OsString)>,
    /// What a command gets of the person's besides, where a person agreed.
    pub lending: EnvironmentLending,
    /// Values that are taken out of what commands print before it is kept anywhere (Z7).
    pub secrets: Vec<Secret>,
    /// Bounds.
    pub limits: CommandLimits,
    /// Confinement.
    pub tier: TierWish,
    /// The way out for commands that were granted hosts; without one they are not started.
    pub egress: Option<Arc<dyn Egress>>,
}

/// Commands under supervisors. Shared by all sessions of an engine; when it is dropped, or the
/// process dies, every supervisor ends its tree.
pub struct SupervisedProcesses {
    options: Arc<SupervisorOptions>,
    jobs: JobTable,
    /// Sessions that were told what the tier cannot do.
    told: Mutex<BTreeSet<SessionId>>,
}

impl SupervisedProcesses {
    /// Starts nothing yet.
    pub fn new(mut options: SupervisorOptions) -> SupervisedProcesses {
        // The supervisor is started in the command's folder: nothing may be relative to ours.
        for path in [&mut options.state_dir, &mut options.program] {
            // A bare name is looked for on PATH, and not beside us.
            let is_bare_name = path.components().count() == 1 && path.is_relative();
            if let (false, Ok(absolute)) = (is_bare_name, std::path::absolute(&*path)) {
                *path = absolute;
            }
        }
        if let Ok(absolute) = std::path::absolute(&options.state_dir) {
            options.state_dir = absolute;
        }
        options.environment.retain(|(name, _)| !looks_secret(name));
        let told = Mutex::default();
        SupervisedProcesses { options: Arc::new(options), jobs: JobTable::default(), told }
    }

    async fn launch_command(&self, spec: CommandSpec) -> Result<launch::SupervisedCommand, String> {
        let options = Arc::clone(&self.options);
        let line = self.egress_line(&spec.confine).await?;
        // Folders and a process are made: a slow disk must not hold up other sessions.
        let kind = if spec.background { CommandKind::Job } else { CommandKind::Foreground };
        let launched = tokio::task::spawn_blocking(move || {
            launch::launch_supervisor(&options, &spec, line, kind)
        });
        launched.await.unwrap_or_else(|error| Err(format!("starting it failed: {error}")))
    }
}

impl SupervisedProcesses {
    /// The way out for a command that was granted hosts.
    async fn egress_line(
        &self,
        confine: &CommandConfinement,
    ) -> Result<Option<Box<dyn EgressLine>>, String> {
        // What is not confined reaches every host anyway.
        if confine.hosts.is_empty() || confine.tier == Tier::None {
            return Ok(None);
        }
        let hosts = confine.hosts.join(", ");
        let Some(egress) = &self.options.egress else {
            return Err(format!("it was granted {hosts}, but there is no proxy to reach them by"));
        };
        let opened = egress.open(&confine.hosts).await;
        opened.map(Some).map_err(|why| format!("the way to {hosts} cannot be opened: {why}"))
    }
}

#[async_trait]
impl Processes for SupervisedProcesses {
    fn tier(&self) -> Tier {
        holding_tier(self.options.tier, &self.options.program)
    }

    fn weakness_once(&self, session: &SessionId) -> Option<String> {
        let weakness = tier_weakness(self.tier())?;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(session.clone()).then(|| weakness.to_owned())
    }

    fn check_secret(&self, name: &str) -> Result<(), String> {
        self.options.lending.check_secret(name)
    }

    async fn run(
        &self,
        spec: CommandSpec,
        progress: &ProgressSink,
        cancel: &CancellationToken,
    ) -> CommandOutcome {
        let spec = CommandSpec { background: false, ..spec };
        if cancel.is_cancelled() {
            return CommandEnding { end: CommandEnd::Cancelled, ..CommandEnding::not_started("") }
                .into();
        }
        match self.launch_command(spec).await {
            Ok(supervised) => drive::to_the_end(supervised, progress, cancel).await.into(),
            Err(why) => CommandEnding::not_started(why).into(),
        }
    }

    async fn start_job(&self, spec: CommandSpec) -> Result<JobInfo, String> {
        let spec = CommandSpec { background: true, ..spec };
        self.jobs.check_job_limit(&spec.session)?;
        let job = NewJob {
            session: spec.session.clone(),
            call: spec.call,
            command: spec.command.clone(),
            reaches: spec.confine.outside_reach(),
            serves_only: if spec.secrets.is_empty() {
                spec.confine.ports_served_only()
            } else {
                Vec::new()
            },
        };
        let supervised = drive::until_started(self.launch_command(spec).await?).await?;
        self.jobs.add_job(job, supervised).await
    }

    async fn read_job_output(
        &self,
        session: &SessionId,
        job: &str,
        offset: u64,
        max: usize,
    ) -> Result<(JobInfo, String), String> {
        self.jobs.find_job(session, job)?.read_output(offset, max).await
    }

    async fn write_job_input(
        &self,
        session: &SessionId,
        job: &str,
        text: &str,
    ) -> Result<(), String> {
        self.jobs.find_job(session, job)?.write_input(text).await
    }

    async fn kill_job(&self, session: &SessionId, job: &str) -> Result<JobInfo, String> {
        let job = self.jobs.find_job(session, job)?;
        job.cancel();
        job.ended_within(END_WAIT).await?;
        job.current_info().await
    }

    async fn jobs(&self, session: &SessionId) -> Vec<JobInfo> {
        let mut infos = Vec::new();
        for job in self.jobs.jobs_of_session(session) {
            infos.extend(job.current_info().await);
        }
        infos
    }

    async fn end_all(&self, session: &SessionId) {
        let jobs = self.jobs.take_jobs(session);
        for job in &jobs {
            job.cancel();
        }
        for job in jobs {
            if let Err(why) = job.ended_within(END_WAIT).await {
                tracing::warn!(%session, why, "a job did not end");
            }
        }
    }

    async fn command_trace(&self, session: &SessionId, call: CallId) -> CommandTrace {
        let record = CommandRecord::for_call(&self.options.state_dir, session, call);
        let traced = tokio::task::spawn_blocking(move || recover::trace_call(&record, call));
        traced.await.unwrap_or_else(|error| CommandTrace::Unknown {
            why: format!("its record could not be looked at: {error}"),
        })
    }
}

/// How long a job may take to end after it was cancelled. A supervisor needs a third of a second,
/// and the engine does it by itself when there is no answer.
const END_WAIT: Duration = Duration::from_secs(3);
