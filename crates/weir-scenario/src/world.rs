//! The machine that scenarios are played on: real files in a temporary folder, and fakes of the
//! ports to time, commands and network. It outlives crashes; the engine does not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::ids::{CallId, SessionId, Timestamp};
use weir_core::tool::Tier;
use weir_engine::ports::{
    Clock, CommandEnd, CommandOutcome, CommandSpec, CommandTrace, FetchedPage, JobInfo, Processes,
    ProgressSink, Web, WebAddress, WebRequest,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Midnight of 2026-01-02, UTC: where every scenario begins.
const EPOCH_MICROS: i64 = 1_767_312_000_000_000;

/// Time that moves only when nothing else does (tokio's paused time), and goes on over crashes.
#[derive(Debug)]
pub struct WorldClock {
    started: tokio::time::Instant,
    before: Duration,
}

impl WorldClock {
    /// A clock that already shows `before` more than the beginning.
    pub fn starting_at(before: Duration) -> Arc<WorldClock> {
        Arc::new(WorldClock { started: tokio::time::Instant::now(), before })
    }
    /// Time since the beginning of the scenario.
    pub fn elapsed(&self) -> Duration {
        self.before + self.started.elapsed()
    }
}

#[async_trait]
impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        let micros = i64::try_from(self.elapsed().as_micros()).unwrap_or(i64::MAX);
        Timestamp(EPOCH_MICROS.saturating_add(micros))
    }
    async fn sleep_until(&self, until: Timestamp) {
        let micros = until.0.saturating_sub(self.now().0);
        // A millisecond is the finest step of the timer: never wake too early.
        let wait = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        tokio::time::sleep(wait).await;
    }
    fn random_number(&self) -> u64 {
        0
    }
}

/// What a command of the scenario does.
#[derive(Debug, Clone)]
pub struct FakeCommand {
    /// Exit status; none: it hangs until it is ended.
    pub code: Option<i32>,
    /// What it prints.
    pub output: String,
    /// Its supervisor leaves no record when the program dies.
    pub vanishes: bool,
}

/// A command that was started: by which session and call, and its words.
pub type Start = (SessionId, CallId, String);

#[derive(Debug, Default)]
struct Runs {
    /// Every start of a command, by session and call.
    started: Vec<Start>,
    ended: BTreeMap<(SessionId, CallId), CommandOutcome>,
    jobs: BTreeMap<String, (JobInfo, String)>,
}

/// Commands that print what the scenario says. Remembers every start: no call may start twice.
#[derive(Debug, Default)]
pub struct FakeProcesses {
    commands: BTreeMap<String, FakeCommand>,
    tier: Tier,
    runs: Mutex<Runs>,
}

impl FakeProcesses {
    /// Processes that know these commands, confined as `tier` says.
    pub fn new(commands: BTreeMap<String, FakeCommand>, tier: Tier) -> FakeProcesses {
        FakeProcesses { commands, tier, runs: Mutex::default() }
    }

    /// Every start so far.
    pub fn started(&self) -> Vec<Start> {
        lock(&self.runs).started.clone()
    }

    fn outcome(&self, command: &str, end: Option<CommandEnd>) -> CommandOutcome {
        let unknown = FakeCommand {
            code: Some(127),
            output: format!("{command}: not found"),
            vanishes: false,
        };
        let fake = self.commands.get(command).cloned().unwrap_or(unknown);
        let end = end.unwrap_or(CommandEnd::Exited { code: fake.code.unwrap_or(0) });
        let bytes = fake.output.len() as u64;
        CommandOutcome { end, output: fake.output, bytes, duration_ms: 5, refused: Vec::new() }
    }
}

#[async_trait]
impl Processes for FakeProcesses {
    fn tier(&self) -> Tier {
        self.tier
    }
    async fn run(
        &self,
        spec: CommandSpec,
        progress: &ProgressSink,
        cancel: &CancellationToken,
    ) -> CommandOutcome {
        let start = (spec.session.clone(), spec.call, spec.command.clone());
        lock(&self.runs).started.push(start);
        let hangs = self.commands.get(&spec.command).is_some_and(|fake| fake.code.is_none());
        let end = if hangs {
            let limit = Duration::from_millis(spec.timeout_ms);
            tokio::select! {
                () = cancel.cancelled() => Some(CommandEnd::Cancelled),
                () = tokio::time::sleep(limit) => Some(CommandEnd::TimedOut),
            }
        } else {
            None
        };
        let outcome = self.outcome(&spec.command, end);
        progress.send(&outcome.output);
        lock(&self.runs).ended.insert((spec.session, spec.call), outcome.clone());
        outcome
    }

    async fn start_job(&self, spec: CommandSpec) -> Result<JobInfo, String> {
        let mut runs = lock(&self.runs);
        runs.started.push((spec.session.clone(), spec.call, spec.command.clone()));
        let job = format!("j{}", spec.call.0);
        let outcome = self.outcome(&spec.command, None);
        let hangs = self.commands.get(&spec.command).is_some_and(|fake| fake.code.is_none());
        let end = (!hangs).then(|| outcome.end.clone());
        let info = JobInfo {
            job: job.clone(),
            reaches: spec.confine.outside_reach(),
            serves_only: spec.confine.ports_served_only(),
            command: spec.command,
            end,
            bytes: outcome.bytes,
            age_ms: 5,
        };
        runs.jobs.insert(job, (info.clone(), outcome.output.clone()));
        runs.ended.insert((spec.session, spec.call), outcome);
        Ok(info)
    }

