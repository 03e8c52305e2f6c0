//! All integration tests of this crate in one binary.

mod histories;
mod http;
mod script_journal;
mod script_model;
mod script_serve;
mod support;
mod wire;
