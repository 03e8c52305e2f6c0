//! Services: children that live as long as somebody speaks with them over their standard streams
//! (servers of foreign tools). Confined and supervised as commands are, with an environment of their
//! own. Not here: what is spoken.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use weir_core::ids::{CallId, SessionId};
use weir_core::tool::Tier;
use weir_engine::ports::{CommandConfinement, CommandSpec, ProgressSink, Variables};

use super::launch::{self, CommandKind};
use super::{END_WAIT, SupervisedProcesses, SupervisorOptions, drive};
use crate::record::{CommandRecord, remove_session_records};
use crate::wire::CommandEnding;

/// What is kept of standard error on disk, from its beginning.
const ERRORS_FILE_BYTES: u64 = 8 << 20;
/// How long it may take to end by itself once its input is closed.
const OWN_END_WAIT: Duration = Duration::from_millis(200);
/// What is told of it.
const ERRORS_BYTES: usize = 8 << 10;
/// Wall time of a service: none that matters.
const NO_END_MS: u64 = 10 * 365 * 24 * 3_600_000;

/// A service that is to be started.
#[derive(Debug, Clone)]
pub struct ServiceSpec {
    /// Program and arguments; no shell reads them.
    pub words: Vec<String>,
    /// All variables that it gets. A home of its own is added where it is confined.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder that it runs in.
    pub cwd: PathBuf,
    /// Paths and hosts that the service may touch.
    pub confine: CommandConfinement,
}

/// A service that runs. Dropping it ends its whole tree, and so does the end of this process.
pub struct ServiceProcess {
    /// Standard input of the process; taken by whoever writes to it.
    pub input: Option<pipe::Sender>,
    /// Standard output of the process; taken by whoever reads it.
    pub output: Option<pipe::Receiver>,
    record: CommandRecord,
    session: SessionId,
    state_dir: PathBuf,
    cancel: CancellationToken,
    ending: watch::Receiver<Option<CommandEnding>>,
    _follower: AbortOnDropHandle<()>,
}

impl SupervisedProcesses {
    /// Starts a service under a supervisor, confined as a command is.
    ///
    /// # Errors
    /// Why it could not be started; nothing of it runs then.
    pub async fn open_service(&self, spec: ServiceSpec) -> Result<ServiceProcess, String> {
        let mut limits = self.options.limits;
        limits.output_file_bytes = limits.output_file_bytes.min(ERRORS_FILE_BYTES);
        limits.idle_ms = None;
        let environment = spec.environment;
        let options = SupervisorOptions { environment, limits, ..(*self.options).clone() };
        let session = next_name();
        let command = CommandSpec {
            session: session.clone(),
            call: CallId(1),
            command: shell_line(&spec.words, spec.confine.tier)?,
            cwd: spec.cwd,
            timeout_ms: NO_END_MS,
            keep_bytes: ERRORS_BYTES,
            background: false,
            terminal: false,
            confine: spec.confine,
            variables: Variables::Listed,
            secrets: Vec::new(),
        };
        let line = self.egress_line(&command.confine).await?;
        let state_dir = options.state_dir.clone();
        let options = Arc::new(options);
        let launched = tokio::task::spawn_blocking(move || {
            launch::launch_supervisor(&options, &command, line, CommandKind::Service)
        });
        let launched =
            launched.await.unwrap_or_else(|error| Err(format!("starting it failed: {error}")))?;
        let mut supervised = drive::until_started(launched).await?;
        let (input, output) = (supervised.input.take(), supervised.progress.take());
        let record = supervised.record.clone();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let (tell, ending) = watch::channel(None);
        let follower = tokio::spawn(async move {
            let ended = drive::to_the_end(supervised, &ProgressSink::none(), &token).await;
            // Nobody may be listening any more.
            let _ = tell.send(Some(ended));
        });
        let _follower = AbortOnDropHandle::new(follower);
        Ok(ServiceProcess { input, output, record, session, state_dir, cancel, ending, _follower })
    }
}

impl ServiceProcess {
    /// The end of what it wrote to standard error so far.
    pub async fn error_output(&self) -> String {
        if let Some(ending) = self.ending.borrow().as_ref() {
            return ending.output.clone();
        }
        let file = self.record.output_file();
        let read = tokio::task::spawn_blocking(move || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(file)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(ERRORS_BYTES as u64)))?;
            let mut bytes = Vec::new();
            file.take(ERRORS_BYTES as u64).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        match read.await {
            Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(Err(_)) | Err(_) => String::new(),
        }
    }

    /// Ends it, and waits until nothing of its tree is left.
    pub async fn end_service(mut self) {
        self.input = None;
        // Most services end when their input does.
        let mut ending = self.ending.clone();
        let by_itself = timeout(OWN_END_WAIT, ending.wait_for(Option::is_some)).await.is_ok();
        if !by_itself {
            self.cancel.cancel();
            let _ = timeout(END_WAIT, ending.wait_for(Option::is_some)).await;
        }
        let (state_dir, session) = (self.state_dir.clone(), self.session.clone());
        let _ =
            tokio::task::spawn_blocking(move || remove_session_records(&state_dir, &session)).await;
    }
}

/// A name for its record that no other service of this machine has.
fn next_name() -> SessionId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SessionId::new(format!("service-{}-{}-{count}", std::process::id(), now.as_nanos()))
}

/// The line that starts it: the shell of the supervisor becomes the service.
fn shell_line(words: &[String], tier: Tier) -> Result<String, String> {
    if words.first().is_none_or(String::is_empty) {
        return Err("there is no program to start".into());
    }
    let quoted: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let home = match tier {
        Tier::None => "",
        Tier::Landlock | Tier::Bubblewrap | Tier::Namespaces => "export HOME=\"${TMPDIR:-/tmp}\"; ",
    };
    Ok(format!("{home}exec {}", quoted.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z8_no_shell_reads_the_words_of_a_service() {
        let words = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            shell_line(&words, Tier::None)
        };
        assert_eq!(words(&["a", "b c", "$(id)"]), Ok("exec 'a' 'b c' '$(id)'".into()));
        assert_eq!(words(&["a'; id; '"]), Ok("exec 'a'\\''; id; '\\'''".into()));
        assert!(words(&[]).is_err() && words(&[""]).is_err());
    }
}
