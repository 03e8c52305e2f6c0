//! The installation of Weir on a machine: settings with the origin of each value, trust, profiles,
//! secrets, keys, models, servers, and the parts of a session wired from them. On a server it has
//! people, each with a space of their own.
//!
//! A library: it prints nothing and serves nothing. What a person must be told goes to the
//! [`Notifier`](notifier::Notifier) that the program hands in. Not here: flags and output of
//! commands (`weir`), pages and HTTP (`weir-server`), what a session does (`weir-engine`).
//!
//! # The settings of an installation
//!
//! ```
//! use weir_core::profile::PermissionMode;
//! use weir_install::context::{InstallationContext, NamedFolders};
//! use weir_install::environment::ProcessEnvironment;
//! use weir_install::notifier::Notifier;
//!
//! # fn main() -> anyhow::Result<()> {
//! let home = tempfile::tempdir()?;
//! let (config, work) = (home.path().join(".config/weir"), home.path().join("work"));
//! std::fs::create_dir_all(&config)?;
//! std::fs::create_dir(&work)?;
//! std::fs::write(config.join("config.toml"), "permission = \"plan\"\n")?;
//!
//! let variables = [("HOME", home.path().to_str().unwrap_or_default())];
//! let named = NamedFolders { workspace: Some(work), ..NamedFolders::default() };
//! let cx = InstallationContext::new(&named, ProcessEnvironment::of(&variables), Notifier::SILENT)?;
//! let config = cx.config()?;
//! assert_eq!(config.settings.permission, PermissionMode::Plan);
//! // Every value knows where it came from.
//! assert_eq!(config.origin_of_key("permission").line(), Some(1));
//! assert_eq!(config.origin_of_key("limits.max_iterations").to_string(), "built in");
//! # Ok(())
//! # }
//! ```

pub mod agents;
pub mod archive;
pub mod audit;
pub mod brain;
pub mod catalogue;
pub mod config;
pub mod content_difference;
pub mod context;
pub mod declared_server;
pub mod documents;
pub mod duration;
pub mod environment;
pub mod explanation;
pub mod failure;
pub mod file_view;
pub mod files;
pub mod hooks;
pub mod import;
pub mod installation;
mod keyring;
pub mod keys;
pub mod leftovers;
pub mod lists;
pub mod loaded_profile;
pub mod mail;
pub mod maintenance;
mod mcp_json;
pub mod mcp_serving;
mod model_windows;
pub mod models;
pub mod notifier;
pub mod people;
pub mod profiles;
pub mod seal;
mod search;
pub mod secrets;
pub mod servers;
mod session_copies;
pub mod session_ids;
pub mod sessions;
#[cfg(test)]
mod set_up;
mod settings_cache;
pub mod spending;
pub mod telemetry;
pub mod trust;
pub mod undo;
pub mod unusable;
pub mod usage;
pub mod user_space;
pub mod wiring;
pub mod wording;
pub mod worktrees;
