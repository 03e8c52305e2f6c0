//! A right that a person gives by its name: some hosts for one family of programs (U13). Not here:
//! which there are, and which calls one covers (`governance::grants`).

use serde::{Deserialize, Serialize};

/// Hosts that the programs of one kind may reach, under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct NamedGrant {
    /// As people read it: `crates.io for cargo`, `origin (forge.example/me/project) for git push`.
    pub name: String,
    /// The hosts, as a command asks for them: `crates.io`, `forge.example:22`.
    pub hosts: Vec<String>,
    /// How the commands begin that it is for: `cargo add`, `git fetch origin`.
    pub commands: Vec<String>,
}
