//! The terminal's back ends: what serves the terminal face, on the sessions of this process (`local`) or
//! on those of a running `weir serve` that it is attached to (`remote`) (F1).
//!
//! A library: it prints nothing and knows no options; the program hands in what a person chose and how
//! they are asked. Not here: anything that is drawn (`weir-tui`), and which back end is begun (`weir`).

use std::path::PathBuf;

use weir_install::context::InstallationContext;

mod clipboard;
mod copies;
mod decisions;
mod file_text;
pub mod local;
pub mod remote;
mod reports;

/// The file of earlier messages, one for the machine.
fn message_history_file(cx: &InstallationContext) -> PathBuf {
    cx.dirs.state.join("history.jsonl")
}
