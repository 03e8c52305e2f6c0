//! Follows one supervisor to its end: progress, cancel, reports; and does its work when it cannot.

use std::fs::File;
use std::future;
use std::io::Read;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{CommandEnd, ProgressSink};

use super::launch::SupervisedCommand;
use crate::output::{CharacterDecoder, HeadTail};
use crate::process_tree::{ProcessEntry, descendants_of, end_all, marked_processes};
use crate::record::{CommandRecord, RecordFile, SyncLevel};
use crate::wire::{CANCEL, CommandEnding, SupervisorReport};

/// After a cancel the supervisor has so long before the engine ends the tree itself: together
/// less than the second that is promised (L14).
const CANCEL_PATIENCE: Duration = Duration::from_millis(500);

/// The same for one that was found stopped: whoever did that may do it again.
const STOPPED_PATIENCE: Duration = Duration::from_millis(250);

/// After the wall time the supervisor has so long before the engine ends the tree itself.
const TIMEOUT_PATIENCE: Duration = Duration::from_secs(2);

/// How long the engine tries by itself to end what is left.
const FORCE_PATIENCE: Duration = Duration::from_secs(5);

/// How long a supervisor may take to start the command. Its disk may be slow.
const START_PATIENCE: Duration = Duration::from_secs(30);

/// How long a supervisor may take to exit after its last report.
const EXIT_PATIENCE: Duration = Duration::from_secs(2);

/// Most refused hosts that are told.
const HOSTS_MAX: usize = 8;

/// Why there is no last report from the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SupervisorLoss {
    /// It closed its end of the socket.
    Gone,
    /// It did not answer a cancel.
    Cancelled,
    /// It did not keep the wall time.
    OutOfTime,
}

/// What ending a tree by force came to.
struct ForcedEnd {
    lost: SupervisorLoss,
    left: usize,
    status: Option<ExitStatus>,
}

/// Waits until the command runs.
///
/// # Errors
/// Why it does not; nothing of it is alive then.
pub(super) async fn until_started(
    mut supervised: SupervisedCommand,
) -> Result<SupervisedCommand, String> {
    let SupervisedCommand { control, received, .. } = &mut supervised;
    match timeout(START_PATIENCE, next_report(control, received)).await {
        Ok(Some(SupervisorReport::Started)) => Ok(supervised),
        Ok(Some(SupervisorReport::Ended(ending))) => Err(match ending.end {
            CommandEnd::NotStarted { why } => why,
            other => format!("it ended before it was seen to start: {other:?}"),
        }),
        Ok(None) => {
            let why = "its supervisor ended without a word".into();
            Err(end_unstarted(supervised, SupervisorLoss::Gone, why).await)
        }
        Err(_) => {
            let why = format!("its supervisor did not start it within {START_PATIENCE:?}");
            Err(end_unstarted(supervised, SupervisorLoss::OutOfTime, why).await)
        }
    }
}

/// Ends what there may be of a command whose supervisor did not say that it runs. Why it does not, with
/// what it may have done before.
async fn end_unstarted(supervised: SupervisedCommand, lost: SupervisorLoss, why: String) -> String {
    let ending = by_force(supervised, lost).await;
    match ending.end {
        CommandEnd::NotStarted { .. } => why,
        _ => format!("{why}, and parts of it may have run: {}", ending.output.trim()),
    }
}

/// Follows the command to its end; nothing of it is alive when this returns.
pub(super) async fn to_the_end(
    mut supervised: SupervisedCommand,
    progress: &ProgressSink,
    cancel: &CancellationToken,
) -> CommandEnding {
    let ended = follow_command(&mut supervised, progress, cancel).await;
    let line = supervised.line.take();
    let mut ending = match ended {
        Ok(ending) => {
            // It exits right after its last report; waiting for it leaves no zombie.
            if timeout(EXIT_PATIENCE, supervised.child.wait()).await.is_err() {
                let _ = supervised.child.start_kill();
                let _ = supervised.child.wait().await;
            }
            ending
        }
        Err(lost) => by_force(supervised, lost).await,
    };
    let hosts = line.map(|line| line.refused_hosts()).unwrap_or_default();
    ending
        .refused
        .splice(0..0, hosts.into_iter().take(HOSTS_MAX).map(|host| format!("host {host}")));
    ending
}

