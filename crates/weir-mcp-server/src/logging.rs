//! The lines of a call's log that its client wants to hear: of the level that it asked for, with its connection
//! (revisions with a handshake) or with the request itself (without), and at a pace. Nobody hears lines who did
//! not ask for them. Not here: what is worth a line.

#![expect(deprecated, reason = "log lines are what clients of the revisions with a handshake have")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use serde_json::json;
use tokio::time::Instant;

use crate::agent::{LogLevel, LogLine};
use crate::asking::is_newest;
use crate::translate::{log_level_of, log_message_of};

/// Lines that may come at once.
const LINES_AT_ONCE: u32 = 100;
/// Lines a second, over time.
const LINES_PER_SECOND: u32 = 20;

/// What a connection hears of the log.
#[derive(Default)]
pub(crate) struct ConnectionLog {
    state: Mutex<LogState>,
}

struct LogState {
    /// The least that is told; `None`: nothing was asked for.
    level: Option<LogLevel>,
    pace: LogPace,
}

impl Default for LogState {
    fn default() -> LogState {
        LogState { level: None, pace: LogPace::new(Instant::now()) }
    }
}

/// How many more lines may be told now.
struct LogPace {
    /// In parts of a line: [`LINES_PER_SECOND`] of them come back each millisecond, and a line takes 1,000.
    left: u32,
    at: Instant,
    /// Lines that were left out since the last one that was told.
    left_out: u32,
}

const LINE: u32 = 1_000;

impl LogPace {
    fn new(now: Instant) -> LogPace {
        LogPace { left: LINES_AT_ONCE * LINE, at: now, left_out: 0 }
    }

    /// Whether a line is told now, and how many before it were not.
    fn admit_line(&mut self, now: Instant) -> Option<u32> {
        let passed = now.saturating_duration_since(self.at).as_millis();
        let back = u32::try_from(passed).unwrap_or(u32::MAX).saturating_mul(LINES_PER_SECOND);
        if back > 0 {
            self.left = self.left.saturating_add(back).min(LINES_AT_ONCE * LINE);
            self.at = now;
        }
        match self.left.checked_sub(LINE) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out = self.left_out.saturating_add(1);
                None
            }
        }
    }
}

impl ConnectionLog {
    fn lock_state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on lines of this level and above are told.
    pub(crate) fn set_level(&self, level: LogLevel) {
        self.lock_state().level = Some(level);
    }
}

/// Tells the lines of one call.
pub(crate) struct LogTeller {
    peer: Peer<RoleServer>,
    connection: Arc<ConnectionLog>,
    /// What the request itself asks for, where it is of the revision in which it does.
    of_request: Option<Option<LogLevel>>,
}

impl LogTeller {
    pub(crate) fn of_request(
        context: &RequestContext<RoleServer>,
        connection: &Arc<ConnectionLog>,
    ) -> LogTeller {
        let asked = || context.meta.log_level().map(log_level_of);
        LogTeller {
            peer: context.peer.clone(),
            connection: connection.clone(),
            of_request: is_newest(context).then(asked),
        }
    }

    /// How many lines were left out before this one; `None`: it is not told either.
    fn admit_line(&self, level: LogLevel) -> Option<u32> {
        let mut state = self.connection.lock_state();
        let least = self.of_request.unwrap_or(state.level)?;
        if level < least { None } else { state.pace.admit_line(Instant::now()) }
    }

    pub(crate) async fn tell_client(&self, line: LogLine) {
        let Some(left_out) = self.admit_line(line.level) else { return };
        if left_out > 0 {
            let data =
                json!({"message": format!("{left_out} lines were left out: too many at once")});
            self.send_line(LogLine { level: LogLevel::Warning, logger: line.logger, data }).await;
        }
        self.send_line(line).await;
    }

    async fn send_line(&self, line: LogLine) {
        // Whoever has gone hears nothing.
        let _ = self.peer.notify_logging_message(log_message_of(line)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn r2_lines_come_at_a_pace_and_what_is_left_out_is_said() {
        let began = Instant::now();
        let mut pace = LogPace::new(began);
        let told = (0..LINES_AT_ONCE + 30).filter(|_| pace.admit_line(began).is_some()).count();
        assert_eq!(told, LINES_AT_ONCE as usize);
        let second = began + Duration::from_secs(1);
        assert_eq!(pace.admit_line(second), Some(30));
        let told = (0..100).filter(|_| pace.admit_line(second).is_some()).count();
        assert_eq!(told, LINES_PER_SECOND as usize - 1);
        let much_later = began + Duration::from_secs(60 * 60 * 24 * 365);
        let told = (0..500).filter(|_| pace.admit_line(much_later).is_some()).count();
        assert_eq!(told, LINES_AT_ONCE as usize, "what was not used is not saved up");
    }
}
