//! One process of the binary: started, listened to, and killed at its moment or left to end.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::Value;

use super::house::House;
use super::moment::Moment;
use super::victim::{self, Victim};

/// A process that does not end by itself in this time hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How often the witness is looked at, when a kill waits for it.
const GLANCE: Duration = Duration::from_micros(200);

/// How often a process is looked for that is to be hit: it lives for longer.
const LOOK_AGAIN: Duration = Duration::from_millis(3);

/// How a process ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself.
    Itself(ExitStatus),
    /// We killed it at its moment.
    Killed(Instant),
    /// It did not end, and we killed it for that.
    Hung,
}

/// Who speaks with a process on its standard input and output, line by line.
pub(super) trait Partner {
    /// Begins to speak.
    fn begin(&mut self, stdin: Option<ChildStdin>);
    /// Takes in a line.
    fn hear(&mut self, line: &[u8]);
}

/// What a process did.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) end: End,
    /// Whole lines of standard output: what it acknowledged.
    pub(super) printed: Vec<Value>,
    /// Whole lines that were no JSON.
    pub(super) garbage: Vec<String>,
    pub(super) took: Duration,
    /// How long it took to say its first word.
    pub(super) first: Option<Duration>,
    /// How often something else than the process was hit.
    pub(super) hits: u64,
}

impl Ran {
    /// Whether it printed a fact of this kind. What has no place in the journal is told, and no fact.
    pub(super) fn printed_kind(&self, kind: &str) -> bool {
        self.printed.iter().any(|fact| fact["kind"] == kind && fact["seq"].is_u64())
    }
}

/// What is hit at the moment of a process.
#[derive(Clone, Copy)]
pub(super) struct Hit<'a> {
    pub(super) moment: Moment,
    /// How long after each hit the next one comes.
    pub(super) again: &'a [Duration],
    pub(super) victim: Victim,
    pub(super) house: &'a House,
}

/// Where what a process prints is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Logs<'a> {
    /// Its standard output.
    pub(super) out: &'a Path,
    /// Its standard error.
    pub(super) errors: &'a Path,
}

/// Runs `command` until it ends or its moment has come; `partner` speaks with it, if it serves one.
pub(super) fn run(
    mut command: Command,
    hit: Hit<'_>,
    logs: Logs<'_>,
    mut partner: Option<&mut dyn Partner>,
) -> anyhow::Result<Ran> {
    if partner.is_some() {
        command.stdin(Stdio::piped());
    }
    let witness = &hit.house.witness;
    let (written_before, began) = (size(witness), Instant::now());
    let (mut hits, mut again) = (0, hit.again.iter().copied());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(File::create(logs.errors)?)
        .spawn()
        .context("starting weir")?;
    hit.house.wait_until_begun(child.id());
    if let Some(partner) = partner.as_deref_mut() {
        partner.begin(child.stdin.take());
    }
    let stdout = child.stdout.take().context("its output is piped")?;
    let lines = listen(stdout);
    let mut watch = Watch::of(hit.moment, written_before, began);
    let (mut text, mut first): (Vec<Vec<u8>>, Option<Duration>) = (Vec::new(), None);
    let ended = loop {
        if watch.is_due() {
            if hit.victim == Victim::Engine {
                break None;
            }
            let is_hit = victim::hit(hit.victim, hit.house, child.id())?;
            hits += u64::from(is_hit);
            watch.hit(is_hit, &mut again);
        }
        if began.elapsed() > PATIENCE {
            break Some(true);
        }
        match lines.recv_timeout(watch.wait()) {
            Ok(line) => {
                first.get_or_insert_with(|| began.elapsed());
                watch.line(&line);
                if let Some(partner) = partner.as_deref_mut() {
                    partner.hear(&line);
                }
                text.push(line);
            }
            Err(RecvTimeoutError::Timeout) => watch.glance(witness),
            // Its output is closed: it is ending.
            Err(RecvTimeoutError::Disconnected) => break Some(false),
        }
    };
    let end = end(&mut child, ended)?;
    let took = began.elapsed();
    while let Ok(line) = lines.recv_timeout(PATIENCE) {
        text.push(line);
    }
    fs::write(logs.out, text.concat())?;
    let mut ran = Ran { end, printed: Vec::new(), garbage: Vec::new(), took, first, hits };
    for line in text {
        match serde_json::from_slice(&line) {
            Ok(value) => ran.printed.push(value),
            Err(_) => ran.garbage.push(String::from_utf8_lossy(&line).into_owned()),
        }
    }
    Ok(ran)
}

