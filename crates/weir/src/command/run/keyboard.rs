//! Lines from the terminal, read only while somebody is being asked (G4).
//!
//! Nothing is read ahead and no read is left behind: when a question is answered elsewhere, what
//! was typed for it must not answer the next one.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::io::unix::AsyncFd;

/// Longest line that is taken, in bytes; a longer one ends here.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Standard input as a terminal.
pub(super) struct StdinTerminal {
    input: AsyncFd<BorrowedFd<'static>>,
    typed: Vec<u8>,
}

impl StdinTerminal {
    /// The terminal; `None` where standard input cannot be waited for.
    pub(super) fn open() -> Option<StdinTerminal> {
        #[expect(
            deprecated,
            reason = "its successor is unsafe because a type may lie about its descriptor; \
                      standard input is open as long as the program runs"
        )]
        let input = AsyncFd::new(rustix::stdio::stdin()).ok()?;
        Some(StdinTerminal { input, typed: Vec::new() })
    }

    /// The next line; `None`: the terminal has gone or its input was ended. May be dropped and
    /// called again.
    pub(super) async fn next_line(&mut self) -> Option<String> {
        loop {
            let end = self.typed.iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.or_else(|| self.is_full().then(|| self.typed.len() - 1)) {
                let line: Vec<u8> = self.typed.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line).trim().to_string());
            }
            let mut ready = self.input.readable().await.ok()?;
            if !has_input(*self.input.get_ref()) {
                ready.clear_ready();
                continue;
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(self.input.get_ref(), &mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.typed.extend_from_slice(&bytes[..count]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => (),
                Err(_) => return None,
            }
        }
    }

    /// Throws away what was typed and not taken, also a line that is not finished.
    pub(super) fn discard_typed(&mut self) {
        self.typed.clear();
        // A terminal that has gone has nothing to throw away.
        let _ = tcflush(self.input.get_ref(), QueueSelector::IFlush);
    }

    fn is_full(&self) -> bool {
        self.typed.len() >= LINE_BYTES_MAX
    }
}

/// Whether a read would return at once.
fn has_input(input: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}
