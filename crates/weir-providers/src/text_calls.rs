//! Calls that a model wrote as text (V5): a tolerant, total, bounded parser for the known formats.
//!
//! A call counts only when its name is one of the tools that were offered, and its block is whole: between
//! marks, or, where a format has none, at the end of the reply. What is ambiguous stays text: code that
//! quotes a call, a quotation, half a call. No reply takes more than linear time. Not here: asking a model, and
//! whether a call may run, which the gate decides as of any other.

mod bare;
mod begin;
mod block;
mod call;
mod counted;
mod fence;
mod formats;
mod held;
mod markup;
mod named;
mod offered;
mod python;
mod repair;
mod scan;
mod tagged;
mod told;
mod value;
mod walk;

use formats::FORMATS;

pub use call::TextCall;
pub use held::HeldText;
pub use offered::{CallHabit, OfferedTool, OfferedTools};
pub use told::ToldWords;

/// Longest reply that is looked through; calls in a longer one stay text.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// A piece of a reply, in the order in which the model wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum FoundPiece {
    /// Text that is no call.
    Said(String),
    /// A call.
    Call(TextCall),
}

/// What a reply is made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FoundCalls {
    /// Text and calls. Without a call it is the whole text, unchanged.
    pub pieces: Vec<FoundPiece>,
    /// Names of the formats in which calls were found, each once.
    pub formats: Vec<&'static str>,
    /// What was put right or left alone, each in words.
    pub repairs: Vec<String>,
}

impl FoundCalls {
    /// All calls in order.
    pub fn calls(&self) -> impl Iterator<Item = &TextCall> {
        self.pieces.iter().filter_map(|piece| match piece {
            FoundPiece::Call(call) => Some(call),
            FoundPiece::Said(_) => None,
        })
    }
}

/// Finds the calls in `text`. `is_quotation` says of the words of a call whether they stand in what the
/// model was given (see [`ToldWords`]): then they are quoted and not called. It is asked only where a call
/// was found.
pub fn find_calls(
    text: &str,
    tools: &OfferedTools,
    is_quotation: &dyn Fn(&str) -> bool,
) -> FoundCalls {
    scan::find_calls(text, tools, is_quotation)
}

/// Names of all formats that are read, those in code fences included.
pub fn format_names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name).chain(fence::NAMES.iter().copied())
}
