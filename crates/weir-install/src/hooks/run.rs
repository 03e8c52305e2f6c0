//! Runs one hook: a shell command with a JSON object on standard input, bounded in time and output.
//!
//! When its time is over, or nobody waits for it any more, its process group and whatever carries
//! its mark ends, whether or not it wants to. A child that it leaves behind when it ends by itself
//! is let alone and not waited for. Not here: what its answer means.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// What runs a command line.
const SHELL: &str = "/bin/sh";
/// Bytes of each stream that are kept.
pub(super) const KEPT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a stream after which a hook is ended: it says nothing that anybody waits for.
pub(super) const FLOOD_BYTES: usize = 1 << 20;
/// How long a hook that ended may have left its streams open.
const PIPE_GRACE: Duration = Duration::from_millis(250);
/// How long a hook has to end after it was asked to.
const END_GRACE: Duration = Duration::from_millis(300);
/// The variable by which the processes of one hook are found.
const MARK: &str = "WEIR_HOOK";
/// How often processes that a hook started are looked for and ended.
const END_ROUNDS_MAX: usize = 20;

/// Where a hook runs.
pub(super) struct HookSurroundings {
    pub(super) folder: PathBuf,
    /// Every variable that it sees.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Its time.
    pub(super) limit: Duration,
}

/// What became of a hook.
#[derive(Debug)]
pub(super) enum HookRunResult {
    /// It ended by itself, or by a signal of somebody else.
    Ended { status: ExitStatus, out: CapturedStream, err: CapturedStream },
    /// Its time was over.
    TimedOut(Duration),
    /// It would not stop printing.
    Flooded,
    /// It could not be started.
    NotStarted(String),
}

/// What it printed on one stream.
#[derive(Debug, Default)]
pub(super) struct CapturedStream {
    /// Its beginning.
    pub(super) bytes: Vec<u8>,
    /// All that came.
    pub(super) length: usize,
}

/// Runs `command` with `input` to its end.
pub(super) async fn run(
    command: &str,
    input: Vec<u8>,
    surroundings: HookSurroundings,
) -> HookRunResult {
    let HookSurroundings { folder, environment, limit } = surroundings;
    let mark = uuid::Uuid::now_v7().simple().to_string();
    let spawned = Command::new(SHELL)
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .envs(environment)
        .env(MARK, &mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    match spawned {
        Ok(child) => {
            RunningHook { tree: HookProcessTree::new(&child, mark), child }
                .finish_hook(input, limit)
                .await
        }
        Err(error) => HookRunResult::NotStarted(error.to_string()),
    }
}

/// A hook that was started. Dropped, it ends.
struct RunningHook {
    tree: HookProcessTree,
    child: Child,
}

/// What happened first.
enum FirstHookEvent {
    Ended(ExitStatus),
    Flooded,
    TimedOut,
}

impl RunningHook {
    async fn finish_hook(mut self, input: Vec<u8>, limit: Duration) -> HookRunResult {
        let (mut out, mut err) = (CapturedStream::default(), CapturedStream::default());
        let first = self.wait_for_first(input, limit, &mut out, &mut err).await;
        match first {
            FirstHookEvent::Ended(status) => {
                self.tree.is_over = true;
                HookRunResult::Ended { status, out, err }
            }
            FirstHookEvent::Flooded => {
                self.end_hook().await;
                HookRunResult::Flooded
            }
            FirstHookEvent::TimedOut => {
                self.end_hook().await;
                HookRunResult::TimedOut(limit)
            }
        }
    }

    async fn wait_for_first(
        &mut self,
        input: Vec<u8>,
        limit: Duration,
        out: &mut CapturedStream,
        err: &mut CapturedStream,
    ) -> FirstHookEvent {
        let (stdin, stdout, stderr) =
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A hook need not read what it is told.
                let _ = stdin.write_all(&input).await;
            }
        };
        let talk =
            async { tokio::join!(feed, capture_stream(stdout, out), capture_stream(stderr, err)) };
        let over = tokio::time::sleep(limit);
        tokio::pin!(talk, over);
        let mut talks = true;
        loop {
            tokio::select! {
                biased;
                ((), more_out, more_err) = &mut talk, if talks => {
                    talks = false;
                    if more_out.is_err() || more_err.is_err() {
                        return FirstHookEvent::Flooded;
                    }
                }
                status = self.child.wait() => {
                    // Waiting fails only for a child that is none of ours.
                    let status = status.unwrap_or_else(|_| ExitStatus::from_raw(1 << 8));
                    if talks {
                        let _ = tokio::time::timeout(PIPE_GRACE, talk).await;
                    }
                    return FirstHookEvent::Ended(status);
                }
                () = &mut over => return FirstHookEvent::TimedOut,
            }
        }
    }

    /// Asks it to end, and ends it.
    async fn end_hook(&mut self) {
        self.tree.signal_group(Signal::TERM);
        let _ = tokio::time::timeout(END_GRACE, self.child.wait()).await;
        self.tree.kill_processes();
        let _ = tokio::time::timeout(END_GRACE, self.child.wait()).await;
        self.tree.is_over = true;
    }
}

/// More came than anybody waits for.
struct OutputFlood;

/// Keeps the beginning of a stream and counts the rest.
async fn capture_stream(
    stream: Option<impl AsyncRead + Unpin>,
    into: &mut CapturedStream,
) -> Result<(), OutputFlood> {
    let Some(mut stream) = stream else { return Ok(()) };
    let mut chunk = vec![0; 8 << 10];
    loop {
        let count = match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return Ok(()),
            Ok(count) => count,
        };
        let kept = count.min(KEPT_BYTES_MAX - into.bytes.len());
        into.bytes.extend_from_slice(&chunk[..kept]);
        into.length += count;
        if into.length > FLOOD_BYTES {
            return Err(OutputFlood);
        }
    }
}

/// The processes of one hook.
struct HookProcessTree {
    group: Option<Pid>,
    mark: String,
    /// It ended, or was ended: nothing is left to do.
    is_over: bool,
}

impl HookProcessTree {
    fn new(child: &Child, mark: String) -> HookProcessTree {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        HookProcessTree { group: id.and_then(Pid::from_raw), mark, is_over: false }
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Its leader was not waited for, so the number is still its own.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Kills the group, and then those that left it, until none is found.
    fn kill_processes(&self) {
        self.signal_group(Signal::KILL);
        for _ in 0..END_ROUNDS_MAX {
            if !kill_marked(&self.mark) {
                return;
            }
        }
    }
}

impl Drop for HookProcessTree {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill_processes();
        }
    }
}

/// Kills every process that carries the mark in its environment, and says whether there was one.
fn kill_marked(mark: &str) -> bool {
    let entry = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let ids = entries.filter_map(|found| found.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let mut any = false;
    for id in ids {
        let carries = || {
            std::fs::read(format!("/proc/{id}/environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes())
            })
        };
        if !carries() {
            continue;
        }
        let handle = Pid::from_raw(id)
            .and_then(|id| rustix::process::pidfd_open(id, PidfdFlags::empty()).ok());
        // Looked at again: now the handle is known to mean this very process.
        if let Some(handle) = handle
            && carries()
        {
            any |= rustix::process::pidfd_send_signal(handle, Signal::KILL).is_ok();
        }
    }
    any
}
