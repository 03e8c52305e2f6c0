//! Tokens that were used, as vendors count them. Not here: what they cost (`model`).

use serde::{Deserialize, Serialize};

/// Tokens that a vendor reported for one reply. `input` excludes what the cache served or took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens at full price.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens written to the cache.
    #[serde(default)]
    pub cache_write: u64,
    /// Of the output, what was reasoning.
    #[serde(default)]
    pub reasoning: u64,
}

impl Usage {
    /// Adds `other` to this.
    pub fn add(&mut self, other: &Usage) {
        let sums = [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.reasoning, other.reasoning),
        ];
        // A vendor may report any number: no sum of them may end the program or become small.
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
    /// Whether nothing was counted at all.
    pub fn is_nothing(&self) -> bool {
        *self == Usage::default()
    }
    /// All tokens that count towards a token budget.
    pub fn total_tokens(&self) -> u64 {
        let rest = [self.output, self.cache_read, self.cache_write];
        rest.into_iter().fold(self.input, u64::saturating_add)
    }
}
