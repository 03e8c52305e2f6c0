//! The signals that end a program: SIGINT and SIGTERM. The first one cancels a run, the second one does not
//! wait for that. Not here: what a cancelled run still does.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::exit;

/// SIGINT and SIGTERM.
pub(in crate::command) struct TerminationSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl TerminationSignals {
    pub(in crate::command) fn new() -> anyhow::Result<TerminationSignals> {
        Ok(TerminationSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The exit status of the signal that came.
    pub(in crate::command) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => exit::INTERRUPTED,
            _ = self.terminate.recv() => exit::TERMINATED,
        }
    }
}

/// The signals of one run.
pub(super) struct RunSignals {
    /// All of them.
    pub(super) every: TerminationSignals,
    /// The exit status of the first one, once it came.
    pub(super) first: Option<u8>,
}

impl RunSignals {
    pub(super) fn new() -> anyhow::Result<RunSignals> {
        Ok(RunSignals { every: TerminationSignals::new()?, first: None })
    }

    /// The exit status of the second one.
    pub(super) async fn next_second(&mut self) -> u8 {
        loop {
            let code = self.every.next().await;
            if self.first.is_some() {
                return code;
            }
            self.first = Some(code);
        }
    }
}
