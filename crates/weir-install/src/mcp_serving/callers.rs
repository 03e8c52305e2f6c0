//! Who waits for a call of a client, and what they are told. Not here: what happens (`driver`), and how it is
//! put (`log`).

use tokio::sync::{mpsc, oneshot, watch};
use weir_mcp_server::{CallNews, ClientIdentity, LogLevel, LogLine, ModelAnswer};

use super::board::CallNumber;
use super::log::told_line;

/// Whoever waits for a call.
pub(super) struct WaitingCaller {
    pub(super) client: ClientIdentity,
    pub(super) tool: String,
    pub(super) news: mpsc::UnboundedSender<CallNews>,
    pub(super) log: mpsc::Sender<LogLine>,
    /// Lines of the log that nobody had room for since the last one.
    pub(super) left_out: u32,
    /// Only the newest line: there may be more of them than anybody reads.
    pub(super) progress: watch::Sender<String>,
}

impl WaitingCaller {
    /// Tells a line, if there is room: nobody waits for whoever does not read.
    pub(super) fn log_line(&mut self, level: LogLevel, text: &str, secrets: &[String]) {
        if self.left_out > 0 && self.log.capacity() > 1 {
            let text = format!("{} lines were left out", std::mem::take(&mut self.left_out));
            let _ = self.log.try_send(told_line(LogLevel::Warning, &text, &self.tool, secrets));
        }
        if self.left_out > 0
            || self.log.try_send(told_line(level, text, &self.tool, secrets)).is_err()
        {
            self.left_out = self.left_out.saturating_add(1);
        }
    }
}

/// A question that a client's model has.
pub(super) struct AskedModel {
    pub(super) call: CallNumber,
    pub(super) reply: oneshot::Sender<ModelAnswer>,
}
