//! Braces of the shell: which words have a list or a range in them. Not here: patterns, and words that a variable or
//! a command gives.

/// How much of what makes a pair of braces a list or a range stands in a word, outside of quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BraceSigns {
    Nothing,
    /// `{`
    Open,
    /// `{a,` or `{a..`
    Parted,
    /// `{a,b}`
    Whole,
}

impl BraceSigns {
    /// The same with what stands behind it.
    pub(super) fn add_signs(mut self, behind: &str) -> BraceSigns {
        use BraceSigns::{Nothing, Open, Parted, Whole};
        if self == Whole || (self == Nothing && !behind.contains('{')) {
            return self;
        }
        for (at, byte) in behind.bytes().enumerate() {
            self = match (self, byte) {
                (Nothing, b'{') => Open,
                (Open, b',') => Parted,
                (Open, b'.') if behind[at + 1..].starts_with('.') => Parted,
                (Parted, b'}') => Whole,
                _ => self,
            };
        }
        self
    }
}
