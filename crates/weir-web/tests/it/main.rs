//! The guarded client against a server on this machine.
#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod fetching;
mod server;