async fn follow_command(
    supervised: &mut SupervisedCommand,
    sink: &ProgressSink,
    cancel: &CancellationToken,
) -> Result<CommandEnding, SupervisorLoss> {
    let SupervisedCommand { child, control, received, progress, request, .. } = supervised;
    let wall = Duration::from_millis(request.timeout_ms);
    let mut deadline =
        Instant::now().checked_add(wall).and_then(|end| end.checked_add(TIMEOUT_PATIENCE));
    let mut cancelled = false;
    let mut characters = CharacterDecoder::default();
    let mut bytes = vec![0; if progress.is_some() { 64 << 10 } else { 0 }];
    let ending = loop {
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !cancelled => {
                cancelled = true;
                let patience = if wake_supervisor(child) { STOPPED_PATIENCE } else { CANCEL_PATIENCE };
                deadline = Some(Instant::now() + patience);
                // One byte into an empty socket; an error means that it is gone, seen below.
                let _ = timeout(CANCEL_PATIENCE, control.write_all(&[CANCEL])).await;
            }
            report = next_report(control, received) => match report {
                Some(SupervisorReport::Started) => {}
                Some(SupervisorReport::Ended(ending)) => break ending,
                None => return Err(if cancelled { SupervisorLoss::Cancelled } else { SupervisorLoss::Gone }),
            },
            count = read_progress(progress.as_mut(), &mut bytes), if progress.is_some() => {
                match count {
                    0 => *progress = None,
                    count => show_progress(sink, &characters.push(&bytes[..count])),
                }
            }
            () = wait_until_deadline(deadline) => {
                return Err(if cancelled { SupervisorLoss::Cancelled } else { SupervisorLoss::OutOfTime });
            }
        }
    };
    // It closed its end before the last report: what is left is there already.
    while let Ok(count @ 1..) =
        timeout(EXIT_PATIENCE, read_progress(progress.as_mut(), &mut bytes)).await
    {
        show_progress(sink, &characters.push(&bytes[..count]));
    }
    show_progress(sink, &characters.finish());
    Ok(ending)
}

/// A command can stop its supervisor, which then cannot hear. Says whether it was stopped.
fn wake_supervisor(supervisor: &Child) -> bool {
    let pid = supervisor.id().and_then(|pid| i32::try_from(pid).ok());
    let Some(process) = pid.and_then(ProcessEntry::read_pid) else { return false };
    process.signal(Signal::CONT);
    process.is_stopped()
}

fn show_progress(sink: &ProgressSink, text: &str) {
    if !text.is_empty() {
        sink.send(text);
    }
}

/// The next piece; 0 at the end and when there is no pipe.
async fn read_progress(progress: Option<&mut pipe::Receiver>, bytes: &mut [u8]) -> usize {
    match progress {
        Some(progress) => progress.read(bytes).await.unwrap_or(0),
        None => 0,
    }
}

async fn wait_until_deadline(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => future::pending().await,
    }
}

/// The next report; `None` when the supervisor is gone or talks nonsense. May be dropped and
/// called again: what was received stays in `received`.
async fn next_report(control: &mut UnixStream, received: &mut Vec<u8>) -> Option<SupervisorReport> {
    /// Head and tail are bounded by the supervisor; escaping makes a byte six at most.
    const REPORT_BYTES_MAX: usize = 64 << 20;
    let mut chunk = [0; 16 << 10];
    let mut searched = 0;
    loop {
        let end = received[searched..].iter().position(|byte| *byte == b'\n');
        if let Some(end) = end.map(|end| searched + end) {
            let report = serde_json::from_slice(&received[..end]).ok();
            received.drain(..=end);
            return report;
        }
        searched = received.len();
        if searched > REPORT_BYTES_MAX {
            return None;
        }
        match control.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => received.extend_from_slice(&chunk[..count]),
        }
    }
}

