//! Signals from outside as events, and the last resort when nobody acts on them.

use std::io;
use std::time::Duration;

use rustix::stdio::stdout;
use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc::Sender;

use super::{Event, Size, restore};

/// How long the program has to end by itself after it was told to.
const END_WAIT: Duration = Duration::from_secs(10);

/// What somebody outside wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
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

impl Signal {
    /// The number by which the shell knows it; none: it does not end the program.
    fn ends_with(self) -> Option<i32> {
        match self {
            Signal::Hangup => Some(1),
            Signal::Quit => Some(3),
            Signal::Terminate => Some(15),
            Signal::Interrupt | Signal::Suspend | Signal::Continue => None,
        }
    }
}

/// The streams of all of them.
struct Streams {
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
pub(super) fn listen(events: Sender<Event>) -> io::Result<()> {
    let mut streams = Streams {
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
                () = patience(ending) => break,
            };
            let last = match event {
                Event::Signal(signal) => signal.ends_with(),
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

async fn patience(ending: Option<i32>) {
    match ending {
        Some(_) => tokio::time::sleep(END_WAIT).await,
        None => std::future::pending().await,
    }
}

impl Streams {
    async fn next(&mut self) -> Event {
        let signal = tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hangup.recv() => Signal::Hangup,
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.quit.recv() => Signal::Quit,
            _ = self.suspend.recv() => Signal::Suspend,
            _ = self.resume.recv() => Signal::Continue,
            _ = self.window.recv() => return Event::Resize(size()),
        };
        Event::Signal(signal)
    }
}

/// How large the terminal is now; nothing when it does not say.
pub(super) fn size() -> Size {
    match tcgetwinsize(stdout()) {
        Ok(found) => Size { columns: found.ws_col, rows: found.ws_row },
        Err(_) => Size::default(),
    }
}
