//! All integration tests of this crate in one binary.

mod script_journal;
mod script_model;
mod script_serve;
mod histories;
mod http;
mod support;
mod wire;
