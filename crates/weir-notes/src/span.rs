//! A place in a text, by bytes. Not here: what stands there (`note`, `properties`).

use serde::{Deserialize, Serialize};

/// A place in a text, in bytes from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ByteSpan {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

impl ByteSpan {
    /// From `start` to before `end`.
    pub fn new(start: usize, end: usize) -> ByteSpan {
        ByteSpan { start, end }
    }
    /// What stands there; empty where the place is not in the text.
    pub fn slice_of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}