/// Brings a process to its end: `None`, it is killed; otherwise it hung, or ends by itself.
fn end(child: &mut Child, hung: Option<bool>) -> anyhow::Result<End> {
    match hung {
        Some(false) => Ok(End::Itself(child.wait()?)),
        Some(true) => {
            child.kill()?;
            child.wait()?;
            Ok(End::Hung)
        }
        None => {
            child.kill()?;
            let killed = Instant::now();
            // An exit that was quicker than the kill is an exit.
            let status = child.wait()?;
            Ok(if status.code().is_some() { End::Itself(status) } else { End::Killed(killed) })
        }
    }
}

/// Sends whole lines; what a kill cut off in the middle was not said.
fn listen(stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        loop {
            let mut line = Vec::new();
            let read = reader.read_until(b'\n', &mut line);
            if !read.is_ok_and(|bytes| bytes > 0) || line.last() != Some(&b'\n') {
                return;
            }
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits for the moment.
pub(super) struct Watch {
    moment: Moment,
    seen: u64,
    written: u64,
    due: Option<Instant>,
    began: Instant,
}

impl Watch {
    /// For a process that began at this moment, when the witness had so many bytes.
    pub(super) fn of(moment: Moment, written: u64, began: Instant) -> Watch {
        let due = moment.latest().map(|latest| began + latest);
        Watch { moment, seen: 0, written, due, began }
    }

    /// Whether the moment has come.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_some_and(|due| Instant::now() >= due)
    }

    fn wait(&self) -> Duration {
        let rest = match self.due {
            Some(due) => due.saturating_duration_since(Instant::now()),
            None => PATIENCE.saturating_sub(self.began.elapsed()),
        };
        let glances = matches!(self.moment, Moment::Witness { .. });
        if glances { rest.min(GLANCE) } else { rest }
    }

    fn line(&mut self, line: &[u8]) {
        if matches!(self.moment, Moment::Fact { .. }) {
            self.fact(&serde_json::from_slice(line).unwrap_or_default());
        }
    }

    /// It came, and something was hit, or is still looked for; `again` says when the next hit comes.
    pub(super) fn hit(&mut self, is_hit: bool, again: &mut impl Iterator<Item = Duration>) {
        self.moment = Moment::Never;
        let wait = if is_hit { again.next() } else { Some(LOOK_AGAIN) };
        self.due = wait.map(|wait| Instant::now() + wait);
    }

    /// Takes in a fact.
    pub(super) fn fact(&mut self, fact: &Value) {
        let Moment::Fact { kind, nth, then, .. } = self.moment else { return };
        if fact["kind"] == kind {
            self.count(nth, then);
        }
    }

    /// Looks whether something wrote to the witness.
    pub(super) fn glance(&mut self, witness: &Path) {
        let Moment::Witness { nth, then, .. } = self.moment else { return };
        let written = size(witness);
        if written != self.written {
            self.written = written;
            self.count(nth, then);
        }
    }

    fn count(&mut self, nth: u64, then: Duration) {
        self.seen += 1;
        if self.seen == nth {
            let due = Instant::now() + then;
            self.due = self.due.map(|latest| latest.min(due));
        }
    }
}

/// Bytes of a file; none where there is none.
pub(super) fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
