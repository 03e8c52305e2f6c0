//! Signals from outside as events, and the last resort when nobody acts on them.

use std::io;
use std::time::Duration;

use rustix::stdio::stdout;
use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc::Sender;

use super::{TerminalEvent, TerminalSize, restore};

/// How long the program has to end by itself after it was told to.
const END_WAIT: Duration = Duration::from_secs(10);

/// What somebody outside wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalSignal {
    /// The program is to end (`SIGTERM`).
    Terminate,
    /// The terminal is gone (`SIGHUP`).
    Hangup,
    /// What runs is to stop (`SIGINT` from outside: the key comes as a key).
    Interrupt,
    /// The program is to end (`SIGQUIT`).
    Quit,
    /// The program is to stop for a while (`SIGTSTP`): see `Terminal::stop`.
    Suspend,
    /// It goes on (`SIGCONT`).
    Continue,
}

impl TerminalSignal {
    /// The number by which the shell knows it; none: it does not end the program.
    fn ends_with(self) -> Option<i32> {
        match self {
            TerminalSignal::Hangup => Some(1),
            TerminalSignal::Quit => Some(3),
            TerminalSignal::Terminate => Some(15),
            TerminalSignal::Interrupt | TerminalSignal::Suspend | TerminalSignal::Continue => None,
        }
    }
}

/// The streams of all of them.
struct SignalStreams {
    terminate: Stream,
    hangup: Stream,
    interrupt: Stream,
    quit: Stream,
    suspend: Stream,
    resume: Stream,
    window: Stream,
}

/// Listens until the runtime ends. Whoever listens to no events any more is ended at once: from
/// here on the signals have no other effect.
pub(super) fn listen_for_signals(events: Sender<TerminalEvent>) -> io::Result<()> {
    let mut streams = SignalStreams {
        terminate: signal(SignalKind::terminate())?,
        hangup: signal(SignalKind::hangup())?,
        interrupt: signal(SignalKind::interrupt())?,
        quit: signal(SignalKind::quit())?,
        suspend: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
        resume: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        window: signal(SignalKind::window_change())?,
    };
    tokio::spawn(async move {
        let mut ending: Option<i32> = None;
        loop {
            let event = tokio::select! {
                event = streams.next() => event,
                () = wait_until_forced_end(ending) => break,
            };
            let last = match event {
                TerminalEvent::Signal(signal) => signal.ends_with(),
                _ => None,
            };
            let told = events.send(event).await.is_ok();
            if last.is_some() && (ending.is_some() || !told) {
                ending = last;
                break;
            }
            ending = ending.or(last);
        }
        restore::give_back(None);
        std::process::exit(128 + ending.unwrap_or(0));
    });
    Ok(())
}

async fn wait_until_forced_end(ending: Option<i32>) {
    match ending {
        Some(_) => tokio::time::sleep(END_WAIT).await,
        None => std::future::pending().await,
    }
}

impl SignalStreams {
    async fn next(&mut self) -> TerminalEvent {
        let signal = tokio::select! {
            _ = self.terminate.recv() => TerminalSignal::Terminate,
            _ = self.hangup.recv() => TerminalSignal::Hangup,
            _ = self.interrupt.recv() => TerminalSignal::Interrupt,
            _ = self.quit.recv() => TerminalSignal::Quit,
            _ = self.suspend.recv() => TerminalSignal::Suspend,
            _ = self.resume.recv() => TerminalSignal::Continue,
            _ = self.window.recv() => return TerminalEvent::Resize(terminal_size()),
        };
        TerminalEvent::Signal(signal)
    }
}

/// How large the terminal is now; nothing when it does not say.
pub(super) fn terminal_size() -> TerminalSize {
    match tcgetwinsize(stdout()) {
        Ok(found) => TerminalSize { columns: found.ws_col, rows: found.ws_row },
        Err(_) => TerminalSize::default(),
    }
}
