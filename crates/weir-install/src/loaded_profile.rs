//! A profile with what belongs to it beside the engine's own type. Not here: reading the files of
//! profiles (`crate::profiles`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_core::profile::Profile;

/// Where a profile comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileSource {
    /// The program.
    BuiltIn,
    /// The person's own folder.
    User(PathBuf),
    /// The workspace.
    Project(PathBuf),
}

impl std::fmt::Display for ProfileSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProfileSource::BuiltIn => f.write_str("built in"),
            ProfileSource::User(path) | ProfileSource::Project(path) => {
                write!(f, "{}", path.display())
            }
        }
    }
}

/// A profile and what belongs to it beside the engine's own type.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedProfile {
    /// What the engine is given.
    pub profile: Profile,
    /// Whether the program, the person or the workspace brings it.
    pub source: ProfileSource,
    /// Bounds that it sets.
    pub limits: ProfileLimits,
    /// The foreign servers whose tools it has; none: those of all.
    pub mcp_servers: Vec<String>,
    /// What of it was left out or has no effect: one line each.
    pub notes: Vec<String>,
}

/// Bounds that a profile may set. Settings that somebody wrote down beat them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileLimits {
    /// As in the settings.
    pub max_iterations: Option<u32>,
    /// As in the settings.
    pub max_tool_calls: Option<u32>,
    /// As in the settings.
    pub(crate) consecutive_mistake_limit: Option<u32>,
    /// As in the settings.
    pub budget_usd: Option<f64>,
    /// As in the settings.
    pub budget_tokens: Option<u64>,
}
