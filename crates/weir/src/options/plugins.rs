//! The words of `weir plugins` (T11).

use clap::{Args, Subcommand};

use super::JsonFlag;

/// What `weir plugins` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// Every plugin, where it is from, and whether it is on
    #[command(after_help = "Examples:\n  weir plugins list\n  weir plugins list --json")]
    List(JsonFlag),
    /// What a plugin may do, its files and its hash
    #[command(after_help = "Example:\n  weir plugins show obsidian")]
    Show(PluginArgs),
    /// Switch a plugin on, as it is now: any change of its files switches it off again
    #[command(
        after_help = "Examples:\n  weir plugins enable obsidian\n  weir plugins enable obsidian --yes"
    )]
    Enable(PluginEnableArgs),
    /// Switch a plugin off
    #[command(after_help = "Example:\n  weir plugins disable obsidian")]
    Disable(PluginArgs),
}

/// One plugin.
#[derive(Debug, Args)]
pub(crate) struct PluginArgs {
    /// Its id
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which plugin is switched on.
#[derive(Debug, Args)]
pub(crate) struct PluginEnableArgs {
    /// Its id
    pub(crate) id: String,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only if its hash is this one, as `weir plugins show` prints it
    #[arg(long, value_name = "SHA256")]
    pub(crate) hash: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
