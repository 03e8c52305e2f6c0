//! The words of `weir plugins` (T11).

use clap::{Args, Subcommand};

use super::{JsonFlag, ReviewFlags};

/// What `weir plugins` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginsCommand {
    /// List plugins, where each comes from, and whether it is enabled
    #[command(after_help = "Examples:\n  weir plugins list\n  weir plugins list --json")]
    List(JsonFlag),
    /// Show what a plugin may do, its files and its hash
    #[command(after_help = "Example:\n  weir plugins show obsidian")]
    Show(PluginArgs),
    /// Enable a plugin as it is now; any change to its files disables it again
    #[command(
        after_help = "Examples:\n  weir plugins enable obsidian\n  weir plugins enable obsidian --yes"
    )]
    Enable(PluginEnableArgs),
    /// Disable a plugin
    #[command(after_help = "Example:\n  weir plugins disable obsidian")]
    Disable(PluginArgs),
}

/// One plugin.
#[derive(Debug, Args)]
pub(crate) struct PluginArgs {
    /// Id of the plugin
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}

/// Which plugin is switched on.
#[derive(Debug, Args)]
pub(crate) struct PluginEnableArgs {
    /// Id of the plugin
    pub(crate) id: String,
    /// Do not ask for confirmation, for use in scripts
    #[arg(long)]
    pub(crate) yes: bool,
    /// Enable it only if its hash is this one, as `weir plugins show` prints it
    #[arg(long, value_name = "SHA256")]
    pub(crate) hash: Option<String>,
    #[command(flatten)]
    pub(crate) review: ReviewFlags,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
