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
pub(super) struct Surroundings {
    pub(super) folder: PathBuf,
    /// Every variable that it sees.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Its time.
    pub(super) limit: Duration,
}

/// What became of a hook.
#[derive(Debug)]
pub(super) enum Ran {
    /// It ended by itself, or by a signal of somebody else.
    Ended { status: ExitStatus, out: Captured, err: Captured },
    /// Its time was over.
    TimedOut(Duration),
    /// It would not stop printing.
    Flooded,
    /// It could not be started.
    NotStarted(String),
}

/// What it printed on one stream.
#[derive(Debug, Default)]
pub(super) struct Captured {
    /// Its beginning.
    pub(super) bytes: Vec<u8>,
    /// All that came.
    pub(super) length: usize,
}

/// Runs `command` with `input` to its end.
pub(super) async fn run(command: &str, input: Vec<u8>, surroundings: Surroundings) -> Ran {
    let Surroundings { folder, environment, limit } = surroundings;
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
        Ok(child) => Running { tree: Tree::new(&child, mark), child }.finish(input, limit).await,
        Err(error) => Ran::NotStarted(error.to_string()),
    }
}

/// A hook that was started. Dropped, it ends.
struct Running {
    tree: Tree,
    child: Child,
}

/// What happened first.
enum First {
    Ended(ExitStatus),
    Flooded,
    TimedOut,
}

impl Running {
    async fn finish(mut self, input: Vec<u8>, limit: Duration) -> Ran {
        let (mut out, mut err) = (Captured::default(), Captured::default());
        let first = self.first(input, limit, (&mut out, &mut err)).await;
        match first {
            First::Ended(status) => {
                self.tree.is_over = true;
                Ran::Ended { status, out, err }
            }
            First::Flooded => {
                self.end().await;
                Ran::Flooded
            }
            First::TimedOut => {
                self.end().await;
                Ran::TimedOut(limit)
            }
        }
    }

    async fn first(
        &mut self,
        input: Vec<u8>,
        limit: Duration,
        (out, err): (&mut Captured, &mut Captured),
    ) -> First {
        let (stdin, stdout, stderr) =
            (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        let feed = async move {
            if let Some(mut stdin) = stdin {
                // A hook need not read what it is told.
                let _ = stdin.write_all(&input).await;
            }
        };
        let talk = async { tokio::join!(feed, capture(stdout, out), capture(stderr, err)) };
        let over = tokio::time::sleep(limit);
        tokio::pin!(talk, over);
        let mut talks = true;
        loop {
            tokio::select! {
                biased;
                ((), more_out, more_err) = &mut talk, if talks => {
                    talks = false;
                    if more_out.is_err() || more_err.is_err() {
                        return First::Flooded;
                    }
                }
                status = self.child.wait() => {
                    // Waiting fails only for a child that is none of ours.
                    let status = status.unwrap_or_else(|_| ExitStatus::from_raw(1 << 8));
                    if talks {
                        let _ = tokio::time::timeout(PIPE_GRACE, talk).await;
                    }
                    return First::Ended(status);
                }
                () = &mut over => return First::TimedOut,
            }
        }
    }

    /// Asks it to end, and ends it.
    async fn end(&mut self) {
        self.tree.signal_group(Signal::TERM);
        let _ = tokio::time::timeout(END_GRACE, self.child.wait()).await;
        self.tree.end();
        let _ = tokio::time::timeout(END_GRACE, self.child.wait()).await;
        self.tree.is_over = true;
    }
}

/// More came than anybody waits for.
struct Flood;

/// Keeps the beginning of a stream and counts the rest.
async fn capture(stream: Option<impl AsyncRead + Unpin>, into: &mut Captured) -> Result<(), Flood> {
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
            return Err(Flood);
        }
    }
}

/// The processes of one hook.
struct Tree {
    group: Option<Pid>,
    mark: String,
    /// It ended, or was ended: nothing is left to do.
    is_over: bool,
}

impl Tree {
    fn new(child: &Child, mark: String) -> Tree {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Tree { group: id.and_then(Pid::from_raw), mark, is_over: false }
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Its leader was not waited for, so the number is still its own.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Kills the group, and then those that left it, until none is found.
    fn end(&self) {
        self.signal_group(Signal::KILL);
        for _ in 0..END_ROUNDS_MAX {
            if !kill_marked(&self.mark) {
                return;
            }
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.is_over {
            self.end();
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