/// Ends the tree without its supervisor: it was killed or stopped, which only a command that means
/// harm, or an accident, does; or it has more to do than it can do in time.
async fn by_force(mut supervised: SupervisedCommand, lost: SupervisorLoss) -> CommandEnding {
    let pid = supervised.child.id().and_then(|pid| i32::try_from(pid).ok());
    let record = supervised.record.clone();
    let forced = tokio::task::spawn_blocking(move || end_without_supervisor(pid, &record));
    let left = forced.await.unwrap_or(0);
    // While something is left the supervisor stays: without it nobody would end the rest.
    let status = if left == 0 { supervised.child.wait().await.ok() } else { None };
    let SupervisedCommand { record, request, .. } = supervised;
    let forced = ForcedEnd { lost, left, status };
    let concluded = tokio::task::spawn_blocking(move || {
        write_forced_ending(&record, request.keep_bytes, &forced)
    });
    concluded.await.unwrap_or_else(|error| CommandEnding::not_started(error.to_string()))
}

/// Kills what is below the supervisor, then the supervisor, and what carries the call's mark. Says
/// how many processes could not be ended.
pub(super) fn end_without_supervisor(supervisor: Option<i32>, record: &CommandRecord) -> usize {
    use std::os::unix::ffi::OsStrExt;
    if let Some(pid) = supervisor {
        // It adopts what loses its parent: as long as it is there, nothing gets out of sight.
        let left = end_all(|| descendants_of(pid), FORCE_PATIENCE);
        if left > 0 {
            return left;
        }
        if let Some(process) = ProcessEntry::read_pid(pid) {
            process.signal(Signal::KILL);
        }
    }
    let mark = record.dir().as_os_str().as_bytes();
    end_all(|| marked_processes(mark), FORCE_PATIENCE)
}

/// Says how a command ended whose supervisor could not, and writes it down in its place.
fn write_forced_ending(
    record: &CommandRecord,
    keep_bytes: usize,
    forced: &ForcedEnd,
) -> CommandEnding {
    use std::os::unix::process::ExitStatusExt;
    let ForcedEnd { lost, left, status } = *forced;
    if let RecordFile::Whole(ending) = record.read_ending() {
        return ending;
    }
    let status_text = status.map_or_else(|| "not known".to_string(), |status| status.to_string());
    if matches!(record.read_start(), RecordFile::Absent) {
        return match lost {
            SupervisorLoss::Cancelled => {
                CommandEnding { end: CommandEnd::Cancelled, ..CommandEnding::not_started("") }
            }
            SupervisorLoss::Gone | SupervisorLoss::OutOfTime => CommandEnding::not_started(
                format!("its supervisor ended before it started the command ({status_text})"),
            ),
        };
    }
    let (end, note) = match lost {
        SupervisorLoss::Cancelled => {
            (CommandEnd::Cancelled, "its supervisor did not answer in time")
        }
        SupervisorLoss::OutOfTime => {
            (CommandEnd::TimedOut, "its supervisor did not answer in time")
        }
        SupervisorLoss::Gone => {
            let signal = status.and_then(|status| status.signal()).unwrap_or(0);
            (CommandEnd::Signaled { signal }, "its supervisor was ended from outside")
        }
    };
    let note = match left {
        0 => format!("{note} ({status_text}); all processes that could be found were ended"),
        left => format!("{note} ({status_text}); {left} process(es) could not be ended yet"),
    };
    let mut kept = HeadTail::new(keep_bytes);
    if let Ok(mut file) = File::open(record.output_file()) {
        let mut bytes = vec![0; 64 << 10];
        // The file is bounded, and its writer is gone.
        while let Ok(count @ 1..) = file.read(&mut bytes) {
            kept.push(&bytes[..count]);
        }
    }
    let duration_ms = age_ms(record);
    let ending = CommandEnding {
        end,
        output: kept.render(&[note]),
        bytes: kept.total_bytes(),
        duration_ms,
        refused: Vec::new(),
    };
    if let Err(error) = record.write_ending(&ending, SyncLevel::Cache) {
        tracing::warn!(%error, dir = %record.dir().display(), "the end of a command was not kept");
    }
    ending
}

/// Since the output file was made.
fn age_ms(record: &CommandRecord) -> u64 {
    let made = std::fs::metadata(record.output_file()).and_then(|meta| meta.created());
    let age = made.ok().and_then(|made| made.elapsed().ok()).unwrap_or_default();
    u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
}
