//! The installation of Weir on a machine: settings with the origin of each value, trust, profiles,
//! secrets, keys, models, servers, and the parts of a session wired from them. On a server it has
//! people, each with a space of their own.
//!
//! A library: it prints nothing and serves nothing. What a person must be told goes to the
//! [`Notifier`](notifier::Notifier) that the program hands in. Not here: flags and output of
//! commands (`weir`), pages and HTTP (`weir-server`), what a session does (`weir-engine`).

pub mod agents;
pub mod archive;
pub mod audit;
pub mod catalogue;
pub mod config;
pub mod cx;
pub mod declared_server;
pub mod documents;
pub mod duration;
pub mod environment;
pub mod failure;
pub mod files;
pub mod hooks;
pub mod import;
pub mod installation;
pub mod keys;
pub mod leftovers;
pub mod lists;
pub mod loaded_profile;
pub mod mail;
pub mod maintenance;
mod mcp_json;
mod model_windows;
pub mod models;
pub mod notifier;
pub mod people;
pub mod profiles;
pub mod seal;
pub mod secrets;
pub mod servers;
pub mod session_ids;
pub mod sessions;
pub mod telemetry;
pub mod trust;
pub mod user_space;
pub mod wiring;
pub mod wording;
