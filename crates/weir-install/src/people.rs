//! People: who may use the server, and as what. Not here: how they prove it (`auth`).

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

/// A person's id: never changes and is never used again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct PersonId(pub String);

impl PersonId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What somebody may do beside their own work (S2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything: people, limits, security, backups.
    Admin,
    /// Their own sessions, in their own folder.
    #[default]
    User,
}

/// Somebody with an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Person {
    /// Never changes.
    pub id: PersonId,
    /// By which they sign in: `[a-z0-9][a-z0-9._-]{0,31}`. Never changes: their folder has it.
    pub name: String,
    /// What they are called; may be empty.
    #[serde(default)]
    pub display: String,
    /// Role, from which the person's rights follow.
    pub role: Role,
    /// Whoever set the server up: their sessions are those of the command line on this machine.
    #[serde(default)]
    pub first: bool,
    /// They cannot sign in, and nothing of theirs runs.
    #[serde(default)]
    pub disabled: bool,
    /// When the account was made.
    pub created: Timestamp,
}

impl Person {
    /// The name of the person on pages and in journals.
    pub fn display_name(&self) -> &str {
        if self.display.is_empty() { &self.name } else { &self.display }
    }

    /// Whether they are an admin.
    pub fn is_admin(&self) -> bool {
        self.role == Role::Admin
    }
}
