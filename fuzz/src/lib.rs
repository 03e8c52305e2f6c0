//! Hostile input for every parser that faces outside (Z10): one function per target, one table.
//!
//! A target takes any bytes and panics when a promise is broken. It knows nothing of how inputs are
//! made: that is the business of [`driver`]. Not part of the program. Parsers that only the program
//! has (settings, profiles) are targets in its own tests, run by the same driver.
#![warn(missing_docs)]

pub mod driver;
pub mod input;
pub mod mutate;
pub mod seeds;
pub mod targets;

pub use targets::TARGETS;

/// One parser under attack.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, also that of its test (`z10_fuzz_NAME`) and of its folder of findings.
    pub name: &'static str,
    /// Feeds any bytes to the parser and panics when a promise of it is broken.
    pub run: fn(&[u8]),
    /// Real inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that the parser knows.
    pub dictionary: &'static [&'static str],
    /// How many inputs a short run takes: one or two seconds in a debug build.
    pub inputs: u64,
}

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
