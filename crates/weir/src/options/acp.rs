//! Words of `weir acp`.

use clap::Args;

use super::SessionFlags;

/// Serve an editor by the Agent Client Protocol (ACP), on standard input and output
#[derive(Debug, Args)]
#[command(
    long_about = "Serve an editor by the Agent Client Protocol (ACP), version 1, on standard input \
                  and output. Editors start it themselves: docs/editors.md has the settings for \
                  Zed, JetBrains, Neovim, VS Code and Obsidian. The editor says in which folder a \
                  session works. A session that was begun here can be continued in a terminal or \
                  browser, and the other way round.",
    after_help = "Examples:\n  weir acp\n  weir acp --permission auto-edit\n  weir acp --setup      \
                  choose a model and set its key, in a terminal"
)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) session: SessionFlags,
    /// Choose a model and set its key in this terminal, then exit
    #[arg(long)]
    pub(crate) setup: bool,
}
