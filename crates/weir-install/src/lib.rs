//! The installation of Weir on a machine: settings with the origin of each value, trust, profiles,
//! secrets, keys, models, servers, and the parts of a session wired from them.
//!
//! A library: it prints nothing and serves nothing. What a person must be told goes to the
//! [`Notifier`](notifier::Notifier) that the program hands in. Not here: flags and output of
//! commands (`weir`), pages and HTTP (`weir-server`), what a session does (`weir-engine`).

pub mod config;
pub mod cx;
pub mod documents;
pub mod duration;
pub mod environment;
pub mod failure;
pub mod files;
pub mod hooks;
pub mod import;
pub mod keys;
pub mod models;
pub mod notifier;
pub mod profiles;
pub mod secrets;
pub mod servers;
pub mod session_ids;
pub mod telemetry;
pub mod trust;
pub mod wiring;
