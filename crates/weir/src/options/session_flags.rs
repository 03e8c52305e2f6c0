//! The flags by which whoever begins a session says how it is to be, alike for every command that begins
//! one. Not here: which value wins (`weir_install::wiring`).

use std::path::PathBuf;

use clap::Args;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_install::wiring::SessionOverrides;

use super::{PermissionWord, ThinkingWord};

/// How a session is to be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct SessionFlags {
    /// Model, as PROVIDER/NAME (see `weir models`) or `script:FILE`
    #[arg(short, long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Profile: tools, instructions and limits of the agent (see `weir profiles list`)
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// How much the model thinks [default: medium, if the model supports it]
    #[arg(long, value_name = "LEVEL", value_enum)]
    pub(crate) thinking: Option<ThinkingWord>,
    /// Permission mode: what is allowed without asking [default: ask]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) permission: Option<PermissionWord>,
    /// Rule for calls to allow, such as 'Shell(cargo test:*)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Rule for calls to deny, such as 'Edit(/etc/**)'; may be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Another folder to work in beside the workspace; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
}

impl SessionFlags {
    /// The flags as wishes; `attended`: somebody is there who can be asked.
    pub(crate) fn as_overrides(&self, attended: bool) -> SessionOverrides {
        SessionOverrides {
            model: self.model.clone(),
            profile: self.profile.clone(),
            thinking: self.thinking.map(Thinking::from),
            permission: self.permission.map(PermissionMode::from),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            add_dirs: self.add_dir.clone(),
            attended,
            ..SessionOverrides::default()
        }
    }
}
