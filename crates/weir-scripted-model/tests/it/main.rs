//! All integration tests of this crate in one binary.

mod journal;
mod model;
mod serve;
