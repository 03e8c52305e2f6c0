//! `weir serve` as a process of its own, and somebody who uses it. For benches and for proofs by kills. Not
//! here: what is asked of it, and what is held against it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

pub(crate) mod person;

/// How it says where it listens.
const LISTENING: &str = "listening on http://";

/// What is waited for, `what` in words, within this time.
///
/// # Errors
/// It does not come.
pub(crate) async fn wait_at_most<T>(
    time: Duration,
    what: &str,
    waited_for: impl Future<Output = T>,
) -> anyhow::Result<T> {
    let come = tokio::time::timeout(time, waited_for).await;
    come.with_context(|| format!("{what}: waited for {} s in vain", time.as_secs()))
}

/// A server. Dropping it kills it.
pub(crate) struct ServedProcess {
    child: Child,
    /// Where it listens, once it has said so.
    said: Receiver<String>,
}

impl Drop for ServedProcess {
    fn drop(&mut self) {
        // It may have ended; one that was stopped ends by this as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ServedProcess {
    /// Starts `command`, which is one of `weir serve`; what it says goes to `log`, behind what is there.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(mut command: Command, log: &Path) -> anyhow::Result<ServedProcess> {
        let mut log = fs::File::options().append(true).create(true).open(log)?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting weir serve")?;
        let stderr = child.stderr.take().context("it was piped")?;
        let (sender, said) = channel();
        thread::spawn(move || {
            // Read to its end, so that the pipe never fills.
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // What cannot be logged is only missed by whoever reads the log.
                let _ = writeln!(log, "{line}");
                if let Some((_, address)) = line.split_once(LISTENING) {
                    // Nobody may wait for it any more.
                    let _ = sender.send(address.trim().to_owned());
                }
            }
        });
        Ok(ServedProcess { child, said })
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it listens: `127.0.0.1:PORT`; `None`: it does not in this time.
    ///
    /// # Errors
    /// It ended.
    pub(crate) fn wait_for_address(&mut self, time: Duration) -> anyhow::Result<Option<String>> {
        match self.said.recv_timeout(time) {
            Ok(address) => Ok(Some(address)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("weir serve ended with {} before it listened", self.child.wait()?)
            }
        }
    }

    /// SIGKILL; how it ended, which is by itself where it was quicker.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    /// How it ended, if it did.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Tells it to end, and waits; how it ended, `None`: it did not in this time.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn end_and_wait(&mut self, time: Duration) -> anyhow::Result<Option<ExitStatus>> {
        self.signal(Signal::TERM)?;
        let until = Instant::now() + time;
        loop {
            match self.ended()? {
                None if Instant::now() < until => thread::sleep(Duration::from_millis(10)),
                status => return Ok(status),
            }
        }
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), signal).context("sending a signal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn s17_what_is_waited_for_in_vain_is_named() {
        let waited = wait_at_most(Duration::from_millis(1), "GET /x", std::future::pending::<()>());
        let error = waited.await.expect_err("it never comes");
        assert_eq!(error.to_string(), "GET /x: waited for 0 s in vain");
        let come = wait_at_most(Duration::from_secs(60), "GET /x", std::future::ready(1)).await;
        assert_eq!(come.expect("it is there"), 1);
    }
}