    async fn read_job_output(
        &self,
        _session: &SessionId,
        job: &str,
        offset: u64,
        max: usize,
    ) -> Result<(JobInfo, String), String> {
        let runs = lock(&self.runs);
        let (info, text) = runs.jobs.get(job).ok_or(format!("there is no job {job}"))?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok((info.clone(), text.chars().skip(from).take(max).collect()))
    }

    async fn write_job_input(
        &self,
        _session: &SessionId,
        job: &str,
        text: &str,
    ) -> Result<(), String> {
        let mut runs = lock(&self.runs);
        let (_, output) = runs.jobs.get_mut(job).ok_or(format!("there is no job {job}"))?;
        output.push_str(text);
        Ok(())
    }

    async fn kill_job(&self, _session: &SessionId, job: &str) -> Result<JobInfo, String> {
        let mut runs = lock(&self.runs);
        let (info, _) = runs.jobs.get_mut(job).ok_or(format!("there is no job {job}"))?;
        info.end = Some(CommandEnd::Cancelled);
        Ok(info.clone())
    }

    async fn jobs(&self, _session: &SessionId) -> Vec<JobInfo> {
        lock(&self.runs).jobs.values().map(|(info, _)| info.clone()).collect()
    }

    async fn end_all(&self, _session: &SessionId) {
        for (info, _) in lock(&self.runs).jobs.values_mut() {
            info.end.get_or_insert(CommandEnd::Cancelled);
        }
    }

    async fn command_trace(&self, session: &SessionId, call: CallId) -> CommandTrace {
        let runs = lock(&self.runs);
        let started =
            runs.started.iter().find(|(of, started, _)| of == session && *started == call);
        let vanishes = |command: &String| self.commands.get(command).is_some_and(|c| c.vanishes);
        if started.is_some_and(|(_, _, command)| vanishes(command)) {
            return CommandTrace::Unknown { why: "its supervisor left no record".into() };
        }
        if let Some(outcome) = runs.ended.get(&(session.clone(), call)) {
            return CommandTrace::Ended(outcome.clone());
        }
        match started {
            // The supervisor ended what ran when the engine died.
            Some((_, _, command)) => {
                CommandTrace::Ended(self.outcome(command, Some(CommandEnd::Orphaned)))
            }
            None => CommandTrace::NeverStarted,
        }
    }
}

/// What a host answers that has this page: `pdf LINE | LINE`, `png WIDTH HEIGHT`, or the text itself.
fn page_body(page: &str) -> (&'static str, Vec<u8>) {
    if let Some(lines) = page.strip_prefix("pdf ") {
        let lines: Vec<&str> = lines.split('|').map(str::trim).collect();
        return ("application/pdf", crate::made::pdf(&lines));
    }
    if let Some(size) = page.strip_prefix("png ") {
        let mut sizes = size.split_whitespace().map(|size| size.parse().unwrap_or(1));
        let mut size = || sizes.next().unwrap_or(1);
        return ("image/png", crate::made::png(size(), size()));
    }
    let media_type = match page.trim_start() {
        text if text.starts_with("<rss") => "application/rss+xml",
        text if text.starts_with('<') => "text/html",
        _ => "text/plain",
    };
    (media_type, page.as_bytes().to_vec())
}

/// A network that has the scenario's pages and nothing else.
#[derive(Debug, Default)]
pub struct FakeWeb {
    pages: BTreeMap<String, String>,
}

impl FakeWeb {
    /// A network of these pages.
    pub fn new(pages: BTreeMap<String, String>) -> FakeWeb {
        FakeWeb { pages }
    }
}

#[async_trait]
impl Web for FakeWeb {
    fn check_url(&self, url: &str) -> Result<WebAddress, String> {
        let rest = url.strip_prefix("https://").ok_or("only https addresses are fetched here")?;
        let host = rest.split(['/', '?']).next().unwrap_or_default().to_lowercase();
        Ok(WebAddress { url: url.into(), host })
    }
    async fn fetch(
        &self,
        address: &WebAddress,
        max_bytes: usize,
        _cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        let page = self.pages.get(&address.url).ok_or("the host does not answer")?;
        if let Some(target) = page.strip_prefix("redirects to ") {
            return Err(format!(
                "{} redirects to {target}, which is not followed by itself; fetch that address if \
                 you want it",
                address.url
            ));
        }
        let (media_type, body) = page_body(page);
        Ok(FetchedPage {
            url: address.url.clone(),
            status: 200,
            media_type: media_type.into(),
            charset: Some("utf-8".into()),
            truncated: body.len() > max_bytes,
            body: body.into_iter().take(max_bytes).collect(),
        })
    }
    async fn request(
        &self,
        request: &WebRequest,
        cancel: &CancellationToken,
    ) -> Result<FetchedPage, String> {
        if request.method == "GET" {
            return self.fetch(&request.address, request.max_bytes, cancel).await;
        }
        let url = format!("{} {}", request.method, request.address.url);
        let address = WebAddress { url, host: request.address.host.clone() };
        self.fetch(&address, request.max_bytes, cancel).await
    }
}
