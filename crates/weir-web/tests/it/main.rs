//! The guarded client and the proxy of commands, against servers on this machine.
#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod egress;
mod fetching;
mod names;
mod requests;
mod secrets;
mod server;
mod witness;
