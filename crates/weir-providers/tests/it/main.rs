//! All integration tests of this crate in one binary.

mod histories;
mod http;
mod pictures;
mod support;
mod wire;
