//! The other end of the link to the terminal interface (F1): on an engine in this process (`local`),
//! or at a running `weir serve` (`remote`). Not here: anything that is drawn (`weir-tui`).

use std::path::PathBuf;

use weir_install::cx::Cx;

mod clipboard;
mod copies;
pub(crate) mod local;
pub(crate) mod remote;

/// The file of earlier messages, one for the machine.
pub(crate) fn message_history_file(cx: &Cx) -> PathBuf {
    cx.dirs.state.join("history.jsonl")
}
