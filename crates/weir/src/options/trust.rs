//! The words of `weir trust` (C1, C9).

use std::path::PathBuf;

use clap::Args;

use super::JsonFlag;

/// Let a workspace's own files define hooks, MCP servers, scripts and allow rules
#[derive(Debug, Args)]
#[command(
    long_about = "Let a workspace's own files define hooks, MCP servers, skill scripts, dynamic \
                  tools, allow rules, endpoints, and settings wider than your own. Shows each of \
                  them with its place and asks. When one of these files changes, nothing of them \
                  is loaded until you are asked again. Deny rules, ignore and protect lists always \
                  count.\n\n\
                  --json shows the same and changes nothing, unless --yes is there too. An agent \
                  cannot trust: started by one of its commands, this is refused.",
    after_help = "Examples:\n  \
        weir trust\n  \
        weir trust ~/src/project\n  \
        weir trust --json\n  \
        weir trust --list\n  \
        weir trust --remove ~/src/project\n\n\
        Exit status: 0 trusted (or only shown), 1 you said no, 2 it cannot be trusted."
)]
pub(crate) struct TrustArgs {
    /// The workspace; without it the current folder
    #[arg(value_name = "DIR", conflicts_with = "list")]
    pub(crate) folder: Option<PathBuf>,
    /// Every workspace that was trusted, and whether it still is
    #[arg(long, conflicts_with_all = ["remove", "yes"])]
    pub(crate) list: bool,
    /// Trust it no more
    #[arg(long, conflicts_with = "yes")]
    pub(crate) remove: bool,
    /// Do not ask: for scripts
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) json: JsonFlag,
}
